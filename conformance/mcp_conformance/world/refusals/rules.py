"""Readers of the issues of validators: the typed rule first, and only then the words."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from mcp_conformance.world.clue import Clue
from mcp_conformance.world.formats import values_of_format
from mcp_conformance.world.known import Owner
from mcp_conformance.world.refusals.bounds import TYPES, bounds_in
from mcp_conformance.world.refusals.issues import Issue
from mcp_conformance.world.refusals.lists import items_of
from mcp_conformance.world.refusals.refusal import Refusal, quoted_in

ABSENT = re.compile(r"received undefined|^Required\b|^required\b|^[Mm]issing\b|^Field required")
PYDANTIC_TYPES = re.compile(
    r"(string|int|float|bool|list|dict|tuple|set|decimal|model|mapping)_(?:type|parsing|from_\w+|attributes_type)"
)
MORE_TYPES = {"set": "array", "model": "object", "mapping": "object"}
MISSING = frozenset({"missing", "missing_argument", "required", "missing_keyword_only_argument"})
UNWANTED = frozenset({"unexpected_keyword_argument", "extra_forbidden", "additionalProperties"})
WORDS = ("options", "values", "allowedValues", "allowed", "enum", "permitted", "choices", "valid_values")
"""Where validators list what is allowed: zod 3, zod 4, ajv, others."""
LOWEST = ("minimum", "min", "ge", "gte", "min_length", "minLength", "min_items", "minItems", "limit")
HIGHEST = ("maximum", "max", "le", "lte", "max_length", "maxLength", "max_items", "maxItems")
FORMATS = {
    "date": "ISO date", "datetime": "date-time", "date_time": "date-time", "date-time": "date-time",
    "uuid": "UUID", "url": "", "uri": "", "email": "email address", "base64": "base64", "time": "HH:MM",
    "cron": "cron", "regex": "regex", "json": "valid JSON", "duration": "ISO 8601 duration",
}  # fmt: skip
"""The words that `values_of_format` knows, by a validator's name for a format."""


def rules_of_issues(refusal: Refusal) -> Iterator[Clue]:
    """Yield what each issue of a validator says by its rule and its facts."""
    for issue in refusal.issues:
        name = refusal.named(issue.path)
        for rule in RULES:
            yield from rule(refusal, issue, name)


def _missing(refusal: Refusal, issue: Issue, name: str) -> Iterator[Clue]:
    facts = _facts(issue)
    inner = facts.get("missingProperty") or facts.get("missing")
    if isinstance(inner, str):
        name = refusal.named(f"{name}.{inner}")
    elif (
        issue.rule not in MISSING
        and facts.get("received") != "undefined"
        and not ABSENT.search(issue.message)
    ):
        return
    yield Clue("missing", name, needs=(name,), type=_type(issue))


def _unwanted(refusal: Refusal, issue: Issue, name: str) -> Iterator[Clue]:
    facts = _facts(issue)
    names = facts.get("keys") if issue.rule == "unrecognized_keys" else facts.get("additionalProperty")
    listed = names if isinstance(names, list) else [names]
    if names is None and (issue.rule in UNWANTED or re.match("unknown (?:field|parameter)", issue.message)):
        yield Clue("not wanted", name, without=(name,))
    for one in listed:
        if isinstance(one, str):
            inner = refusal.named(f"{name}.{one}" if name else one)
            yield Clue("not wanted", inner, without=(inner,))


def _wrong_type(refusal: Refusal, issue: Issue, name: str) -> Iterator[Clue]:
    if (wanted := _type(issue)) and not any(True for _ in _missing(refusal, issue, name)):
        yield Clue("type", name, type=wanted)


def _type(issue: Issue) -> str:
    """Return the JSON type that an issue demands; empty if it demands none."""
    pydantic = PYDANTIC_TYPES.fullmatch(issue.rule)
    facts = _facts(issue)
    said = (
        MORE_TYPES.get(pydantic[1], pydantic[1]) if pydantic else facts.get("expected") or facts.get("type")
    )
    if issue.rule in MISSING or (issue.rule and said is None):
        return ""
    if said is None:
        found = re.search(r"[Ee]xpected (?:a |an )?(\w+)[,;]? (?:received|got)", issue.message)
        said = found[1] if found else None
    return TYPES.get(said, "") if isinstance(said, str) else ""


def _words(_refusal: Refusal, issue: Issue, name: str) -> Iterator[Clue]:
    facts = _facts(issue)
    listed = next((facts[key] for key in WORDS if isinstance(facts.get(key), list)), None)
    if listed is None and issue.rule in ("literal_error", "enum"):
        expected = facts.get("expected")
        listed = items_of(expected) if isinstance(expected, str) else quoted_in(issue.message)
    if listed is None and issue.rule in ("invalid_literal", "const") and "expected" in facts:
        listed = [facts["expected"]]
    values = tuple(one for one in listed or () if isinstance(one, str | int | float))
    if values:
        yield Clue("allowed by the validator", name, values, Owner.WORD)


def _bounds(_refusal: Refusal, issue: Issue, name: str) -> Iterator[Clue]:
    facts = _facts(issue)
    low = next((one for key in LOWEST if _is_number(one := facts.get(key))), None)
    high = next((one for key in HIGHEST if _is_number(one := facts.get(key))), None)
    if _is_number(facts.get("gt")):
        low = facts["gt"] + 1
    if _is_number(facts.get("lt")):
        high = facts["lt"] - 1
    if "max" in issue.rule.lower() and high is None:
        low, high = None, low
    if low is None and high is None and re.search(r"greater|less|short|long|small|big", issue.rule):
        low, high = bounds_in(issue.message)
    if low is not None or high is not None:
        yield Clue("bounds of the validator", name, low=low, high=high)


def _formats(_refusal: Refusal, issue: Issue, name: str) -> Iterator[Clue]:
    facts = _facts(issue)
    said = re.search(r"match pattern '(.+?)'(?: \(|,|\.?$)", issue.message)
    pattern = facts.get("pattern") or (said[1] if said else "")
    if isinstance(pattern, str) and pattern:
        yield Clue("pattern of the validator", name, pattern=pattern)
    known = facts.get("format") or facts.get("validation") or issue.rule
    kind = re.sub(r"_(?:parsing|type|from_\w+)$", "", known) if isinstance(known, str) else ""
    values = values_of_format(FORMATS.get(kind, ""))
    if values:
        yield Clue("format of the validator", name, tuple(values), Owner.WORD)


Rule = Callable[[Refusal, Issue, str], Iterator[Clue]]
RULES: tuple[Rule, ...] = (_missing, _unwanted, _wrong_type, _words, _bounds, _formats)


def _facts(issue: Issue) -> Mapping[str, Any]:
    """Return the facts of an issue with those that pydantic and ajv keep one level below."""
    below = [issue.facts.get(key) for key in ("ctx", "params", "constraints")]
    inner = {key: value for one in below if isinstance(one, Mapping) for key, value in one.items()}
    return {**issue.facts, **inner}


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
