"""The JSON Schemas of the configuration file and of its table in pyproject.toml, for editors."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from mcp_conformance.options.configuration import (
    BY_KEY,
    CHECKS,
    COMMAND,
    LEVELS,
    PROFILE,
    PROFILES,
    PROJECT,
    RULES,
    SERVERS,
    URL,
)
from mcp_conformance.options.option import Form, Kind, Option
from mcp_conformance.options.readers import TOOL_LIMITS, OneOf
from mcp_conformance.options.table import OPTIONS
from mcp_conformance.project.files import CONFIGURATION_FILE, CONFIGURATION_TABLE, PROJECT_FILE

FOLDER = Path(__file__).parent
TEXT: dict[str, Any] = {"type": ["string", "number"]}
ARGUMENTS = {"anyOf": [{"type": "object"}, {"type": "array", "items": {"type": "object"}}]}
FORMS: dict[Form, list[dict[str, Any]]] = {
    Form.TEXT: [],
    Form.VERSION: [],
    Form.PAIRS: [{"type": "object", "additionalProperties": TEXT}],
    Form.CALLS: [{"type": "object", "additionalProperties": ARGUMENTS}],
}
"""What each form allows beside texts."""
IN_PROJECT = f"#/properties/tool/properties/{CONFIGURATION_TABLE}"
WORDS = {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}, "minItems": 1}]}


RULE = {
    "type": "object",
    "properties": {"says": {"type": "string"}, "level": {"enum": [*LEVELS]}, "fix": {"type": "string"}},
    "required": ["says"],
    "additionalProperties": False,
}


def schema_files() -> dict[Path, str]:
    """Return the text of each schema by its file: of the configuration file, and of `pyproject.toml`."""
    of_project = {
        **_head("pyproject"),
        "type": "object",
        "properties": {"tool": {"type": "object", "properties": {CONFIGURATION_TABLE: _table(IN_PROJECT)}}},
    }
    files = {CONFIGURATION_FILE: schema(), PROJECT_FILE: of_project}
    return {
        FOLDER / f"{name.removesuffix('.toml')}.schema.json": f"{json.dumps(one, indent=2)}\n"
        for name, one in files.items()
    }


def schema() -> dict[str, Any]:
    """Return the JSON Schema of the configuration file."""
    return {**_head("configuration"), **_table("#")}


def _head(name: str) -> dict[str, Any]:
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "$id": f"urn:pytest-mcp-conformance:{name}",
        "title": "The configuration of mcp-conformance",
    }


def _table(place: str) -> dict[str, Any]:
    """Return the schema of the table of options, which stands at a place of the whole schema.

    Each server of several has the same table, without servers of its own, and so has each profile.
    """
    tables = {
        SERVERS: ("the options of each server by its name", (SERVERS, PROFILES, PROJECT)),
        PROFILES: (
            "options that replace the others, by the name with which --profile asks for them",
            (SERVERS, PROFILES, PROJECT, COMMAND, URL, PROFILE),
        ),
    }
    properties = {
        COMMAND: {**WORDS, "description": "the command that starts the server"},
        **{option.file_key: _option(option) for option in OPTIONS},
        **{
            name: {
                "description": about,
                "type": "object",
                "additionalProperties": {
                    "allOf": [{"$ref": place}, {"properties": dict.fromkeys(without, False)}]
                },
            }
            for name, (about, without) in tables.items()
        },
    }
    properties[PROJECT] = {
        "description": "the project's own rules, and the files with their checks",
        "type": "object",
        "properties": {
            CHECKS: WORDS,
            RULES: {"type": "object", "additionalProperties": RULE},
        },
        "additionalProperties": False,
    }
    return {"type": "object", "properties": properties, "additionalProperties": False}


def _option(option: Option) -> dict[str, Any]:
    about = {"description": option.full_help}
    if option.kind is Kind.SWITCH:
        return {"type": "boolean", **about}
    text = {"type": "string"} if option.form is Form.VERSION else TEXT
    if isinstance(option.reader, OneOf):
        text = {"enum": [*option.reader.values]}
    texts = [text, {"type": "array", "items": text}] if option.kind is Kind.LIST else [text]
    forms = [*texts, *(_limits() if option.form is Form.LIMITS else FORMS[option.form])]
    return {**(forms[0] if len(forms) == 1 else {"anyOf": forms}), **about}


def _limits() -> list[dict[str, Any]]:
    """Return the schema of the table with a table of limits for each tool."""
    limits = {name: _option(BY_KEY[name]) for name in TOOL_LIMITS}
    each = {"type": "object", "properties": limits, "additionalProperties": False, "minProperties": 1}
    return [{"type": "object", "additionalProperties": each}]
