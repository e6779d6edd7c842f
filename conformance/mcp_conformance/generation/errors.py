"""Reasons why no value is made."""

from __future__ import annotations


class NoExample(Exception):  # noqa: N818
    """No valid value could be made for a schema; the text says why.

    ``is_too_costly`` says that a limit of this tool is the reason.
    """

    def __init__(self, reason: str, *, is_too_costly: bool = False):
        super().__init__(reason)
        self.is_too_costly = is_too_costly


class Unsatisfiable(NoExample):
    """No value is valid under a schema; the text says which of its constraints contradict each other."""


class Rejected(Exception):  # noqa: N818
    """The choices made so far lead to no valid value; others may."""
