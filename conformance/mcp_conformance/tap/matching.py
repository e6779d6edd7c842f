"""Whether a request of now is a recorded one, whatever differs between two clients that ask the same."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from mcp_conformance.protocol.jsonrpc import ABSENT, Kind, kind
from mcp_conformance.tap.exchanges import Exchange

BY_METHOD = frozenset({"initialize", "server/discover", "logging/setLevel", "subscriptions/listen"})
"""The requests whose parameters say who the client is: any of them has the answer of any other."""
ANSWERS = "inputResponses"
"""What a client answers to the requests in a result: they differ as users and models do."""
Path = tuple[str | int, ...]


def params_of(one: Exchange) -> dict[str, Any]:
    """Return the parameters without ``_meta``, which differs each time; no arguments are empty arguments."""
    params = one.request.get("params")
    found = (
        {name: value for name, value in params.items() if name != "_meta"} if isinstance(params, dict) else {}
    )
    if found.get("arguments", ABSENT) in (None, {}):
        del found["arguments"]
    return found


def distance(recorded: Exchange, asked: Exchange) -> int | None:
    """Return in how many values a request differs from a recorded one; None if it asks for something else."""
    if recorded.method != asked.method:
        return None
    found = 0
    for path, _, _ in differences(params_of(recorded), params_of(asked)):
        if not _may_differ(asked, path):
            return None
        found += 1
    return found


def _may_differ(asked: Exchange, path: Path) -> bool:
    if asked.method in BY_METHOD or kind(asked.request) is Kind.NOTIFICATION:
        return True
    return path[0] == ANSWERS and len(path) > 2 and path[-1] != "action"


def differences(one: Any, other: Any, path: Path = ()) -> Iterator[tuple[Path, Any, Any]]:
    """Yield where two JSON values differ, and what they have there; `ABSENT` where one has nothing."""
    if isinstance(one, dict) and isinstance(other, dict):
        for name in dict.fromkeys([*one, *other]):
            yield from differences(one.get(name, ABSENT), other.get(name, ABSENT), (*path, name))
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for index, pair in enumerate(zip(one, other, strict=True)):
            yield from differences(*pair, (*path, index))
    elif one != other or isinstance(one, bool) is not isinstance(other, bool):
        yield path, one, other
