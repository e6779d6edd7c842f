"""What a server offers now, beside what its contract promises."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from mcp_conformance.client.tool_call import Tool
from mcp_conformance.expect import require, skip
from mcp_conformance.protocol.jsonrpc import strict
from mcp_conformance.protocol.methods import IDENTIFIERS, LISTS
from mcp_conformance.protocol.text import shorten
from mcp_conformance.protocol.value import Value
from mcp_conformance.target.changes import OfferChange, member_changes, prompt_changes, tool_changes
from mcp_conformance.target.contract import Contract, Offer, kept
from mcp_conformance.target.scenario import scenario
from mcp_conformance.target.server import Server
from mcp_conformance.verdicts import Finding

KINDS = {
    "tools": "tool",
    "prompts": "prompt",
    "resources": "resource",
    "resourceTemplates": "resource template",
}
"""What an item of each list is called."""
MAX_CHANGES, MAX_CHANGE = 12, 400
"""How many changes a finding lists, and how many characters of each."""


@dataclass(frozen=True)
class Observed:
    """What a server offers in a revision; ``incomplete`` are the lists that were not read to their end."""

    offer: Offer
    incomplete: frozenset[str]


@scenario
def observed(server: Server) -> Observed:
    """Return what the server offers, without credentials and the name of its folder, which is always new."""
    lists: dict[str, dict[str, Any]] = {member: {} for member in KINDS}
    incomplete = set()
    for method, (feature, member) in LISTS.items():
        if server.declares(feature):
            items, is_complete = _items(server, method)
            lists[member] = dict(_definitions(member, items))
            incomplete |= set() if is_complete else {member}
    instructions = server.surface.result.get("instructions")
    found = {"capabilities": server.offers.json if server.offers.is_a(dict) else {}, **lists}
    found |= {"instructions": instructions.json} if instructions is not None else {}
    throwaway = server.settings.throwaway
    roots = (throwaway.root.resolve(), throwaway.root) if throwaway is not None else ()
    redaction = server.settings.redaction.also(*map(str, roots))
    offer: Offer = redaction(strict(found))
    return Observed(offer, frozenset(incomplete))


def _items(server: Server, method: str) -> tuple[list[Value], bool]:
    """Return the items of a list, and whether they are all; those of the tools are known from the probe."""
    if method == "tools/list":
        is_complete = not (server.surface.left_out or server.surface.failures)
        return [tool.definition for tool in server.tools], is_complete
    listing = server.listing(method)
    return listing.items, listing.is_complete


def _definitions(member: str, items: Iterable[Value]) -> Iterator[tuple[str, dict[str, Any]]]:
    for item in items:
        name = item.get(IDENTIFIERS[member])
        if name is not None and name.is_a(str):
            yield name.json, kept(member, item.json)


# Differences -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Difference:
    """A change since the contract was written, and the requirement that it breaks."""

    requirement: str
    change: OfferChange


LISTED, INPUT, OUTPUT = "contract.listed", "contract.input", "contract.output"
PROMPTS, CAPABILITIES, CURRENT = "contract.prompts", "contract.capabilities", "contract.current"
BROKEN = {"inputSchema": INPUT, "execution": INPUT, "outputSchema": OUTPUT, "arguments": PROMPTS}
"""The requirement that a breaking change of a member breaks; a change that is not breaking is `CURRENT`."""


def differences(old: Offer, now: Observed, revision: str) -> Iterator[Difference]:
    """Yield all that changed since the contract was written; an incomplete list lacks nothing."""
    for member, kind in KINDS.items():
        before, after = old[member], now.offer[member]
        for name in sorted(before.keys() - after.keys()):
            if member not in now.incomplete:
                yield Difference(LISTED, OfferChange(f"{kind} {name}", "is gone", breaking=True))
        for name in sorted(after.keys() - before.keys()):
            yield Difference(CURRENT, OfferChange(f"{kind} {name}", "is new"))
        for name in sorted(before.keys() & after.keys()):
            for change in _changes(member, name, before[name], after[name], revision):
                yield Difference(BROKEN[change.member] if change.breaking else CURRENT, change)
    yield from _capabilities(old["capabilities"], now.offer["capabilities"])
    if old.get("instructions") != now.offer.get("instructions"):
        yield Difference(CURRENT, OfferChange("instructions", "changed"))


def _changes(
    member: str, name: str, old: Mapping[str, Any], new: Mapping[str, Any], revision: str
) -> Iterator[OfferChange]:
    if member == "tools":
        return tool_changes(name, old, new, revision)
    if member == "prompts":
        return prompt_changes(name, old, new)
    return member_changes(name, old, new)


def _capabilities(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[Difference]:
    before, after = set(_declared(old)), set(_declared(new))
    for name in sorted(before - after):
        yield Difference(CAPABILITIES, OfferChange(f"capability {name}", "is gone", breaking=True))
    for name in sorted(after - before):
        yield Difference(CURRENT, OfferChange(f"capability {name}", "is new"))


def _declared(capabilities: Mapping[str, Any], path: str = "") -> Iterator[str]:
    """Yield the path of each capability and flag that is declared; false and null count as not declared."""
    for name, content in capabilities.items():
        if content is not None and content is not False:
            yield f"{path}{name}"
            yield from _declared(content, f"{path}{name}.") if isinstance(content, dict) else ()


# Judging -----------------------------------------------------------------------------------------


def expect_contract(server: Server, requirement: str, tool: Tool | None = None) -> None:
    """Report a finding for the differences that break a requirement, for one tool if one is given."""
    name, found = _since_contract(server, requirement)
    changes = [one.change for one in found if one.requirement == requirement]
    if tool is not None:
        changes = [one for one in changes if one.name == tool.name]
    if changes:
        proof = next((f"; {one.proof} proves it" for one in changes if one.proof), "")
        raise Finding(f"what {name} has", f"{_listed(changes)}{proof}", tool.definition.lines if tool else ())


@scenario
def _all_differences(server: Server, contract: Contract) -> tuple[Difference, ...]:
    return tuple(differences(contract.offers[server.revision], observed(server), server.revision))


def _since_contract(server: Server, requirement: str) -> tuple[str, tuple[Difference, ...]]:
    """Return the name of the contract and the differences; skip if it has nothing about this revision."""
    contract = require(server.settings.contract, skip="there is no contract (mcp-conformance lock)")
    if server.revision not in contract.offers:
        tested = {one.revision for one in (server.surface, *server.other_surfaces)}
        if requirement == CURRENT and tested.isdisjoint(contract.offers):
            raise Finding(f"what {contract.name} has", f"{server.revision}, about which it has nothing")
        skip(f"the contract has nothing about {server.revision}")
    return contract.name, _all_differences(server, contract)


def _listed(changes: list[OfferChange]) -> str:
    """Return the first changes as one text."""
    more = [f"and {len(changes) - MAX_CHANGES} more"] if len(changes) > MAX_CHANGES else []
    return "; ".join([*(shorten(str(one), MAX_CHANGE) for one in changes[:MAX_CHANGES]), *more])
