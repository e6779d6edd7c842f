"""What a server asks of other hosts, and when, as a report has it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from mcp_conformance.backend.contact import (
    AT_START,
    IN_CALL,
    IN_FETCH,
    IN_LISTS,
    NO_REQUEST,
    UNSPOKEN,
    HostUse,
)
from mcp_conformance.protocol.text import first_names, named

MAX_HOSTS, MAX_REQUESTS, MAX_TOOLS = 20, 3, 3
"""How many hosts, and of each how many requests and tools, the lines name."""
HOSTS = "What the server asks of other hosts"
WHEN = {AT_START: "at the start", IN_LISTS: "while it lists what it offers"}
ORDER = (*WHEN, IN_CALL, IN_FETCH)
ALERT = "alert"
"""What OpenSSL's names of the messages have by which a client says why it ends a handshake."""


@dataclass(frozen=True)
class AskedHost(HostUse):
    """A request to a host, and how often it was made in one call, or before any."""

    times: int = 1

    @property
    def occasion(self) -> str:
        """When it is asked, in words: before any call, in calls of a tool, or in a fetch."""
        return WHEN.get(self.when, f"in {'calls of ' * (self.when == IN_CALL)}{named(self.tool, 40)}")

    @property
    def request(self) -> str:
        """The method and the path."""
        if not self.method:
            return self.refusal
        return f"{self.method} {self.path}" + ("" if self.is_known else " (not recorded)")


def asked_hosts(uses: Mapping[HostUse, int]) -> tuple[AskedHost, ...]:
    """Return the requests: those at the start first, then while the tools were listed, then by tool."""
    found = sorted(uses, key=lambda use: (ORDER.index(use.when), use))
    return tuple(AskedHost(**vars(use), times=uses[use]) for use in found)


def host_lines(hosts: Iterable[AskedHost]) -> Iterator[str]:
    """Yield a line for each host: when it is asked, and what."""
    grouped: dict[str, list[AskedHost]] = {}
    for one in hosts:
        grouped.setdefault(one.host, []).append(one)
    for host, some in list(grouped.items())[:MAX_HOSTS]:
        if asked := [one for one in some if one.method]:
            requests = first_names(list(dict.fromkeys(named(one.request, 90) for one in asked)), MAX_REQUESTS)
            yield f"asks {named(host)} {_when(asked)}: {requests}"
        refusals = [one for one in some if not (one.method or (asked and one.refusal.startswith(NO_REQUEST)))]
        if refusals and (refusal := refusals[0].refusal) in UNSPOKEN:
            yield f"{named(host)} could not be judged: the server asks it {refusal} {_when(refusals)}"
        elif refusals:
            # An alert names the certificate; a client that only goes says nothing.
            reason = "as" if ALERT in refusal else "perhaps as"
            yield (
                f"{named(host)} could not be judged: the server ends the TLS handshake {_when(refusals)} "
                f"({refusal}), {reason} it trusts only certificate authorities of its own"
            )
    if len(grouped) > MAX_HOSTS:
        yield f"asks {len(grouped) - MAX_HOSTS} more hosts"


def _when(some: Iterable[AskedHost]) -> str:
    """Return when these requests are made, in words."""
    words = [text for when, text in WHEN.items() if any(one.when == when for one in some)]
    for when, text in ((IN_CALL, "in calls of "), (IN_FETCH, "in ")):
        names = list(dict.fromkeys(named(one.tool, 40) for one in some if one.when == when))
        words += [text + first_names(names, MAX_TOOLS)] if names else []
    return " and ".join(words)
