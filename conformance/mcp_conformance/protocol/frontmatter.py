"""The YAML at the beginning of a SKILL.md, and whether a JSON object has the same content."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from importlib.util import find_spec
from typing import Any

from mcp_conformance.deadline import bounded

INSTALL = "pip install 'pytest-mcp-conformance[extensions]'"
FENCED = re.compile(r"\A\ufeff?---[ \t]*\r?\n(.*?)^---[ \t]*(?:\r?\n|\Z)", re.DOTALL | re.MULTILINE)
# Not measured: a description has at most 1,024 characters; what is longer is no frontmatter but a trap.
MAX_CHARACTERS = 65_536
"""The longest frontmatter that is read."""
CORE = "tag:yaml.org,2002:"
MERGE, TIMESTAMP = f"{CORE}merge", f"{CORE}timestamp"


class YamlError(ValueError):
    """Frontmatter that is not YAML, or no mapping; says why."""


def is_available() -> bool:
    """Return whether YAML can be read, which takes PyYAML."""
    return find_spec("yaml") is not None


def frontmatter(text: str) -> str | None:
    """Return the frontmatter of a text, without its fences; None if it begins with none."""
    found = FENCED.match(text)
    return None if found is None else found[1]


@bounded
def fields(source: str) -> dict[str, Any]:
    """Return the nodes of the fields of frontmatter, by their names.  Raises `YamlError`."""
    import yaml  # noqa: PLC0415 - an extra

    if len(source) > MAX_CHARACTERS:
        raise YamlError(f"it has more than {MAX_CHARACTERS} characters")
    try:
        node = yaml.compose(source, Loader=yaml.SafeLoader)
    except yaml.YAMLError as error:
        raise YamlError(" ".join(str(error).split())) from None
    except (RecursionError, ValueError) as error:
        raise YamlError(f"it cannot be read: {error}") from None
    if not isinstance(node, yaml.MappingNode):
        raise YamlError("it is not a mapping")
    return dict(_pairs(node))


@bounded
def differences(source: str, json: Any) -> list[str]:
    """Return the names of the fields that differ from the members of an object.  Raises `YamlError`.

    A plain scalar may be read by YAML 1.1 or 1.2, or be kept as its text: libraries differ.
    """
    found = fields(source)
    given = json if isinstance(json, dict) else {}
    lacking = [name for name in (*found, *given) if (name in found) != (name in given)]
    other = [name for name, node in found.items() if name in given and not _is_same(node, given[name])]
    return sorted({*lacking, *other})


def _pairs(node: Any) -> Iterator[tuple[str, Any]]:
    """Yield the members of a mapping, those that it merges first."""
    for key, value in node.value:
        if key.tag == MERGE:
            merged = value.value if value.id == "sequence" else [value]
            for one in reversed([one for one in merged if one.id == "mapping"]):
                yield from _pairs(one)
    yield from ((str(key.value), value) for key, value in node.value if key.tag != MERGE)


def _is_same(node: Any, json: Any) -> bool:
    """Return whether a node may be rendered as this JSON value."""
    if not node.tag.startswith(CORE):
        return True
    if node.id == "mapping":
        return isinstance(json, dict) and _is_same_mapping(node, json)
    if node.id == "sequence":
        return (
            isinstance(json, list) and len(json) == len(node.value) and all(map(_is_same, node.value, json))
        )
    return _is_same_scalar(node, json)


def _is_same_mapping(node: Any, json: dict[str, Any]) -> bool:
    members = dict(_pairs(node))
    merges = any(key.tag == MERGE for key, _ in node.value)
    if merges and "<<" in json:  # a library of YAML 1.2, which has no merging
        return True
    return members.keys() == json.keys() and all(_is_same(members[name], json[name]) for name in json)


def _is_same_scalar(node: Any, json: Any) -> bool:
    text: str = node.value
    if isinstance(json, str):
        is_date = node.style is None and node.tag == TIMESTAMP
        return is_date or json.rstrip("\n") == text.rstrip("\n")
    if node.style is not None and node.tag == f"{CORE}str":
        return False
    if json is None or isinstance(json, bool):
        return node.tag == f"{CORE}{'null' if json is None else 'bool'}" and _is_same_word(text, json)
    in_base_60 = ":" in text
    return isinstance(json, int | float) and (in_base_60 or any(one == json for one in _numbers(text)))


def _is_same_word(text: str, json: bool | None) -> bool:
    return json is None or (text.lower() in ("true", "yes", "on")) is json


def _numbers(text: str) -> Iterator[float]:
    """Yield the numbers that a scalar may be: 012 is 10 in YAML 1.1, and 12 in YAML 1.2."""
    plain = text.replace("_", "")
    for base in (0, 8, 10):
        with suppress(ValueError):
            yield int(plain, base)
    with suppress(ValueError):
        yield float(plain)
