"""The scalars of a JSON text, each with its path: also of a text that no parser reads whole."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*+"|[\[\]{}:,]|[^\s"\[\]{}:,]+', re.DOTALL)

Path = tuple[str | int, ...]
# Not measured: schemas of tools say nothing of what lies deeper.
MAX_STEPS = 16
"""The most steps of a path."""


@dataclass(frozen=True, slots=True)
class Scalar:
    """A text, a number, a flag or null in a JSON text: its ``path``, its bytes, and where these start.

    A path has the names of members and the places of items, the first `MAX_STEPS` of them.  With ``is_name``
    it is the name of a member, and ``path`` is that of the object.
    """

    path: Path
    raw: bytes
    start: int
    is_name: bool = False

    @property
    def text(self) -> str | None:
        """The text; None for another scalar."""
        return _decoded(self.raw) if self.raw.startswith(b'"') else None

    @property
    def number(self) -> float | None:
        """The number, infinite where it is beyond floats; None for another scalar."""
        try:
            return None if self.raw[:1] in b'"nNtfI' else float(self.raw)
        except ValueError:
            return None


def scalars(raw: bytes) -> Iterator[Scalar]:
    """Yield the scalars of a JSON text in their order, the names of members among them."""
    steps: list[str | int | None] = []
    for found in TOKEN.finditer(raw):
        token, start = found[0], found.start()
        if token in (b"{", b"["):
            steps.append(None if token == b"{" else 0)
        elif token in (b"}", b"]"):
            del steps[-1:]
        elif token == b",":
            if steps:
                steps[-1] = steps[-1] + 1 if isinstance(steps[-1], int) else None
        elif token != b":":
            is_name = bool(steps) and steps[-1] is None
            path = tuple(step for step in steps[:MAX_STEPS] if step is not None)
            yield Scalar(path, token, start, is_name)
            if is_name:
                steps[-1] = _decoded(token)


def replaced(raw: bytes, changes: Iterable[tuple[Scalar, bytes]]) -> bytes:
    """Return a JSON text with other bytes in the places of some scalars, which come in their order."""
    parts, end = [], 0
    for one, new in changes:
        parts += [raw[end : one.start], new]
        end = one.start + len(one.raw)
    return b"".join([*parts, raw[end:]])


def _decoded(raw: bytes) -> str:
    """Return the text of a JSON string; of a broken one, its bytes."""
    if b"\\" not in raw:
        return raw.strip(b'"').decode("utf-8", "replace")
    try:
        return str(json.loads(raw, strict=False))
    except ValueError:
        return raw.strip(b'"').decode("utf-8", "replace")
