"""The wires of a rule of HTTP: what the reference server answers, and a mutant that breaks the rule.

The servers run in threads while the pages are built.  All rules together take less than a minute.
"""

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

from wires import LEFT_OUT, MAX_LINE, MAX_LINES, MAX_STRING, Wires, error_of, masked

from mcp_conformance.protocol.jsonrpc import Line
from mcp_conformance.protocol.text import shorten
from mcp_conformance.report.build import Evidence
from mcp_conformance.scenarios.http_requests import HttpReply
from mcp_conformance.transport.http.exchange import Exchange
from mcp_conformance_fixtures.http_mutants import HttpMutant, HttpReference, all_http_mutants
from mcp_conformance_fixtures.http_unusual import Late, Scoped, headers_of_another
from mcp_conformance_fixtures.reference_http_auth import Protected
from mcp_conformance_fixtures.reference_http_sse24 import OldReference
from mcp_conformance_fixtures.reference_http_tokens import Signed

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from support.bench import SAMPLES, Found, run_checks, settings_on_process
from support.http_in_thread import served
from support.mutant_runs import revision_of

RIGHT = (OldReference, Scoped, Late, Signed, Protected, HttpReference)
"""The right servers, each before those it is made of."""
MASKS = (
    (re.compile(r"127\.0\.0\.1:\d+"), "127.0.0.1:3000"),
    (re.compile(r"(Mcp-Session-Id: |\?session=)[\w-]{20,}", re.IGNORECASE), rf"\g<1>{LEFT_OUT}"),
    (re.compile(r" \| Content-Length: \d+"), ""),
    (re.compile(r"(?<=http-progress-)\d+"), "1"),
)
NUMBER = re.compile(r'"id":\s*\d+')
BLANK, HEADER = " || ", " | "
"""What stands in a line between head and body, and between headers."""


def http_wires_of(id: str) -> Wires | None:
    """Return the wires of a rule of HTTP; None if no mutant shows it in a request or its response."""
    mutants = [one for one in all_http_mutants() if id in one.breaks]
    return next(filter(None, (_wires(id, one) for one in mutants)), None)


def _wires(id: str, mutant: HttpMutant) -> Wires | None:
    revision = revision_of(mutant)
    error = error_of(id, _found(id, revision, mutant.server()))
    if error is None or not any(line.raw for line in error.lines):
        return None
    fails = error.lines[:MAX_LINES]
    with _recorded() as exchanges:
        _found(id, revision, right_for(mutant))
    passes = _shown(line for asked in fails if asked.sent for line in _twin(asked, exchanges))
    facts = Evidence.of(error)
    return Wires(
        revision,
        mutant.name,
        shorten(_plain(facts.expected), MAX_STRING),
        shorten(_plain(facts.got), MAX_STRING),
        () if passes == _shown(fails) else passes,
        _shown(fails),
    )


def right_for(mutant: HttpMutant) -> HttpReference:
    """Return the right server that a mutant breaks."""
    server: HttpReference = next(one for one in RIGHT if issubclass(mutant.server, one))()
    return server


def _found(id: str, revision: str, http: HttpReference) -> Found:
    limits = {"timeout": 5.0, "start_timeout": 10.0}
    with (
        TemporaryDirectory() as folder,
        served(http) as server,
        settings_on_process((), Path(folder), **limits, **SAMPLES) as settings,
    ):
        others = headers_of_another(http)
        chosen = replace(settings, http=server, forge=True, other_identity=others)
        return run_checks(chosen, revision, lambda check: id in check.ids, is_whole=False)


@contextmanager
def _recorded() -> Iterator[list[Exchange]]:
    """Give a list to which each exchange is added as it begins."""
    begun: list[Exchange] = []
    made = Exchange.__init__

    def record(exchange: Exchange, *given, **named) -> None:
        made(exchange, *given, **named)
        begun.append(exchange)

    with patch.object(Exchange, "__init__", record):
        yield begun


def _twin(asked: Line, exchanges: list[Exchange]) -> tuple[Line, ...]:
    """Return the request and the response of the exchange with the same request; empty if there is none."""
    replies = (HttpReply(exchange) for exchange in exchanges if exchange.has_ended)
    same = (one.lines for one in replies if _key(one.lines[0]) == _key(asked))
    return next(same, ())


def _key(line: Line) -> str:
    return NUMBER.sub('"id":0', _plain(line.shown(MAX_LINE)))


def _shown(lines) -> tuple[str, ...]:
    """Return lines as they go over the wire: the head a line for each header, then the body."""
    return tuple(text for line in lines for text in _split(_plain(line.shown(MAX_LINE))))


def _split(text: str) -> list[str]:
    arrow, (head, blank, body) = text[:2], text[2:].partition(BLANK)
    if not blank:
        return [text]
    parts = [part for part in head.split(HEADER) if part]
    return [*(arrow + part for part in parts), *(arrow + part for part in body.splitlines() if part)]


def _plain(text: str) -> str:
    """Return a text that is the same in every run."""
    for pattern, instead in MASKS:
        text = pattern.sub(instead, text)
    return masked(text)
