"""What a server asked a host: never the value of a header, of a query, or of a part of a path."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass, field
from urllib.parse import unquote

from mcp_conformance.backend.sickness import ELSEWHERE

WORD = re.compile(r"(?:v\d{1,2}|[A-Za-z][A-Za-z_.-]{0,23})")
"""Matches a part of a path that reads like a word of the API, not like somebody's id or key."""
VALUE = "{}"
"""What stands for a part of a path that may be a value."""
MAX_SHOWN = 80
ANSWERED_PORTS = (80, 443)
NO_REQUEST = "no request"
"""How a refusal begins if a connection was opened and nothing asked."""
HTTP2_ONLY, BY_PROXY, OTHER_PORT = "in HTTP/2 alone", "as a proxy", "at another port than 80 and 443"
UNSPOKEN = (HTTP2_ONLY, BY_PROXY, OTHER_PORT)
"""The refusals of ours: how a host is asked that cannot be answered."""
AT_START, IN_LISTS, IN_CALL, IN_FETCH = "start", "lists", "call", "fetch"


@dataclass(frozen=True)
class Contact:
    """A request to a ``host``, or an attempt at one.

    The ``path`` is without its values, of a query are the names.  ``sent`` is the size of the body in bytes.
    ``has_credential`` says that a credential of the user is in it.  ``refusal`` is why a client broke TLS
    off, or one of `UNSPOKEN`, and then there is no method.  ``is_known`` says that there is an answer, if
    answers are recorded.  ``number`` counts the requests under one condition, from 0, ``at`` is the moment
    when one arrived, in seconds, and ``same`` is a number that only the same requests share.  ``is_keyed``
    says that a key lets the API know a repetition.  ``received`` is the size of the answer in bytes, of
    an API that is well.
    """

    host: str
    port: int
    method: str = ""
    path: str = ""
    sent: int = 0
    is_encrypted: bool = False
    has_credential: bool = False
    refusal: str = ""
    is_known: bool = True
    number: int = field(default=0, compare=False)
    at: float = field(default=0.0, compare=False)
    same: int = field(default=0, compare=False)
    is_keyed: bool = field(default=False, compare=False)
    received: int = field(default=0, compare=False)

    def __str__(self) -> str:
        if not self.method:
            return f"{self.where} ({self.refusal})"
        size = f" ({self.sent} bytes)" if self.sent else ""
        return f"{self.method} {self.where}{self.path}{size}"

    @property
    def is_elsewhere(self) -> bool:
        """Whether only a redirect leads there."""
        return self.where == ELSEWHERE

    @property
    def where(self) -> str:
        """The scheme and the host, as a URL has them."""
        scheme, usual = ("https", 443) if self.is_encrypted else ("http", 80)
        return f"{scheme}://{self.host}" + ("" if self.port == usual else f":{self.port}")


@dataclass(frozen=True, order=True)
class HostUse:
    """A request that a server made, as a report has it.

    ``when`` is `AT_START`, `IN_LISTS`, or `IN_CALL` of the ``tool``, or `IN_FETCH` of what that names.  The
    ``host`` is the beginning of a URL.  The ``path`` is without its values, ``sent`` is the size of the body
    in bytes.  Without a ``method`` the server broke TLS off, as ``refusal`` says.  ``is_known`` and
    ``received`` are those of a `Contact`.
    """

    when: str
    tool: str
    host: str
    method: str = ""
    path: str = ""
    sent: int = 0
    refusal: str = ""
    is_known: bool = True
    received: int = 0

    @classmethod
    def of(cls, contact: Contact, when: str, tool: str = "", values: Collection[str] = ()) -> HostUse:
        """Return the use that a contact makes; ``values`` of the call are left out of its path."""
        place, query, names = contact.path.partition("?")
        path = "/".join(VALUE if part in values else part for part in place.split("/")) + query + names
        facts = contact.sent, contact.refusal, contact.is_known, contact.received
        return cls(when, tool, contact.where, contact.method, path, *facts)


def shape(target: str) -> str:
    """Return the path of a request without its values, and the names in its query."""
    place, _, query = target.partition("?")
    path = "/".join(part if not part or WORD.fullmatch(part) else VALUE for part in place.split("/"))
    names = [unquote(one.partition("=")[0]) for one in query.split("&") if one]
    shown = [one if WORD.fullmatch(one) else VALUE for one in names]
    whole = path + (f"?{'&'.join(dict.fromkeys(shown))}" if shown else "")
    return whole if len(whole) <= MAX_SHOWN else whole[: MAX_SHOWN - 3] + "..."
