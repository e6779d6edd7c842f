"""Elicitations: the forms that a client filled in, the pages that it was sent to, and how they ended."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from mcp_conformance.client.session import Session
from mcp_conformance.client.tool_call import Call
from mcp_conformance.protocol.jsonrpc import Kind, kind
from mcp_conformance.protocol.value import Value, members
from mcp_conformance.scenarios.client_features import ClientRun

ELICITATION = "elicitation/create"
COMPLETE = "notifications/elicitation/complete"
LOCAL_HOST = re.compile(
    r"[^.]*|.*\.(localhost|local|test|internal|lan)|(127|10|192\.168|169\.254|172\.(1[6-9]|2\d|3[01]))\..*"
)
"""Hosts that are not public; an address in brackets counts as one."""


@dataclass(frozen=True)
class FilledForm:
    """A tool call, and the ``content`` that the client sent for its first form."""

    call: Call
    content: Any

    @property
    def is_refused(self) -> bool:
        """Whether the call failed, or asks once more."""
        return self.call.failed or self.call.reply.needs_input

    @property
    def result_text(self) -> str:
        """The result of the call as lower-case JSON without quotes."""
        return re.sub(r'[\\"]', "", json.dumps(self.call.reply.result, sort_keys=True)).lower()

    def is_result_of(self, valid: FilledForm) -> bool:
        """Return whether the result is the one of ``valid``, with this form's content in place of its own.

        Neither may be refused.
        """
        text, shown = self.result_text, False
        for name in valid.content:
            value, instead = str(valid.content[name]).lower(), str(self.content.get(name)).lower()
            if value != instead and instead in text:
                shown = True
                text = text.replace(instead, value)
        return shown and text == valid.result_text


def filled_forms(run: ClientRun) -> dict[str, FilledForm]:
    """Return the answered calls in which the client filled in a form, by the tool's name."""
    forms = {}
    for call in run.calls_asking(ELICITATION):
        first = next(each for each in call.asked if each.json["method"] == ELICITATION)
        content = run.answer(first).get("content")
        if content is not None and call.reply.fault is None:
            forms[call.tool.name] = FilledForm(call, content.json)
    return forms


def is_url_elicitation(params: Value) -> bool:
    """Return whether the params of an elicitation have the mode ``url``."""
    mode = params.get("mode")
    return mode is not None and mode.json == "url"


def is_https_or_local(url: str) -> bool:
    """Return whether a URL has another scheme than ``http``, or the host of a development machine."""
    http = re.match(r"http://(?:[^/?#]*@)?([^/?#:]*)", url, re.IGNORECASE)
    return http is None or LOCAL_HOST.fullmatch(http[1].lower()) is not None


def completed_elicitations(session: Session) -> Iterator[tuple[Value, frozenset[str]]]:
    """Yield the id in each completion notification, with the ids of the elicitations requested before it."""
    known: set[str] = set()
    for line, message in session.received.messages():
        value = Value(message, "", (line,))
        params = value.get("params") or Value(None, "params", (line,))
        if kind(message) is Kind.NOTIFICATION and message["method"] == COMPLETE:
            yield params.get("elicitationId") or params, frozenset(known)
        entries = value.get("error", "data", "elicitations") or Value([])
        known |= {id.json for id in members([params, *entries.each()], "elicitationId") if id.is_a(str)}
