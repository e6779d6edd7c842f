"""What recorded sessions know of a server: calls that worked, and the values in what clients asked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from mcp_conformance.tap.conversation import part
from mcp_conformance.tap.recordings import Exchanged, exchanged
from mcp_conformance.tap.sessions import Recorded
from mcp_conformance.transport.credentials import HIDDEN
from mcp_conformance.world.known import Known, Origin, Owner
from mcp_conformance.world.success import leaves_of

MAX_CALLS = 5
"""How many recorded calls of a tool are made until one works.  Not measured: sessions repeat themselves."""
ASKING = {
    "tools/call": ("arguments",),
    "prompts/get": ("arguments",),
    "resources/read": (),
    "completion/complete": ("context", "arguments"),
}
"""The requests that have values, and where their parameters have them."""
ORIGIN = Origin("a recorded session")


def recorded_calls(sessions: Iterable[Recorded]) -> Mapping[str, tuple[dict[str, Any], ...]]:
    """Return the arguments with which each tool has worked in recorded sessions, the first ones first."""
    found: dict[str, list[dict[str, Any]]] = {}
    for one in _worked(sessions):
        name, arguments = part(one.request, "params", "name"), part(one.request, "params", "arguments")
        if one.request["method"] == "tools/call" and isinstance(name, str) and isinstance(arguments, dict):
            same = found.setdefault(name, [])
            if arguments not in same and len(same) < MAX_CALLS:
                same.append(arguments)
    return {name: tuple(some) for name, some in found.items()}


def values_of_sessions(sessions: Iterable[Recorded]) -> Iterator[Known]:
    """Yield the values in recorded requests that worked; they were there before this run."""
    for one in _worked(sessions):
        yield from _values(part(one.request, "params", *ASKING[one.request["method"]]), ())


def _worked(sessions: Iterable[Recorded]) -> Iterator[Exchanged]:
    """Yield the exchanges with values that had a result, but those from which a credential is left out."""
    for session in sessions:
        for one in exchanged(session):
            result = part(one.answer.content, "result")
            has_worked = isinstance(result, dict) and result.get("isError") is not True
            texts = (text for text in leaves_of(part(one.request, "params")) if isinstance(text, str))
            if one.request["method"] in ASKING and has_worked and not any(HIDDEN in text for text in texts):
                yield one


def _values(value: Any, keys: tuple[str, ...]) -> Iterator[Known]:
    if isinstance(value, dict):
        for name, one in value.items():
            if name != "_meta":
                yield from _values(one, (name, *keys))
    elif isinstance(value, list):
        for one in value:
            yield from _values(one, keys)
    elif keys and isinstance(value, str | int | float) and not isinstance(value, bool):
        yield Known(value, keys, ORIGIN, Owner.FOUND, 4)
