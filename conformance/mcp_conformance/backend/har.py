"""Exchanges as HAR 1.2, the JSON in which browsers and proxies keep them, written and read."""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from mcp_conformance.backend.exchange import Answered, Asked, Exchange, Headers

VERSION = "1.2"
CREATOR = {"name": "pytest-mcp-conformance", "version": "1"}
REMOVED = "_removed"
"""The member with the names of what was removed: HAR leaves members with an underscore to programs."""
FORM = "application/x-www-form-urlencoded"
USUAL = {"http": 80, "https": 443}


class BadTape(ValueError):  # noqa: N818  (its message is what the user reads)
    """A text is not HAR; the message says why."""


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
    """Return what a HAR text has; requests without an answer are left out.  Raises `BadTape`."""
    try:
        log = json.loads(text.removeprefix("\N{ZERO WIDTH NO-BREAK SPACE}"))["log"]
        exchanges = [_exchange(one) for one in log["entries"] if _is_answered(one)]
        return Tape(tuple(exchanges), tuple(map(str, log.get(REMOVED, ()))))
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        raise BadTape(f"not HAR: {error}") from error
    except (KeyError, IndexError) as error:
        raise BadTape(f"not HAR: it has no member {error}") from error


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


def _is_answered(entry: Mapping[str, Any]) -> bool:
    """Return whether a request was answered: a browser keeps those that it did not send too."""
    return int(entry["response"]["status"]) > 0


def _exchange(entry: Mapping[str, Any]) -> Exchange:
    request, response = entry["request"], entry["response"]
    url = urlsplit(str(request["url"]))
    if not url.hostname:
        raise ValueError(f"{request['url']!r} is not a URL")
    usual = url.port in (None, USUAL.get(url.scheme))
    origin = f"{url.scheme}://{url.hostname}" + ("" if usual else f":{url.port}")
    target = (url.path or "/") + (f"?{url.query}" if url.query else "")
    asked = Asked(
        str(request["method"]).upper(),
        origin,
        target,
        _headers(request),
        _body(request.get("postData") or {}),
    )
    content = response.get("content") or {}
    headers = _headers(response)
    if content.get("mimeType") and not _first(headers, "content-type"):
        headers = (*headers, ("content-type", str(content["mimeType"])))
    answered = Answered(int(response["status"]), headers, _body(content))
    return Exchange(asked, answered, str(entry.get("startedDateTime", "")))


def _headers(message: Mapping[str, Any]) -> Headers:
    """Return the headers, without those that only HTTP/2 has."""
    found = ((str(one["name"]).lower(), str(one["value"])) for one in message.get("headers", ()))
    return tuple((name, text) for name, text in found if not name.startswith(":"))


def _body(content: Mapping[str, Any]) -> bytes:
    text = str(content.get("text") or "")
    if not text and content.get("params"):
        return urlencode([(one["name"], one.get("value", "")) for one in content["params"]]).encode()
    return b64decode(text) if content.get("encoding") == "base64" else text.encode("utf-8", "surrogatepass")
