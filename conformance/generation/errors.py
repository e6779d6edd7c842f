"""Reasons why no value is made."""

from __future__ import annotations


class NoExample(Exception):  # noqa: N818
    """No valid value could be made for a schema; the text says why."""


class Unsatisfiable(NoExample):
    """No value is valid under a schema; the text says which of its constraints contradict each other."""


class Rejected(Exception):  # noqa: N818
    """The choices made so far lead to no valid value; others may."""
