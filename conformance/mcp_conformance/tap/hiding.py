"""What a recorded session may not have: credentials, whole, in parts, and under the names of credentials."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from mcp_conformance.protocol.jsonrpc import decode
from mcp_conformance.tap import learned
from mcp_conformance.transport.credentials import HIDDEN, SCHEME, Secret, is_secret_name
from mcp_conformance.transport.redaction import MIN_HALVED, Redaction

# A part of eight characters is in many a text that has nothing to do with it.
MIN_PART = 10
"""The shortest part of a credential that is left out: a client may send a long one in pieces."""
QUERY = re.compile(r"\?\S*")


class Hiding:
    """Leaves credentials out of rows; it learns from members that have the name of one.

    ``has_learned`` says that earlier rows may have some of them.
    """

    def __init__(self, secrets: Iterable[Secret]):
        self.has_learned = False
        self._secrets = dict.fromkeys(secrets)
        self.redaction = Redaction(self._secrets)
        self._parts = tuple(_parts(self._secrets))

    def row(self, row: dict[str, Any]) -> dict[str, Any]:
        """Return a row without credentials."""
        row = self._without_http(row) if "http" in row else row
        if "raw" in row:
            raw = row["raw"].encode("latin-1")
            text = raw.decode("utf-8", "surrogateescape")
            self._learn((*learned.in_message(decode(raw)[0]), *learned.in_text(text)))
            shown = self._text(text)
            row = row if shown == text else {**row, "raw": _latin(shown), "redacted": True}
        if "stderr" in row:
            self._learn(learned.in_text(row["stderr"]))
            row = {**row, "stderr": self._text(row["stderr"])}
        return row

    def _without_http(self, row: dict[str, Any]) -> dict[str, Any]:
        http = row["http"]
        self._learn(learned.in_headers(http["headers"]))
        headers = [[name, self._header(name, text)] for name, text in http["headers"]]
        path = {"path": self._text(http["path"])} if "path" in http else {}
        return {**row, "http": {**http, **path, "headers": headers}}

    def _header(self, name: str, text: str) -> str:
        is_secret = is_secret_name(name) or SCHEME.fullmatch(text.strip()) is not None
        return HIDDEN if is_secret else self._text(QUERY.sub("", text) if "://" in text else text)

    def _text(self, text: str) -> str:
        shown = self.redaction.text(text)
        for part, secret in self._parts:
            at = shown.find(part)
            while at >= 0:
                start, end = _grown(shown, secret, at, secret.find(part), len(part))
                shown = shown[:start] + HIDDEN + shown[end:]
                at = shown.find(part)
        return shown

    def _learn(self, found: Iterable[Secret]) -> None:
        new = [one for one in found if one not in self._secrets]
        if new:
            self.has_learned = True
            self._secrets |= dict.fromkeys(new)
            self.redaction = Redaction(self._secrets)
            self._parts = tuple(_parts(self._secrets))


def _parts(secrets: Iterable[Secret]) -> Iterator[tuple[str, str]]:
    """Yield each part of the shortest length of each long credential, with the credential."""
    for one in secrets:
        if one.is_named and len(one.text) >= MIN_HALVED and "://" not in one.text and " " not in one.text:
            ends = range(MIN_PART, len(one.text) + 1)
            yield from ((one.text[end - MIN_PART : end], one.text) for end in ends)


def _grown(text: str, secret: str, at: int, place: int, length: int) -> tuple[int, int]:
    """Return where the longest part of a credential around a place begins and ends in a text."""
    start, end, first, last = at, at + length, place, place + length
    while start and first and text[start - 1] == secret[first - 1]:
        start, first = start - 1, first - 1
    while end < len(text) and last < len(secret) and text[end] == secret[last]:
        end, last = end + 1, last + 1
    return start, end


def _latin(text: str) -> str:
    return text.encode("utf-8", "surrogateescape").decode("latin-1")
