"""Reasons why no value is made."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TypeVar

from mcp_conformance.json_schema.validation import TOO_COSTLY

One = TypeVar("One")


class NoExample(Exception):  # noqa: N818
    """No valid value could be made for a schema; the text says why.

    ``is_too_costly`` says that a limit of this tool is the reason.
    """

    def __init__(self, reason: str, *, is_too_costly: bool = False):
        super().__init__(reason)
        self.is_too_costly = is_too_costly


class Exhausted(NoExample):
    """A limit of this tool is reached before a schema's first value: no further one is tried."""


class Unsatisfiable(NoExample):
    """No value is valid under a schema; the text says which of its constraints contradict each other."""


@contextmanager
def within_limits() -> Iterator[None]:
    """Raise `Exhausted` for a schema whose parts depend on each other too deeply, or with huge numbers."""
    try:
        yield
    except RecursionError as error:
        reason = f"the schema is {TOO_COSTLY}: its parts depend on each other too deeply"
        raise Exhausted(reason, is_too_costly=True) from error
    except ArithmeticError as error:
        raise Exhausted(f"its numbers are out of range: {error}") from error


def until_limits(cases: Iterator[One]) -> Iterator[One]:
    """Yield cases until the schema is too costly to make more."""
    with suppress(NoExample), within_limits():
        yield from cases


class Rejected(Exception):  # noqa: N818
    """The choices made so far lead to no valid value; others may."""
