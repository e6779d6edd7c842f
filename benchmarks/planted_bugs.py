"""Sixty faults of handlers that valid arguments trigger, over the input schemas of 26 tools.

Each was written from what servers get wrong, before the generator was changed, and does not ask how values
are made.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Callable
from datetime import datetime
from typing import Any

TEXT = {"type": "string"}
NUMBER = {"type": "number"}
INTEGER = {"type": "integer"}
FLAG = {"type": "boolean"}
DATE = {"type": "string", "format": "date"}
MOMENT = {"type": "string", "format": "date-time"}
EMAIL = {"type": "string", "format": "email"}


def whole(least: int, most: int | None = None) -> dict[str, Any]:
    return {"type": "integer", "minimum": least} | ({} if most is None else {"maximum": most})


def one_of(*listed: str) -> dict[str, Any]:
    return {"type": "string", "enum": list(listed)}


def array(items: Any, **keywords: Any) -> dict[str, Any]:
    return {"type": "array", "items": items, **keywords}


def tool(*required: str, **properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(required)}


NODE = {
    "type": "object",
    "properties": {"name": TEXT, "children": array({"$ref": "#/$defs/node"})},
    "required": ["name"],
}
FILTER = {
    "anyOf": [
        {
            "type": "object",
            "properties": {
                "field": TEXT,
                "op": one_of("eq", "lt", "gt"),
                "value": {"type": ["string", "number"]},
            },
            "required": ["field", "op", "value"],
        },
        {
            "type": "object",
            "properties": {"all": array({"$ref": "#/$defs/filter"})},
            "required": ["all"],
        },
        {
            "type": "object",
            "properties": {"not": {"$ref": "#/$defs/filter"}},
            "required": ["not"],
        },
    ]
}
TOOLS: dict[str, Any] = {
    "search": tool(
        "query",
        query={"type": "string", "minLength": 1},
        limit={**whole(1, 100), "default": 10},
        offset=whole(0),
        sort=one_of("asc", "desc"),
        exact=FLAG,
    ),
    "create_event": tool(
        *("title", "start", "end"),
        title={"type": "string", "maxLength": 100},
        start=MOMENT,
        end=MOMENT,
        all_day=FLAG,
        attendees=array(EMAIL),
    ),
    "book_room": tool(
        *("date", "nights", "room"),
        date=DATE,
        nights=whole(1, 30),
        guests=whole(1, 8),
        room=one_of("single", "double", "suite"),
    ),
    "write_file": tool(
        *("path", "content"),
        path=TEXT,
        content=TEXT,
        encoding=one_of("utf-8", "latin-1", "ascii"),
        append=FLAG,
    ),
    "rename_file": tool("source", "target", source=TEXT, target=TEXT, overwrite=FLAG),
    "calculate": tool(
        *("operation", "a", "b"), operation=one_of("add", "sub", "mul", "div", "pow"), a=NUMBER, b=NUMBER
    ),
    "statistics": tool("values", values=array(NUMBER), method=one_of("mean", "median", "stdev")),
    "batch_update": tool("ids", "status", ids=array(INTEGER), status=one_of("open", "closed"), dry_run=FLAG),
    "tag_document": tool(
        *("id", "tags"),
        id={"type": "string", "pattern": "^doc-[0-9]{1,6}$"},
        tags=array(TEXT, uniqueItems=True, maxItems=20),
    ),
    "convert": tool(
        "value", "unit", "to", value=NUMBER, unit=one_of("C", "F", "K"), to=one_of("C", "F", "K")
    ),
    "paginate": tool(page=whole(1), page_size=whole(1, 200), cursor=TEXT),
    "render_tree": {**tool("node", node={"$ref": "#/$defs/node"}), "$defs": {"node": NODE}},
    "filter_rows": {
        **tool("table", "filter", table=TEXT, filter={"$ref": "#/$defs/filter"}),
        "$defs": {"filter": FILTER},
    },
    "set_config": tool(
        "settings",
        settings={
            "type": "object",
            "additionalProperties": {"type": ["string", "number", "boolean", "null"]},
        },
    ),
    "send_message": tool(
        *("to", "subject", "body"), to=EMAIL, subject=TEXT, body=TEXT, priority=whole(0, 5), cc=array(EMAIL)
    ),
    "resize_image": tool(
        *("width", "height"),
        width=whole(1, 8192),
        height=whole(1, 8192),
        keep_ratio=FLAG,
        kind=one_of("png", "jpeg", "webp"),
    ),
    "translate": tool("text", "target", text=TEXT, target=one_of("de", "fr", "ja"), formal=FLAG),
    "get_weather": tool(
        *("latitude", "longitude"),
        latitude={"type": "number", "minimum": -90, "maximum": 90},
        longitude={"type": "number", "minimum": -180, "maximum": 180},
        days=whole(1, 16),
    ),
    "transfer": tool(
        *("from_account", "to_account", "amount"),
        from_account=TEXT,
        to_account=TEXT,
        amount={"type": "number", "exclusiveMinimum": 0},
        memo={"type": "string", "maxLength": 140},
    ),
    "diff": tool("before", "after", before=TEXT, after=TEXT, context=whole(0, 50)),
    "query": tool(
        "sql", sql=TEXT, params=array({"type": ["string", "number", "null"]}), timeout=whole(0, 300)
    ),
    "export": tool(
        "columns",
        columns=array(TEXT, minItems=1),
        start_row=whole(0),
        end_row=whole(0),
        delimiter={"type": "string", "minLength": 1, "maxLength": 1},
    ),
    "retry_job": tool(
        *("job", "attempts"),
        job={"type": "string", "format": "uuid"},
        attempts=whole(0, 10),
        delay={"type": "number", "minimum": 0},
        backoff={"type": "number", "minimum": 1},
    ),
    "fill_template": tool(
        "template", template=TEXT, variables={"type": "object", "additionalProperties": TEXT}
    ),
    "matrix": tool("rows", rows=array(array(NUMBER)), transpose=FLAG),
    "read_log": tool(since=MOMENT, until=MOMENT, level=one_of("debug", "info", "error"), max=whole(0, 1000)),
}


def moment(text: str) -> float:
    """Return a time in seconds since 1970; may be NaN for a time that Python can't hold."""
    try:
        return datetime.fromisoformat(text).timestamp()
    except (ValueError, OverflowError):
        return math.nan


def depth(node: Any, name: str) -> int:
    """Return how often ``name`` is nested in lists and objects."""
    inside = node if isinstance(node, list) else list(node.values()) if isinstance(node, dict) else []
    return (isinstance(node, dict) and name in node) + max((depth(one, name) for one in inside), default=0)


def nodes(node: dict[str, Any]) -> list[dict[str, Any]]:
    return [node, *(one for child in node.get("children", []) for one in nodes(child))]


def has_duplicates(some: list[Any]) -> bool:
    return len({*map(str, some)}) < len(some)


def day(a: dict[str, Any]) -> int:
    return int(a["date"][8:])


def has_control(text: str) -> bool:
    return any(ord(one) < 32 and one not in "\r\n\t" for one in text)


def can_encode(text: str, encoding: str) -> bool:
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        return False
    return True


def overflows(a: dict[str, Any]) -> bool:
    try:
        found = {"mul": a["a"] * a["b"], "pow": abs(float(a["a"])) ** a["b"]}.get(a["operation"], 0)
    except OverflowError:
        return True
    except ZeroDivisionError:
        return False
    return math.isinf(found)


Bug = tuple[str, Callable[[dict[str, Any]], bool]]
"""The name of a fault, and whether arguments trigger it."""

BUGS: dict[str, list[Bug]] = {
    "search": [
        ("the last page has one row too few", lambda a: a.get("limit") == 100),
        ("a query of white space", lambda a: not a["query"].strip()),
        ("one row in descending order", lambda a: a.get("limit") == 1 and a.get("sort") == "desc"),
        ("a quote in an exact search", lambda a: bool(a.get("exact")) and '"' in a["query"]),
    ],
    "create_event": [
        ("an event that ends before it starts", lambda a: moment(a["end"]) < moment(a["start"])),
        ("an event without duration", lambda a: a["end"] == a["start"]),
        ("fractions of seconds", lambda a: "." in a["start"]),
        ("an offset from UTC", lambda a: a["start"][-6] in "+-"),
        ("a title that fills its column", lambda a: len(a["title"]) == 100),
        ("the same guest twice", lambda a: has_duplicates(a.get("attendees", []))),
    ],
    "book_room": [
        ("29 February", lambda a: a["date"][5:] == "02-29"),
        ("the last day of a long month", lambda a: day(a) == 31),
        ("30 nights in a suite", lambda a: a["nights"] == 30 and a["room"] == "suite"),
        ("a year before 1970", lambda a: int(a["date"][:4]) < 1970),
        ("a year after 2099", lambda a: int(a["date"][:4]) > 2099),
    ],
    "write_file": [
        ("carriage returns are doubled", lambda a: "\r" in a["content"]),
        (
            "text that the encoding lacks",
            lambda a: not can_encode(a["content"], a.get("encoding", "utf-8")),
        ),
        ("a path out of the root", lambda a: "../" in a["path"]),
        ("a path with control characters", lambda a: has_control(a["path"])),
        ("a path over 255 characters", lambda a: len(a["path"]) > 255),
        ("nothing is appended", lambda a: bool(a.get("append")) and not a["content"]),
    ],
    "rename_file": [
        ("a file renamed to itself", lambda a: a["source"] == a["target"]),
        ("an empty target", lambda a: not a["target"] and bool(a["source"])),
    ],
    "calculate": [
        ("a division by zero", lambda a: a["operation"] == "div" and a["b"] == 0),
        ("a result that overflows", overflows),
        ("minus zero", lambda a: a["a"] == 0 and math.copysign(1, a["a"]) < 0),
        ("a whole number with a point", lambda a: isinstance(a["b"], float) and a["b"].is_integer()),
    ],
    "statistics": [
        ("no values", lambda a: not a["values"]),
        ("deviation of one value", lambda a: len(a["values"]) == 1 and a.get("method") == "stdev"),
        ("equal values", lambda a: len(a["values"]) > 1 and len(set(a["values"])) == 1),
        ("more than 100 values", lambda a: len(a["values"]) > 100),
        ("a value beyond 2**53", lambda a: any(abs(one) > 2**53 for one in a["values"])),
    ],
    "batch_update": [
        ("the same id twice", lambda a: has_duplicates(a["ids"])),
        ("the id 0 in a dry run", lambda a: bool(a.get("dry_run")) and 0 in a["ids"]),
        ("an id over 32 bits", lambda a: any(one >= 2**31 for one in a["ids"])),
    ],
    "tag_document": [
        ("as many tags as allowed", lambda a: len(a["tags"]) == 20),
    ],
    "convert": [
        ("below absolute zero", lambda a: a["unit"] == "K" and a["value"] < 0),
    ],
    "paginate": [
        ("an offset over 32 bits", lambda a: (a.get("page", 1) - 1) * a.get("page_size", 20) >= 2**31),
        ("an empty cursor", lambda a: a.get("cursor") == ""),
    ],
    "render_tree": [
        ("a tree deeper than 8", lambda a: depth(a["node"], "name") > 8),
        (
            "nodes of the same name",
            lambda a: has_duplicates([one["name"] for one in nodes(a["node"])]),
        ),
    ],
    "filter_rows": [
        ("conditions nested in conditions", lambda a: depth(a["filter"], "all") > 4),
        ("no conditions", lambda a: a["filter"].get("all") == []),
    ],
    "set_config": [
        ("an empty name", lambda a: "" in a["settings"]),
    ],
    "send_message": [
        ("a new line in the subject", lambda a: "\n" in a["subject"]),
        ("a copy to the receiver", lambda a: a["to"] in a.get("cc", [])),
    ],
    "resize_image": [
        ("an extreme ratio", lambda a: a["width"] == 8192 and a["height"] == 1),
        ("an odd width of a preview", lambda a: a["width"] == 1 and bool(a.get("keep_ratio"))),
    ],
    "translate": [
        ("text that is not normalised", lambda a: unicodedata.normalize("NFC", a["text"]) != a["text"]),
        ("characters of two code units", lambda a: max(a["text"], default="") > "\uffff"),
    ],
    "get_weather": [
        ("a pole", lambda a: abs(a["latitude"]) == 90),
        ("the date line on the equator", lambda a: abs(a["longitude"]) == 180 and a["latitude"] == 0),
    ],
    "transfer": [("less than a cent", lambda a: 0 < a["amount"] < 0.005)],
    "diff": [("no difference and no context", lambda a: a["before"] == a["after"] and a.get("context") == 0)],
    "query": [("a format string", lambda a: "%s" in a["sql"])],
    "export": [("an empty range", lambda a: "end_row" in a and a.get("start_row", 0) > a["end_row"])],
    "retry_job": [("no attempts, but a delay", lambda a: a["attempts"] == 0 and a.get("delay", 0) > 0)],
    "fill_template": [("an unclosed brace", lambda a: a["template"].count("{") != a["template"].count("}"))],
    "matrix": [("rows of different lengths", lambda a: len({*map(len, a["rows"])}) > 1)],
    "read_log": [
        ("a time before 1970 at no limit", lambda a: a.get("since", "2") < "1970" and a.get("max") == 0)
    ],
}
