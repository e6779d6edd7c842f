"""What a message looks like in each revision, in JSON Schema: a base, and what each revision changes in it.

A file holds ``envelopes`` (the kinds of JSON-RPC messages), what the ``client`` and the ``server`` may say
(``requests``, each with its ``params`` and ``result``, and ``notifications``), and ``$defs`` that these refer
to. A request may have other forms of its result: a ``taskResult``, or one that says ``inputRequired``. What a
side ``never`` says are kinds of messages, each with the requirement that it breaks. A file names the one that
it comes ``after`` and says only what differs from that, as a JSON merge patch (RFC 7396). Members that nobody
names are legal everywhere.

``rule`` is the requirement that a value breaks if it is wrong there: the innermost on the way to the wrong
member counts, unless a ``ruleBelow`` further out covers all that lies below it. ``ruleMissing`` is the one
that is broken if the member is absent, where that is another, and ``ruleMissingBelow`` the one for all
members that are absent further in.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

FILES = Path(__file__).parent


def revisions() -> list[str]:
    """The revisions there is a schema for, oldest first."""
    return sorted(file.stem for file in FILES.glob("2*.json"))


@cache
def schema(name: str) -> dict[str, Any]:
    """The schema of a revision, or the ``base``, in full.  Raises `OSError` if there is none."""
    own: dict[str, Any] = json.loads((FILES / f"{name}.json").read_text(encoding="utf-8"))
    before = own.pop("after", None)
    merged: dict[str, Any] = own if before is None else _patched(schema(before), own)
    return merged


@cache
def client_request_params(method: str, revision: str) -> dict[str, Any]:
    """Return the schema of the params of a server's request to its client.

    ``client_features.json`` holds one for each method: the schema of the first revision that has it, and a JSON merge
    patch for each revision that changes it.
    """
    file = FILES / "client_features.json"
    patches = json.loads(file.read_text(encoding="utf-8"))[method]
    merged: dict[str, Any] = {}
    for since in sorted(patches):
        if since <= revision:
            merged = _patched(merged, patches[since])
    return merged


def _patched(before: Any, patch: Any) -> Any:
    if not isinstance(patch, dict):
        return patch
    kept = dict(before) if isinstance(before, dict) else {}
    merged = {name: _patched(kept.get(name), value) for name, value in patch.items() if value is not None}
    return {name: value for name, value in (kept | merged).items() if patch.get(name, "") is not None}
