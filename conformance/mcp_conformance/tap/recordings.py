"""The answers in recorded sessions, by what was asked before: they show what varies."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

from mcp_conformance.client.transcript import line_of_row
from mcp_conformance.protocol.jsonrpc import IdKey, encode, id_key, is_request, is_response, strict
from mcp_conformance.tap.differences import Answer
from mcp_conformance.tap.exchanges import Exchange
from mcp_conformance.tap.hiding import Hiding
from mcp_conformance.tap.lines import line_of
from mcp_conformance.tap.matching import BY_METHOD, params_of
from mcp_conformance.tap.sessions import Recorded
from mcp_conformance.transport.writing import write


@dataclass(frozen=True)
class Exchanged:
    """An answered request of a session, the ``number``-th request of its client.

    ``history`` is a digest of all requests up to it, which says that two sessions have done the same before.
    ``row`` is the place of the answer among the rows of the session, and ``is_alone`` says that it has no
    other answer.
    """

    number: int
    request: Mapping[str, Any]
    history: str
    row: int
    is_alone: bool
    answer: Answer


def exchanged(session: Recorded) -> list[Exchanged]:
    """Return the answered requests of a session, in the order of the requests."""
    asked: dict[IdKey, list[tuple[int, Mapping[str, Any], str, float]]] = defaultdict(list)
    found, number, history = [], 0, blake2b(digest_size=12)
    for place, row in enumerate(session.rows):
        line = line_of(row)
        for message in line.parts() if line is not None else ():
            if row["sent"] and is_request(message):
                number += 1
                history.update(_asked(message))
                asked[id_key(message["id"])].append((number, message, history.hexdigest(), float(row["at"])))
            elif not row["sent"] and is_response(message) and asked[id_key(message.get("id"))]:
                own, request, before, at = asked[id_key(message.get("id"))].pop(0)
                answer = answer_in(message, session.clock(row), max(0.0, float(row["at"]) - at))
                is_alone = line is not None and line.message is message
                found.append(Exchanged(own, request, before, place, is_alone, answer))
    return sorted(found, key=lambda one: one.number)


def _asked(message: Mapping[str, Any]) -> bytes:
    """Return what a request asks, without its id, its ``_meta``, and what says who the client is."""
    kept = {} if str(message["method"]) in BY_METHOD else params_of(Exchange(dict(message)))
    return json.dumps([message["method"], kept], sort_keys=True).encode()


def answer_in(message: Mapping[str, Any], clock: float, took: float) -> Answer:
    """Return the answer in a response."""
    return Answer({name: message[name] for name in ("result", "error") if name in message}, clock, took)


def accept(session: Recorded, answers: Mapping[int, Answer], varies: Mapping[int, Iterable[str]]) -> None:
    """Write other answers to the file of a session, and what varies, both by the places of their rows.

    Raises `OSError`.
    """
    hiding, rows = Hiding(()), list(session.rows)
    for place, paths in varies.items():
        rows[place] = {**rows[place], "varies": sorted({*rows[place].get("varies", ()), *paths})}
    for place, answer in answers.items():
        old = line_of_row(rows[place]).message
        kept = {name: one for name, one in old.items() if name not in ("result", "error")}
        raw = encode(strict({**kept, **answer.content})).decode()
        rows[place] = hiding.row({**rows[place], "raw": raw, "accepted": round(answer.clock, 3)})
    write(session.path, (json.dumps(row) + "\n" for row in [session.header, *rows]))


def by_history(sessions: Iterable[Recorded]) -> Mapping[tuple[str, str], tuple[tuple[str, Answer], ...]]:
    """Return the answers to a request after the same requests, each with the name of its session.

    They are those of one version of a server, as another one may have changed its answers.
    """
    found: dict[tuple[str, str], list[tuple[str, Answer]]] = defaultdict(list)
    for session in sessions:
        for one in exchanged(session):
            found[session.title, one.history].append((session.stem, one.answer))
    return {key: tuple(some) for key, some in found.items()}
