"""Changes of what a server offers, and whether they break clients.

A change of a schema breaks clients only if an object proves it: arguments that were allowed and no longer
are, or a result that is allowed now and was not before.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from mcp_conformance.json_schema.compatibility import Effect, SchemaChange, changes
from mcp_conformance.protocol.jsonrpc import show
from mcp_conformance.protocol.text import named

BREAKING = {
    "inputSchema": (Effect.NARROWS, Effect.REPLACES),
    "outputSchema": (Effect.WIDENS, Effect.REPLACES),
}
"""The effects that can break clients: less may be sent than before, or more may come."""
FORBIDDEN = "forbidden"
"""The ``taskSupport`` of a tool that has none."""
MAX_TEXT = 300
MAX_WITNESS = 200


@dataclass(frozen=True)
class OfferChange:
    """A change of something that a server offers, by its ``name``.

    ``breaking`` says that it breaks clients; ``proof`` is the JSON text of an object that proves it, and
    ``member`` the member of a tool's definition that changed.
    """

    name: str
    text: str
    breaking: bool = False
    member: str = ""
    proof: str = ""

    def __str__(self) -> str:
        return f"{named(self.name)}: {'BREAKING ' if self.breaking else ''}{self.text}"


def tool_changes(
    name: str, old: Mapping[str, Any], new: Mapping[str, Any], revision: str
) -> Iterator[OfferChange]:
    """Yield the changes of a tool's definition."""
    yield from text_changes(name, old, new)
    before, after = (
        one if isinstance(one, dict) else {} for one in (old.get("annotations"), new.get("annotations"))
    )
    yield from member_changes(name, before, after)
    yield from _task_changes(name, old.get("execution"), new.get("execution"))
    for member in BREAKING:
        yield from _schema_changes(name, member, old.get(member), new.get(member), revision)


def text_changes(name: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[OfferChange]:
    """Yield the changes of the texts that people and models read."""
    for member in ("title", "description"):
        if old.get(member) != new.get(member):
            text = f"`{member}` changed to {show(new.get(member), MAX_TEXT)}"
            yield OfferChange(name, text, member=member)


def member_changes(name: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[OfferChange]:
    """Yield the members, such as hints, with another value."""
    for member in sorted(old.keys() | new.keys()):
        was, now = old.get(member), new.get(member)
        if was != now:
            text = f"`{named(member)}` is {show(now, MAX_TEXT)}, was {show(was, MAX_TEXT)}"
            yield OfferChange(name, text, member=member)


def _task_changes(name: str, old: Any, new: Any) -> Iterator[OfferChange]:
    """Yield the change of ``taskSupport``: only one to optional refuses no call that was valid."""
    was, now = (
        one.get("taskSupport", FORBIDDEN) if isinstance(one, dict) else FORBIDDEN for one in (old, new)
    )
    if was != now:
        text = f"`taskSupport` is {show(now, MAX_TEXT)}, was {show(was, MAX_TEXT)}"
        yield OfferChange(name, text, now != "optional", "execution")


def prompt_changes(name: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[OfferChange]:
    """Yield the changes of a prompt's definition."""
    yield from text_changes(name, old, new)
    before, after = _arguments(old), _arguments(new)
    for argument in sorted(before.keys() | after.keys()):
        was, now = before.get(argument), after.get(argument)
        if was != now:
            breaks = _is_required(now) and not _is_required(was)
            yield OfferChange(
                name, f"argument {named(argument)} {_argument_change(was, now)}", breaks, "arguments"
            )


def _arguments(prompt: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of a prompt by their names."""
    listed = prompt.get("arguments")
    found = [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []
    return {one["name"]: one for one in found if isinstance(one.get("name"), str)}


def _is_required(argument: Mapping[str, Any] | None) -> bool:
    return argument is not None and argument.get("required") is True


def _argument_change(was: Mapping[str, Any] | None, now: Mapping[str, Any] | None) -> str:
    """Return how an argument differs."""
    if now is None:
        return "is gone"
    if _is_required(now) != _is_required(was):
        return (
            "is required now" if _is_required(now) else "is new" if was is None else "is no longer required"
        )
    return "is new" if was is None else "is described differently"


def _schema_changes(name: str, member: str, old: Any, new: Any, revision: str) -> Iterator[OfferChange]:
    if old is None and new is None:
        return
    if old is None or new is None:
        breaks = new is None and member == "outputSchema"
        yield OfferChange(name, f"{member} is {'gone' if new is None else 'new'}", breaks, member)
        return
    found = changes(old, new)
    proof = _proof(member, (old, new), found, revision)
    breaking = _breaking(found, member) if proof else []
    for change in found:
        text = f"{member}: {named(str(change), 200)}"
        breaks = change in breaking
        yield OfferChange(name, text, breaks, member, proof if breaks else "")


def _proof(member: str, schemas: tuple[Any, Any], found: list[SchemaChange], revision: str) -> str:
    """Return an object, as JSON, that proves that changes of a schema break clients; empty if none is found.

    Optional members that are new or gone prove nothing: nobody sent them, or could rely on them.
    """
    from mcp_conformance.generation.witness import witness  # noqa: PLC0415  (loads Hypothesis, which few need)

    if not _breaking(found, member):
        return ""
    allows, forbids = schemas if member == "inputSchema" else schemas[::-1]
    proof = witness(allows, forbids, revision, {one.optional for one in found if one.optional})
    return "" if proof is None else show(proof, MAX_WITNESS)


def _breaking(found: list[SchemaChange], member: str) -> list[SchemaChange]:
    """Return the changes that break clients if any do: those that narrow or widen, else the unclear ones."""
    certain = [one for one in found if one.effect in BREAKING[member]]
    return certain or [one for one in found if one.effect is Effect.UNCLEAR]
