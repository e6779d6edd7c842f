"""A list fetched page by page."""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import dataclass, replace

from conformance.client.message_log import Packed, Unpacked, packed
from conformance.client.reply import Reply
from conformance.protocol.methods import IDENTIFIERS
from conformance.protocol.value import Value, members


@dataclass(frozen=True)
class Walk:
    """A list fetched page by page.

    ``replies`` has one reply a page.  ``trouble`` is empty when the walk came to its end, otherwise it says
    why it was given up: a page that is no result, a cursor that came twice, more than `MAX_PAGES` pages.
    """

    method: str
    member: str
    replies: tuple[Reply, ...]
    trouble: str = ""
    looped: bool = False

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
        """How many items there are, read or not."""
        return self.left_out + sum(len(array.json) for array in self._arrays)

    @property
    def left_out(self) -> int:
        """How many items were too many to be read."""
        return sum(reply.line.left_out for reply in self.replies if reply.line is not None)

    def first(self, most: int) -> list[Value]:
        """The first items, as `items` gives them."""
        each = itertools.chain.from_iterable(array.each() for array in self._arrays)
        numbered = enumerate(itertools.islice(each, most))
        return [Value(item.json, f"{self.member}[{number}]", item.lines) for number, item in numbered]

    def names(self) -> list[str]:
        """What identifies each item (`IDENTIFIERS`), in order; items without it are left out."""
        return [name for page in self.pages for name in self._names(page)]

    def names_on(self, reply: Reply) -> list[str]:
        """The same for one page of this list that was asked for apart."""
        page = reply.value.get(self.member) if reply.value is not None else None
        return self._names(list(page.each())) if page is not None else []

    def repeated(self) -> list[str]:
        """What identifies two items of different pages."""
        pages = Counter(name for page in self.pages for name in set(self._names(page)))
        return sorted(name for name, times in pages.items() if times > 1)

    def namesakes(self) -> dict[str, list[Value]]:
        """The items that something identifies which identifies others too."""
        counted = Counter(self.names())
        found: dict[str, list[Value]] = {}
        for item in self.items:
            for name in self._names([item]):
                if counted[name] > 1:
                    found.setdefault(name, []).append(item)
        return found

    def _names(self, page: list[Value]) -> list[str]:
        return [name.json for name in members(page, IDENTIFIERS[self.member]) if name.is_a(str)]

    @property
    def cursors(self) -> list[Value]:
        """Each ``nextCursor`` in the order it came."""
        found = (reply.value.get("nextCursor") for reply in self.replies if reply.value is not None)
        return [cursor for cursor in found if cursor is not None]


def packed_reply(reply: Reply) -> Reply:
    """A reply that takes little memory."""
    if reply.line is None or reply.message is not reply.line.message:
        return reply
    line = packed(reply.line)
    return replace(reply, line=line, message=Unpacked(line) if isinstance(line, Packed) else reply.message)
