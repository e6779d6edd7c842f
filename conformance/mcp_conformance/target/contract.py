"""The contract of a server: what it offers, in a file that a project keeps beside its code.

The text is canonical: the same offer always has the same text, and a small change changes few lines.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from mcp_conformance.protocol import revisions
from mcp_conformance.transport.files import BadFile, json_value

FILE = "mcp-contract.json"
"""The file that a run reads if it is in the working directory."""
FORMAT = 1
KEPT = {
    "tools": ("title", "description", "inputSchema", "outputSchema", "annotations", "execution"),
    "prompts": ("title", "description", "arguments"),
    "resources": ("name", "title", "description", "mimeType"),
    "resourceTemplates": ("name", "title", "description", "mimeType"),
}
"""The lists of a contract, and the members of each item that are kept."""
VALUES = ("const", "enum", "default", "examples")
"""The keywords of a schema whose contents are no schemas."""

Offer: TypeAlias = Mapping[str, Any]
"""What a server offers in a revision: its ``capabilities``, its ``instructions`` if it has any, and for each
list in `KEPT` the definitions by name or URI."""


@dataclass(frozen=True)
class Contract:
    """What a server offers in each revision, and the ``sizes`` of its lists of tools in bytes.

    ``name`` is that of the file, for sentences.
    """

    name: str
    server: str
    offers: Mapping[str, Offer]
    sizes: Mapping[str, int] = field(default_factory=dict)


def kept(member: str, definition: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a contract keeps of an item of a list; sets in schemas are sorted."""
    found = {name: definition[name] for name in KEPT[member] if name in definition}
    return {name: _sorted(value) if name.endswith("Schema") else value for name, value in found.items()}


def _sorted(schema: Any) -> Any:
    """Return a schema whose lists without an order are sorted."""
    if isinstance(schema, list):
        return list(map(_sorted, schema))
    if not isinstance(schema, dict):
        return schema
    return {
        name: sorted(value) if name in ("required", "type") and _is_set(value) else _inner(name, value)
        for name, value in schema.items()
    }


def _inner(name: str, value: Any) -> Any:
    return value if name in VALUES else _sorted(value)


def _is_set(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(one, str) for one in value)


# Writing and reading -----------------------------------------------------------------------------


def to_text(contract: Contract) -> str:
    """Return the text of a contract; revisions with the same offer share it."""
    groups: dict[str, dict[str, Any]] = {}
    for revision, offer in sorted(contract.offers.items()):
        shared = groups.setdefault(json.dumps(offer, sort_keys=True), {"revisions": [], **offer})
        shared["revisions"].append(revision)
    data = {
        "format": FORMAT,
        "offers": list(groups.values()),
        "server": contract.server,
        "tools.bytes": dict(contract.sizes),
    }
    return json.dumps(data, indent=2, sort_keys=True, ensure_ascii=False) + "\n"


def from_text(text: str, name: str) -> Contract:
    """Return the contract that `to_text` wrote.  Raises `BadFile`."""
    data = json_value(text)
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise BadFile(f"it is not a contract of format {FORMAT} (mcp-conformance lock writes one)")
    offers = data.get("offers")
    if not isinstance(offers, list) or not all(map(_is_offer, offers)):
        raise BadFile(
            "a member is missing or of the wrong type (mcp-conformance lock --update writes it anew)"
        )
    found = {revision: _without_revisions(one) for one in offers for revision in one["revisions"]}
    return Contract(name, str(data.get("server", "")), found, data.get("tools.bytes", {}))


def _without_revisions(offer: Offer) -> Offer:
    return {name: value for name, value in offer.items() if name != "revisions"}


def _is_offer(offer: Any) -> bool:
    """Return whether a value has the types of an offer."""
    if not isinstance(offer, dict) or not isinstance(offer.get("capabilities"), dict):
        return False
    named = offer.get("revisions")
    is_dated = isinstance(named, list) and all(one in revisions.KNOWN for one in named)
    lists = [offer.get(member) for member in KEPT]
    return is_dated and all(isinstance(one, dict) and all(map(_is_object, one.values())) for one in lists)


def _is_object(value: Any) -> bool:
    return isinstance(value, dict)
