"""A list fetched page by page."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

from mcp_conformance.client.inbox import FLOOD_BYTES
from mcp_conformance.client.message_log import LONG, compressed, one_message
from mcp_conformance.client.reply import MB, Reply
from mcp_conformance.client.session import NO_PARAMS, Session
from mcp_conformance.protocol import revisions
from mcp_conformance.protocol.jsonrpc import show
from mcp_conformance.protocol.methods import IDENTIFIERS
from mcp_conformance.protocol.value import Value, members

NOTHING: Mapping[str, Any] = MappingProxyType({})
MAX_PAGES = 1000
# Not measured: 300 s by default; a list of the largest registries has some hundred pages of milliseconds.
MAX_LIST_TIMEOUTS = 10
"""How many times the timeout of one answer all pages of a list may take together."""
# A cursor is in memory several times: in the page, in the request with it, and in both as bytes.
MAX_CURSORS = 4_000_000
"""The most characters of all cursors of a list: 4 kB for each of `MAX_PAGES`."""


@dataclass(frozen=True)
class Listing:
    """A list fetched page by page.

    ``replies`` has one reply a page.  ``failure`` says why the list could not be fetched to its end: a page
    that is not a result, a cursor that came twice, more than `MAX_PAGES` pages, cursors that are too long,
    too much time; it is empty if it could.  ``is_too_costly`` says that this tool has set the limit.
    """

    method: str
    member: str
    replies: tuple[Reply, ...]
    failure: str = ""
    never_ends: bool = False
    is_too_costly: bool = False

    @property
    def pages(self) -> list[list[Value]]:
        """The items of each page that is a result with an array in it."""
        return [list(array.each()) for array in self._arrays]

    @property
    def _arrays(self) -> list[Value]:
        found = (reply.value.get(self.member) for reply in self.replies if reply.value is not None)
        return [array for array in found if array is not None and array.is_a(list)]

    @property
    def items(self) -> list[Value]:
        """The items of all pages, with paths that count through them."""
        return self.first(self.size)

    @property
    def size(self) -> int:
        """The number of items, read or not."""
        return self.left_out + sum(len(array.json) for array in self._arrays)

    @property
    def left_out(self) -> int:
        """The number of items that were too many to read."""
        return sum(reply.line.left_out for reply in self.replies if reply.line is not None)

    @property
    def is_complete(self) -> bool:
        """Whether it was fetched to its end, and every item was read."""
        return not (self.failure or self.left_out)

    def first(self, most: int) -> list[Value]:
        """Return the first items, as `items` gives them."""
        each = itertools.chain.from_iterable(array.each() for array in self._arrays)
        numbered = enumerate(itertools.islice(each, most))
        return [Value(item.json, f"{self.member}[{number}]", item.lines) for number, item in numbered]

    def identifiers(self) -> list[str]:
        """Return the identifier of each item (`IDENTIFIERS`), in order; items without one are left out."""
        return [name for page in self.pages for name in self._identifiers(page)]

    def identifiers_on(self, reply: Reply) -> list[str]:
        """Return the same for one page of this list that was fetched separately."""
        page = reply.value.get(self.member) if reply.value is not None else None
        return self._identifiers(list(page.each())) if page is not None else []

    def repeated(self) -> list[str]:
        """Return the identifiers that two pages have in common."""
        pages = Counter(name for page in self.pages for name in set(self._identifiers(page)))
        return sorted(name for name, times in pages.items() if times > 1)

    def namesakes(self) -> dict[str, list[Value]]:
        """Return the items that share their identifier with another, by identifier."""
        counted = Counter(self.identifiers())
        found: dict[str, list[Value]] = {}
        for item in self.items:
            for name in self._identifiers([item]):
                if counted[name] > 1:
                    found.setdefault(name, []).append(item)
        return found

    def _identifiers(self, page: list[Value]) -> list[str]:
        return [name.json for name in members(page, IDENTIFIERS[self.member]) if name.is_a(str)]

    @property
    def cursors(self) -> list[Value]:
        """Each ``nextCursor`` in the order it came."""
        found = (reply.value.get("nextCursor") for reply in self.replies if reply.value is not None)
        return [cursor for cursor in found if cursor is not None]


def compressed_reply(reply: Reply) -> Reply:
    """Return a reply that takes little memory."""
    if reply.line is None or reply.message is not reply.line.message:
        return reply
    line = compressed(reply.line)
    return replace(reply, line=line, message=one_message(line, line.message))


def fetch_list(session: Session, method: str, member: str, constant: Mapping[str, Any] = NOTHING) -> Listing:
    """Fetch a list to its end, following each ``nextCursor`` (spec: utilities/pagination).

    Each request has the ``constant`` params beside its cursor.
    """
    replies: list[Reply] = []
    cursors: set[str] = set()
    params: Any = constant or NO_PARAMS
    size = length = 0
    until = session.clock.monotonic() + MAX_LIST_TIMEOUTS * session.timeout
    while len(replies) < MAX_PAGES and size < FLOOD_BYTES:
        reply = session.request(method, params)
        size += len(reply.line.raw) if reply.line is not None else 0
        replies.append(reply if size < LONG else compressed_reply(reply))
        if reply.value is None:
            how = "was not answered:" if reply.fault is not None else "was answered with"
            return Listing(method, member, tuple(replies), f"{method} {how} {reply}")
        cursor = reply.value.get("nextCursor")
        if cursor is None or not cursor.is_a(str) or not revisions.paginates(session.revision):
            return Listing(method, member, tuple(replies))
        if cursor.json in cursors:
            failure = f"{method} never ends: cursor {show(cursor.json, 60)} came again on page {len(replies)}"
            return Listing(method, member, tuple(replies), failure, never_ends=True)
        if session.clock.monotonic() > until:
            seconds = f"{MAX_LIST_TIMEOUTS * session.timeout:g} s"
            failure = f"{method} still has a nextCursor after {len(replies)} pages in {seconds}"
            return Listing(method, member, tuple(replies), failure)
        length += len(cursor.json)
        if length > MAX_CURSORS:
            pages = f"after {len(replies)} pages, whose cursors have {length} characters"
            failure = f"{method} still has a nextCursor {pages}: this tool sends back {MAX_CURSORS} at most"
            return Listing(method, member, tuple(replies), failure, is_too_costly=True)
        cursors.add(cursor.json)
        params = {**constant, "cursor": cursor.json}
    much = f" ({size // MB} MB)" if size > FLOOD_BYTES else ""
    failure = f"{method} never ends: {len(replies)} pages{much} and still a nextCursor"
    return Listing(method, member, tuple(replies), failure, never_ends=True)
