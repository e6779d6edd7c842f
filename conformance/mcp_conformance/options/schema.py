"""The JSON Schema of the configuration file, by which editors complete and check it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from mcp_conformance.options.configuration import COMMAND, SERVERS
from mcp_conformance.options.option import Form, Kind, Option
from mcp_conformance.options.readers import OneOf
from mcp_conformance.options.table import OPTIONS

FILE = Path(__file__).parent / "mcp-conformance.schema.json"
TEXT: dict[str, Any] = {"type": ["string", "number"]}
ARGUMENTS = {"anyOf": [{"type": "object"}, {"type": "array", "items": {"type": "object"}}]}
FORMS: dict[Form, list[dict[str, Any]]] = {
    Form.TEXT: [],
    Form.VERSION: [],
    Form.PAIRS: [{"type": "object", "additionalProperties": TEXT}],
    Form.CALLS: [{"type": "object", "additionalProperties": ARGUMENTS}],
}
"""What each form allows beside texts."""
WORDS = {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}, "minItems": 1}]}


def text() -> str:
    """Return the schema as the text of its file."""
    return f"{json.dumps(schema(), indent=2)}\n"


def schema() -> dict[str, Any]:
    """Return the JSON Schema of the file, or of the table in ``pyproject.toml``."""
    command = {COMMAND: {**WORDS, "description": "the command that starts the server"}}
    options = {**command, **{option.file_key: _option(option) for option in OPTIONS}}
    server = {"type": "object", "properties": options, "additionalProperties": False}
    named = {"type": "object", "additionalProperties": {"$ref": "#/definitions/server"}}
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "$id": "urn:pytest-mcp-conformance:configuration",
        "title": "mcp-conformance",
        **server,
        "properties": {
            **options,
            SERVERS: {**named, "description": "the options of each server by its name"},
        },
        "definitions": {"server": server},
    }


def _option(option: Option) -> dict[str, Any]:
    about = {"description": option.full_help}
    if option.kind is Kind.SWITCH:
        return {"type": "boolean", **about}
    text = {"type": "string"} if option.form is Form.VERSION else TEXT
    if isinstance(option.reader, OneOf):
        text = {"enum": [*option.reader.values]}
    texts = [text, {"type": "array", "items": text}] if option.kind is Kind.LIST else [text]
    forms = [*texts, *FORMS[option.form]]
    return {**(forms[0] if len(forms) == 1 else {"anyOf": forms}), **about}
