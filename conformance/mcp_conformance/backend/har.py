"""Exchanges as HAR 1.2, the JSON in which browsers and proxies keep them, written and read."""

from __future__ import annotations

import json
import re
from base64 import b64decode, b64encode
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, TypedDict
from urllib.parse import parse_qsl, urlencode, urlsplit

from mcp_conformance.backend.exchange import Answered, Asked, Exchange, Headers
from mcp_conformance.protocol.shape import misfit
from mcp_conformance.protocol.text import named
from mcp_conformance.transport.files import BadFile, json_value

VERSION = "1.2"
CREATOR = {"name": "pytest-mcp-conformance", "version": "1"}
REMOVED = "_removed"
"""The member with the names of what was removed: HAR leaves members with an underscore to programs."""
FORM = "application/x-www-form-urlencoded"
LINE_END = re.compile(r"[\r\n\0]")
STATUSES = range(100, 1000)
USUAL = {"http": 80, "https": 443}


@dataclass(frozen=True)
class Tape:
    """Recorded exchanges, and the names of what was ``removed`` from them."""

    exchanges: tuple[Exchange, ...] = ()
    removed: tuple[str, ...] = ()

    def to_har(self) -> str:
        """Return it as HAR, in ASCII, with a line for each member."""
        log = {
            "version": VERSION,
            "creator": CREATOR,
            REMOVED: list(self.removed),
            "entries": [_entry(one) for one in self.exchanges],
        }
        return json.dumps({"log": log}, indent=1) + "\n"


def read(text: str) -> Tape:
    """Return what a HAR text has; requests without an answer are left out.  Raises `BadFile`."""
    found = json_value(text)
    if place := misfit(found, _Har, "it"):
        raise BadFile(f"not HAR: {place} is missing or of the wrong type")
    try:
        exchanges = [_exchange(one) for one in found["log"]["entries"] if one["response"]["status"] > 0]
    except ValueError as error:
        raise BadFile(f"not HAR: {error}") from error
    return Tape(tuple(exchanges), tuple(found["log"].get(REMOVED, ())))


# Writing -----------------------------------------------------------------------------------------


def _entry(one: Exchange) -> dict[str, Any]:
    asked, answered = one.asked, one.answered
    query = asked.target.partition("?")[2]
    request = {
        "method": asked.method,
        "url": asked.origin + asked.target,
        "httpVersion": "HTTP/1.1",
        "cookies": [],
        "headers": _pairs(asked.headers),
        "queryString": _pairs(parse_qsl(query, keep_blank_values=True)),
        "headersSize": -1,
        "bodySize": len(asked.body),
    }
    if asked.body:
        request["postData"] = {"mimeType": asked.header("content-type"), **_text(asked.body)}
    kind = _first(answered.headers, "content-type")
    response = {
        "status": answered.status,
        "statusText": "",
        "httpVersion": "HTTP/1.1",
        "cookies": [],
        "headers": _pairs(answered.headers),
        "content": {"size": len(answered.body), "mimeType": kind, **_text(answered.body)},
        "redirectURL": _first(answered.headers, "location"),
        "headersSize": -1,
        "bodySize": len(answered.body),
    }
    timings = {"send": 0, "wait": 0, "receive": 0}
    return {
        "startedDateTime": one.started,
        "time": 0,
        "request": request,
        "response": response,
        "cache": {},
        "timings": timings,
    }


def _pairs(some: Iterable[tuple[str, str]]) -> list[dict[str, str]]:
    return [{"name": name, "value": text} for name, text in some]


def _text(body: bytes) -> dict[str, str]:
    """Return a body as a text, or in base64 if it is none."""
    try:
        return {"text": body.decode()}
    except UnicodeDecodeError:
        return {"text": b64encode(body).decode(), "encoding": "base64"}


def _first(headers: Headers, wanted: str) -> str:
    return next((text for name, text in headers if name == wanted), "")


# Reading -----------------------------------------------------------------------------------------


class _Pair(TypedDict):
    name: str
    value: str


class _Content(TypedDict, total=False):
    mimeType: str | None
    text: str | None
    encoding: str | None
    params: list[dict[str, Any]] | None


class _Message(TypedDict, total=False):
    headers: list[_Pair]


class _Request(_Message):
    method: str
    url: str


class _Asked(_Request, total=False):
    postData: _Content | None


class _Response(_Message):
    status: int


class _Answered(_Response, total=False):
    content: _Content | None


class _Entry(TypedDict):
    request: _Asked
    response: _Answered


class _Started(_Entry, total=False):
    startedDateTime: str


class _Entries(TypedDict):
    entries: list[_Started]


class _Log(_Entries, total=False):
    _removed: list[str]


class _Har(TypedDict):
    log: _Log


def _exchange(entry: _Started) -> Exchange:
    request, response = entry["request"], entry["response"]
    url = urlsplit(request["url"])
    if not url.hostname:
        raise ValueError(f"{named(request['url'])!r} is not a URL")
    usual = url.port in (None, USUAL.get(url.scheme))
    origin = f"{url.scheme}://{url.hostname}" + ("" if usual else f":{url.port}")
    target = (url.path or "/") + (f"?{url.query}" if url.query else "")
    asked = Asked(
        request["method"].upper(), origin, target, _headers(request), _body(request.get("postData") or {})
    )
    content = response.get("content") or {}
    headers = _headers(response)
    kind = content.get("mimeType") or ""
    if kind and not _first(headers, "content-type"):
        headers = (*headers, ("content-type", kind))
    if odd := next((name for pair in headers for name in pair if LINE_END.search(name)), ""):
        raise ValueError(f"a header has an end of a line: {named(odd)!r}")
    if response["status"] not in STATUSES:
        raise ValueError(f"{response['status']} is not a status")
    answered = Answered(response["status"], headers, _body(content))
    return Exchange(asked, answered, entry.get("startedDateTime", ""))


def _headers(message: _Message) -> Headers:
    """Return the headers, without those that only HTTP/2 has."""
    found = ((one["name"].lower(), one["value"]) for one in message.get("headers", ()))
    return tuple((name, text) for name, text in found if not name.startswith(":"))


def _body(content: _Content) -> bytes:
    text = content.get("text") or ""
    if not text and (parameters := content.get("params")):
        return urlencode([(str(one.get("name")), str(one.get("value", ""))) for one in parameters]).encode()
    return b64decode(text) if content.get("encoding") == "base64" else text.encode("utf-8", "surrogatepass")
