"""The choice of the next variant to start a server in, until its cause is known."""

from __future__ import annotations

from collections.abc import Sequence

from mcp_conformance.doctor.causes.exits import is_explained
from mcp_conformance.doctor.causes.framing import has_unreadable_answer
from mcp_conformance.doctor.diagnosis import error_lines, language
from mcp_conformance.doctor.observations import OTHER_OPENINGS, PARTS_OF_HERE, Observations, StartVariant


def next_variant(seen: Observations) -> StartVariant | None:
    """Return the variant to try next; None if no further variant separates the causes left."""
    return next((one for one in _useful_variants(seen) if one not in seen.trials), None)


def _useful_variants(seen: Observations) -> Sequence[StartVariant]:
    """Return the variants that separate the causes left, in the order to try them."""
    first, here = seen.first, seen.here
    is_mute = first.is_flood or (first.is_closed and first.exit_code is None)
    if first.refused or first.is_open or is_mute or has_unreadable_answer(seen):
        return ()
    if first.late is not None:
        return (StartVariant.UNBUFFERED,) if language(seen) == "python" else ()
    if here is not None and here.is_open:
        parts = [one for one in PARTS_OF_HERE if seen.is_withheld(one)]
        return () if seen.opened(*parts) or len(parts) == 1 else parts
    unrestricted = (StartVariant.HERE,) if seen.is_restricted else ()
    if first.is_refusal:
        return (StartVariant.MODERN, *unrestricted) if seen.opened(StartVariant.MODERN) is None else ()
    if first.is_early or is_explained(seen) or seen.opened(*OTHER_OPENINGS):
        return unrestricted
    is_failure = first.has_ended and error_lines(first)
    return (*unrestricted, *(OTHER_OPENINGS[:1] if is_failure else OTHER_OPENINGS))
