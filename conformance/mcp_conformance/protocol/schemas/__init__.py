"""The schemas of the messages of each revision: a base, and the changes of each revision.

A file holds ``envelopes`` (the kinds of JSON-RPC messages), the messages that the ``client`` and the
``server`` may send (``requests``, each with its ``params`` and ``result``, and ``notifications``), and the
``$defs`` that these refer to. A request may have other forms of its result: ``taskResult`` and
``inputRequired``. ``never`` lists the kinds of messages that a side may not send, each with the requirement
that it breaks. A file names the file that it comes ``after`` and contains only the differences, as a JSON
merge patch (RFC 7396). Unknown members are legal everywhere.

``rule`` is the requirement that a wrong value breaks: the innermost one counts, unless a ``ruleBelow``
further out covers everything below it. ``ruleMissing`` is the requirement that an absent member breaks, if
that is a different one, and ``ruleMissingBelow`` the one for all absent members further in.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

FILES = Path(__file__).parent


def revisions() -> list[str]:
    """Return the revisions that have a schema, oldest first."""
    return sorted(file.stem for file in FILES.glob("2*.json"))


@cache
def schema(name: str) -> dict[str, Any]:
    """Return the merged schema of a revision, or the ``base``.  Raises `OSError` if there is none."""
    own: dict[str, Any] = json.loads((FILES / f"{name}.json").read_text(encoding="utf-8"))
    before = own.pop("after", None)
    merged: dict[str, Any] = own if before is None else _patched(schema(before), own)
    return merged


@cache
def client_request_params(method: str, revision: str) -> dict[str, Any]:
    """Return the schema of the params of a server's request to its client.

    ``client_features.json`` holds one for each method: the schema of the first revision that has it, and a
    JSON merge patch for each revision that changes it.
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
