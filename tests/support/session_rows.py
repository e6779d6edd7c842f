"""The rows of sessions and transcripts, judged by the JSON Schema that documents them."""

import json
from functools import cache
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator

from mcp_conformance.client.transcript import SCHEMA


def row_errors(row: Any) -> list[str]:
    """Return what is wrong with a row; only known members, as a new one belongs into the schema too."""
    kind = next((one for one in _schema()["$defs"].values() if {*one["required"]} <= row.keys()), {})
    unknown = [f"{name} is not in the schema" for name in row.keys() - kind.get("properties", {}).keys()]
    return unknown + [error.message for error in Draft202012Validator(_schema()).iter_errors(row)]


def file_errors(path: Path) -> list[str]:
    """Return what is wrong with the rows of a file."""
    return [error for text in path.read_text("ascii").splitlines() for error in row_errors(json.loads(text))]


@cache
def _schema() -> Any:
    return json.loads(SCHEMA.read_text("utf-8"))
