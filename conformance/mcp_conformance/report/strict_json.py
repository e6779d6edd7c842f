"""JSON that strict parsers read, whatever a server wrote."""

from __future__ import annotations

import json
import re
from typing import Any

SURROGATE = re.compile("[\ud800-\udfff]")
ESCAPED = re.compile(r"\\ud[89a-f]")


def strict_json(value: Any, **how: Any) -> str:
    """Return a value as `json.dumps` does, a surrogate without its other half as the text of its escape."""
    text = json.dumps(value, **how)
    return json.dumps(without_halves(value), **how) if ESCAPED.search(text) else text


def without_halves(value: Any) -> Any:
    """Return a value of JSON with the escape of each half of a surrogate pair in its place."""
    if isinstance(value, str):
        return SURROGATE.sub(lambda found: f"\\u{ord(found[0]):04x}", value)
    if isinstance(value, dict):
        return {without_halves(name): without_halves(member) for name, member in value.items()}
    return [without_halves(item) for item in value] if isinstance(value, list | tuple) else value
