"""Readers of what the decoders and validators of Go, Rust and Python write in a sentence of their own."""

from __future__ import annotations

import re
from collections.abc import Iterator

from mcp_conformance.world.clue import Clue
from mcp_conformance.world.known import Owner
from mcp_conformance.world.prose import scalar
from mcp_conformance.world.refusals.bounds import TYPES
from mcp_conformance.world.refusals.refusal import Refusal, quoted_in

GO_FIELD = re.compile(
    r"cannot unmarshal \w+ into Go (?:struct field (?:\w*\.)?([\w.]+)|value) of type (\[\]|\*)?(\w+)"
)
GO_SCHEMA = re.compile(r"validating (/properties/\S+?|root)(?=:)")
GO_MISSING = re.compile(r"missing properties: \[([^\]]+)\]")
GO_WANT = re.compile(r"has type \"\w+\", want (?:one of )?\"([\w, ]+)\"")
GO_ENUM = re.compile(r"does not equal any of: \[([^\]]+)\]")
GO_PATTERN = re.compile(r"does not match (?:regular expression|pattern) \"(.+?)\"")
GO_BOUND = re.compile(r"(?:minimum|maximum): \S+ is (less|greater) than (-?[\d.]+)")
GO_EXTRA = re.compile(r"unexpected additional properties \[([^\]]+)\]")
EXTRA = re.compile(r"[Aa]dditional properties are not allowed \(([^)]+) (?:was|were) unexpected\)")
SERDE_FIELD = re.compile(r"unknown field [`'\"]([\w-]+)[`'\"]")


def go_decoder(refusal: Refusal) -> Iterator[Clue]:
    """Yield the member and the type of encoding/json: "Go struct field Params.limit of type int"."""
    for line in refusal.lines:
        for found in GO_FIELD.finditer(line):
            wanted = "array" if found[2] == "[]" else TYPES.get(found[3], "")
            if found[1] and wanted:
                yield Clue("Go's decoder", refusal.named(found[1]), type=wanted)


def go_validator(refusal: Refusal) -> Iterator[Clue]:
    """Yield what Go's jsonschema says of the place that it names: "validating /properties/a: type: ..."."""
    for line in refusal.lines:
        places = GO_SCHEMA.findall(line)
        if places:
            yield from _of_place(
                refusal,
                line,
                places[-1].removeprefix("root").replace("/properties", "").replace("/items", ""),
            )


def _of_place(refusal: Refusal, line: str, place: str) -> Iterator[Clue]:
    reader, text = "Go's validator", line.replace('\\"', '"')
    for pattern, is_extra in ((GO_MISSING, False), (GO_EXTRA, True)):
        found = pattern.search(text)
        for name in re.findall(r"[^\s\"]+", found[1]) if found else ():
            names = (refusal.named(f"{place}/{name}"),)
            yield Clue(reader, *names, needs=() if is_extra else names, without=names if is_extra else ())
    member = refusal.named(place)
    if wanted := GO_WANT.search(text):
        yield Clue(reader, member, type=TYPES.get(wanted[1].split(",")[0], ""))
    if words := GO_ENUM.search(text):
        yield Clue(reader, member, tuple(map(scalar, words[1].split())), Owner.WORD)
    if regex := GO_PATTERN.search(text):
        yield Clue(reader, member, pattern=regex[1])
    if bound := GO_BOUND.search(text):
        figure = float(bound[2])
        yield Clue(
            reader,
            member,
            low=figure if bound[1] == "less" else None,
            high=None if bound[1] == "less" else figure,
        )


def additional_properties(refusal: Refusal) -> Iterator[Clue]:
    """Yield the members that Python's jsonschema, or serde, does not know."""
    for line in refusal.lines:
        extra, serde = EXTRA.search(line), SERDE_FIELD.search(line)
        for name in [*(quoted_in(extra[1]) if extra else ()), *([serde[1]] if serde else ())]:
            member = refusal.named(name)
            yield Clue("additional property", member, without=(member,))
