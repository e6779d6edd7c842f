"""The wires of a rule: what the reference server does, and what a mutant does that breaks the rule.

The servers run in memory, in virtual time, while the pages are built; so the wires are never out of date.
All rules together take about half a minute.
"""

import json
import re
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory, gettempdir
from unittest.mock import patch

from mcp_conformance.protocol.jsonrpc import ABSENT, Line
from mcp_conformance.protocol.text import shorten
from mcp_conformance.report.build import Evidence
from mcp_conformance.verdicts import Blocked, Finding
from mcp_conformance_fixtures.mutants import Mutant, all_mutants

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from support.bench import Found, run_checks, settings_in_memory  # noqa: E402
from support.in_memory import recorded  # noqa: E402
from support.mutant_runs import MutantRun, revision_of  # noqa: E402

MAX_LINES, MAX_LINE = 6, 900
FEW_ITEMS, SHORT = 2, 48
"""How many items of a list are shown, and how many characters a value may have that is the same in both."""
MAX_STRING = 160
LEFT_OUT = "…"
CLIENT = "io.modelcontextprotocol/clientInfo"
"""The member of a request that names this tool and its version."""
MASKS = (
    (re.compile(re.escape(str(ROOT))), "/project"),
    (re.compile(re.escape(gettempdir())), "/tmp"),
    (re.compile(r"(?<=mcp-conformance-outside-)\w+"), LEFT_OUT),
    (re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+Z"), "2026-01-01T00:00:00Z"),
    (re.compile(r"eyJ[\w=-]{40,}(\.[0-9a-f]+)?"), LEFT_OUT),
    (re.compile(r"\b[0-9a-f]{32}\b"), LEFT_OUT),
)
"""What differs from run to run or from machine to machine, and what stands for it."""

Conversations = list[list[Line]]
Exchange = tuple[Line | None, Line | None]
"""A line of the client and the answer to it; either may be missing."""


@dataclass(frozen=True)
class Wires:
    """The lines that pass and those that fail, in one revision, shortened.

    ``passes`` is empty if the reference server sends nothing that corresponds to the lines that fail.
    """

    revision: str
    mutant: str
    expected: str
    got: str
    passes: tuple[str, ...]
    fails: tuple[str, ...]


def wires_of(id: str) -> Wires | None:
    """Return the wires of a rule; None if no mutant that runs in memory shows it on the wire."""
    return next(filter(None, (_wires(id, one) for one in _mutants()[id])), None)


@cache
def _mutants() -> dict[str, list[Mutant]]:
    """Return the mutants of each rule that need no process."""
    found = defaultdict(list)
    for one in all_mutants():
        for id in () if one.needs_process else one.breaks:
            found[id].append(one)
    return found


def _wires(id: str, mutant: Mutant) -> Wires | None:
    run = MutantRun(mutant, revision_of(mutant), is_whole=False)
    heard, right = [], []
    error = error_of(id, _found(id, run, heard, mutant.mutate))
    if error is None or not any(line.raw for line in error.lines):
        return None
    _found(id, run, right, None)
    wrong = list(_exchanges(error.lines[:MAX_LINES], heard))
    twins = [_twin(exchange, right) for exchange in wrong]
    facts = Evidence.of(error)
    fails = _shown(wrong, twins)
    passes = _shown(twins, wrong)
    return Wires(
        run.revision,
        mutant.name,
        shorten(masked(facts.expected), MAX_STRING),
        shorten(masked(facts.got), MAX_STRING),
        () if passes == fails else passes,
        fails,
    )


def _found(id: str, run: MutantRun, conversations: Conversations, mutate) -> Found:
    """Run the checks of a rule as for a mutant, and record the conversations.

    The server makes the same ids in every run.
    """
    with TemporaryDirectory() as folder, patch("os.urandom", Random(0).randbytes):
        settings = settings_in_memory(recorded(conversations, mutate), transcripts=Path(folder), **run.limits)
        return run_checks(
            settings, run.revision, lambda check: id in check.ids, is_whole=False, tools=run.tools
        )


def error_of(id: str, found: Found) -> Finding | Blocked | None:
    """Return what says that the rule is broken, rather one that has lines."""
    errors = [one.error for one in found.verdicts if one.error.requirement in ("", id)]
    return min(errors, key=lambda one: not one.lines, default=None)


# Exchanges ---------------------------------------------------------------------------------------


def _exchanges(lines: Sequence[Line], conversations: Conversations) -> Iterator[Exchange]:
    """Yield lines as requests with their answers; a request that is not among the lines is looked up."""
    waiting: list[Line] = []
    for line in lines:
        if line.sent:
            waiting.append(line)
            continue
        asked = next((one for one in waiting if _answers(line, one)), None)
        if asked is not None:
            waiting.remove(asked)
        yield asked or _request_of(line, conversations), line
    yield from ((line, None) for line in waiting)


def _request_of(line: Line, conversations: Conversations) -> Line | None:
    """Return the request that a line of the server answers."""
    for conversation in conversations:
        if line.raw in [one.raw for one in conversation]:
            return next((one for one in conversation if one.sent and _answers(line, one)), None)
    return None


def _answers(line: Line, request: Line) -> bool:
    """Return whether a line of the server answers a request of a line of the client."""
    asked = [one["id"] for one in _objects(request) if "method" in one and "id" in one]
    return any(one.get("id") in asked for one in _objects(line) if "method" not in one)


def _objects(line: Line) -> list[dict]:
    return [one for one in line.parts() if isinstance(one, dict)]


def _twin(exchange: Exchange, conversations: Conversations) -> Exchange:
    """Return the same exchange with the reference server."""
    asked, answer = exchange
    if asked is None:
        sent = (one for some in conversations for one in some if not one.sent and _method(one))
        return None, next((one for one in sent if answer and _method(one) == _method(answer)), None)
    for alike in (_message, _without_id, _called):
        wanted = alike(asked)
        for conversation in conversations if wanted else ():
            for one in conversation:
                if one.sent and _method(one) == _method(asked) and alike(one) == wanted:
                    return one, next((line for line in conversation if _is_reply(line, one)), None)
    return None, None


def _is_reply(line: Line, request: Line) -> bool:
    return not line.sent and _answers(line, request)


def _without_id(line: Line):
    message = _message(line)
    return {**message, "id": 0} if isinstance(message, dict) else line.raw


def _called(line: Line):
    """Return the method of a message, and what it names; None if it is no such message."""
    named = line.message.get("params") if _method(line) else None
    names = [named.get(one) for one in ("name", "uri")] if isinstance(named, dict) else []
    return [_method(line), *names] if _method(line) else None


def _method(line: Line):
    return line.message.get("method") if isinstance(line.message, dict) else None


# Shortening --------------------------------------------------------------------------------------


def _shown(exchanges: Sequence[Exchange], others: Sequence[Exchange]) -> tuple[str, ...]:
    """Return exchanges as texts; what answers have in common with the others' is left out if it is long."""
    return tuple(
        _text(line, _message(other) if place else ABSENT)
        for pair, twin in zip(exchanges, others, strict=True)
        for place, (line, other) in enumerate(zip(pair, twin, strict=True))
        if line is not None
    )


def _message(line: Line | None):
    return ABSENT if line is None else masked(line.message)


def _text(line: Line, other) -> str:
    message = _message(line)
    if message is ABSENT:
        return shorten(masked(line.shown(MAX_LINE)), MAX_LINE)
    shown = _abridged(message, ABSENT if message == other else other)
    return shorten(f"{'>' if line.sent else '<'} {json.dumps(shown, ensure_ascii=False)}", MAX_LINE)


def masked(value):
    """Return a value in which all texts are the same in every run."""
    if isinstance(value, dict):
        return {name: masked(one) for name, one in value.items()}
    if isinstance(value, list):
        return [masked(one) for one in value]
    if isinstance(value, str):
        for pattern, instead in MASKS:
            value = pattern.sub(instead, value)
    return value


def _abridged(value, other):
    """Return a value without what is long and the same in another value."""
    if value == other and len(json.dumps(value)) > SHORT:
        return LEFT_OUT
    if isinstance(value, dict):
        known = other if isinstance(other, dict) else {}
        return {
            name: LEFT_OUT if name == CLIENT else _abridged(one, known.get(name, ABSENT))
            for name, one in value.items()
        }
    if isinstance(value, list):
        return _few(value, other if isinstance(other, list) else [])
    if isinstance(value, str) and len(value) > MAX_STRING:
        return value[:MAX_STRING] + LEFT_OUT
    return value


def _few(items: list, others: list) -> list:
    """Return the first items of a list that are not the same in another one."""
    pairs = [(item, others[place] if place < len(others) else ABSENT) for place, item in enumerate(items)]
    new = [pair for pair in pairs if pair[0] != pair[1]] or pairs
    shown = [_abridged(*pair) for pair in new[:FEW_ITEMS]]
    return shown if len(shown) == len(items) else [*shown, LEFT_OUT]
