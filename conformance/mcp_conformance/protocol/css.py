"""The addresses that a style sheet loads."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any

from mcp_conformance.deadline import bounded

NAMES_ONLY = {"namespace", "document", "-moz-document"}
"""The at-rules whose addresses are names."""
WITH_ADDRESSES = {"url", "src", "image", "image-set", "-webkit-image-set"}
"""The functions in which a string is an address."""


def is_available() -> bool:
    """Return whether style sheets can be read, which takes tinycss2."""
    return find_spec("tinycss2") is not None


@bounded
def sheet_addresses(text: str) -> list[str]:
    """Return the addresses that a style sheet loads; needs tinycss2.

    What a custom property holds is left out: it is loaded where the property is used, if anywhere.
    """
    import tinycss2  # noqa: PLC0415 - an extra

    return list(_of_rules(tinycss2.parse_stylesheet(text, skip_comments=True, skip_whitespace=True)))


@bounded
def block_addresses(text: str | list[Any]) -> list[str]:
    """Return the addresses of a block, such as a style attribute; needs tinycss2."""
    import tinycss2  # noqa: PLC0415 - an extra

    return list(_of_rules(tinycss2.parse_blocks_contents(text, skip_comments=True, skip_whitespace=True)))


def _of_rules(nodes: list[Any]) -> Iterator[str]:
    for node in nodes:
        if node.type == "declaration" and not node.name.startswith("--"):
            yield from _of_values(node.value)
        elif node.type == "at-rule" and node.lower_at_keyword == "import":
            yield from list(_of_values(node.prelude, strings=True))[:1]
        elif node.type == "qualified-rule" or (
            node.type == "at-rule" and node.lower_at_keyword not in NAMES_ONLY
        ):
            yield from block_addresses(node.content or [])


def _of_values(nodes: list[Any], *, strings: bool = False) -> Iterator[str]:
    """Yield the addresses among values, and the strings, if these are addresses too."""
    for node in nodes:
        if node.type == "url" or (node.type == "string" and strings):
            yield node.value
        elif node.type == "function":
            yield from _of_values(node.arguments, strings=node.lower_name in WITH_ADDRESSES)
