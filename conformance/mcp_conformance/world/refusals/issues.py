"""What validators report: issues, each of one member, as they write them in JSON and in lines."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

PATH_KEYS = ("path", "loc", "instancePath", "dataPath", "instanceLocation", "field", "property", "param")
"""The members of an issue that say which member it is of: zod, pydantic, ajv, others."""
MORE_PATH_KEYS = ("parameter", "argument", "member", "name")
"""Such members that mean this only beside a rule."""
RULE_KEYS = ("code", "type", "keyword", "rule", "validation")
TEXT_KEYS = ("message", "msg", "error", "reason", "detail", "description")
MAX_MESSAGE, MAX_RULE, MAX_STEPS = 1000, 60, 10
PYDANTIC = re.compile(r"(\d+) validation errors? for\b")
PYDANTIC_RULE = re.compile(r"\s+(\S.*?)\s*\[type=(\w+)(?:, .*)?")
AT_PATH = re.compile(r"(?:- )?(.{3,300}?) at [\"'`]?([A-Za-z_$][\w$.\[\]-]*)[\"'`]?")
"""``Required at sql``: zod's issues as the TypeScript SDK writes them since 1.20."""
PATH_FIRST = re.compile(r"(?:[-*\u2022\u2716\s])*[\"'`]?([A-Za-z_$\d][\w$.\[\]-]{0,80})[\"'`]?: (\S.{2,300})")
"""``- path: required``: zod in the second TypeScript SDK, serde_path_to_error, servers of their own."""
NEXT_PATH = re.compile(r", (?=[A-Za-z_$][\w$.\[\]]*: (?:Invalid input|Required|Expected))")
PRETTY_PATH = re.compile(r"\s*\u2192 at ([A-Za-z_$][\w$.\[\]]*)\s*")
"""The line below a message in zod 4's prettified texts."""


@dataclass(frozen=True)
class Issue:
    """What a validator says of one member.

    ``path`` is the member as the validator names it, ``rule`` its name for the rule (``missing``,
    ``invalid_type``), ``message`` its words, ``facts`` what else the issue has.
    """

    path: str
    rule: str
    message: str
    facts: Mapping[str, Any] = field(default_factory=dict)


def issue_of(value: Mapping[str, Any]) -> Issue | None:
    """Return the issue that an object is; None for another object."""
    rule = next((value[key] for key in RULE_KEYS if isinstance(value.get(key), str)), "")
    message = next((value[key] for key in TEXT_KEYS if isinstance(value.get(key), str)), "")
    keys = (*PATH_KEYS, *(MORE_PATH_KEYS if rule or message else ()))
    path = next((value[key] for key in keys if isinstance(value.get(key), str | list)), None)
    if path is None or not (rule or message):
        return None
    steps = path if isinstance(path, list) else [path]
    return Issue(
        ".".join(str(step) for step in steps[:MAX_STEPS]), rule[:MAX_RULE], message[:MAX_MESSAGE], value
    )


def issues_in_lines(lines: Sequence[str], names: Mapping[str, Any]) -> tuple[list[Issue], list[str]]:
    """Return the issues that validators wrote in lines, and the lines that are none.

    ``names`` are the members of the schema: ``name: text`` is an issue only if it begins with one.
    """
    found: list[Issue] = []
    rest: list[str] = []
    at = 0
    while at < len(lines):
        line, below = lines[at], lines[at + 1] if at + 1 < len(lines) else ""
        pydantic, pretty = PYDANTIC_RULE.fullmatch(below), PRETTY_PATH.fullmatch(below)
        if pydantic and not line.startswith(" "):
            found.append(Issue(line.strip(), pydantic[2], pydantic[1]))
            at += 1
        elif pretty:
            found.append(Issue(pretty[1], "", line.strip(" \u2716")))
            at += 1
        elif not PYDANTIC.search(line):
            ours = list(_of_line(line, names))
            found += ours
            rest += [] if ours else [line]
        at += 1
    return found, rest


def _of_line(line: str, names: Mapping[str, Any]) -> Iterator[Issue]:
    parts = NEXT_PATH.split(line)
    for part in parts:
        behind, first = AT_PATH.fullmatch(part), PATH_FIRST.fullmatch(part)
        if behind and _names_member(behind[2], names):
            yield Issue(behind[2], "", behind[1])
        elif first and _names_member(first[1], names):
            yield Issue(first[1], "", first[2])


def _names_member(path: str, names: Mapping[str, Any]) -> bool:
    steps = [one for one in re.split(r"[.\[\]]+", path) if one and not one.isdigit()]
    return bool(steps) and any(steps[0] == name.partition(".")[0] for name in names)
