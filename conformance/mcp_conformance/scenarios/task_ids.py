"""Whether the ids of tasks can be guessed, in either form of tasks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mcp_conformance.expect import skip
from mcp_conformance.protocol.jsonrpc import Line
from mcp_conformance.verdicts import Finding

MIN_IDS = 3
MIN_DIFFERENT_CHARACTERS = 8
"""Random ids of eight characters differ in eight places."""
MIN_ID_LENGTH = 16


def expect_unguessable(lines: Mapping[str, Sequence[Line]]) -> None:
    """Raise `Finding` if ids of tasks, each with the lines that show it, are alike or short; skip if few."""
    if len(lines) < MIN_IDS:
        skip(f"fewer than {MIN_IDS} tasks were made")
    ids = sorted(lines)
    different = max(map(len, ids)) - _common_prefix(ids) - _common_prefix([id[::-1] for id in ids])
    got, proof = ", ".join(ids[:MIN_IDS]), tuple(lines[ids[0]])
    if different < MIN_DIFFERENT_CHARACTERS:
        raise Finding(f"ids in which at least {MIN_DIFFERENT_CHARACTERS} characters differ", got, proof)
    if len(ids[0]) < MIN_ID_LENGTH:
        raise Finding(f"ids of at least {MIN_ID_LENGTH} characters", got, proof, advisory=True)


def _common_prefix(texts: Sequence[str]) -> int:
    """Return the number of characters that all texts begin with."""
    columns = [len(set(column)) == 1 for column in zip(*texts, strict=False)]
    return [*columns, False].index(False)
