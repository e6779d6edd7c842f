"""Forty faults of handlers at limits: members at an edge together, long texts, large integers.

Each was written before the generator was changed for them, as those of `planted_bugs`.
"""

from __future__ import annotations

from typing import Any

from planted_bugs import FLAG, INTEGER, MOMENT, NUMBER, TEXT, Bug, array, one_of, tool, whole

LARGE = 10**30
TOOLS: dict[str, Any] = {
    "ship": tool(
        *("order", "weight", "method"),
        order=whole(1),
        weight={"type": "number", "minimum": 0},
        method=one_of("air", "sea", "road"),
        zone=one_of("eu", "us", "asia"),
        packaging=one_of("box", "tube", "pallet"),
        express=FLAG,
        insured=FLAG,
    ),
    "list_users": tool(
        "filter",
        filter=TEXT,
        limit=whole(0, 1000),
        offset=whole(0),
        order=one_of("asc", "desc"),
        deleted=FLAG,
    ),
    "summarize": tool(
        "text", text=TEXT, language=one_of("en", "de", "fr"), style=one_of("short", "long"), bullets=FLAG
    ),
    "get_by_id": tool("id", id=INTEGER),
    "send_wei": tool("to", "amount", to=TEXT, amount=whole(0), memo=TEXT),
    "book_entry": tool("cents", cents=whole(-LARGE, LARGE), account=TEXT),
    "convert_unit": tool(
        *("value", "source", "target"),
        value=NUMBER,
        source=one_of("m", "ft", "in", "yd"),
        target=one_of("m", "ft", "in", "yd"),
        precision=whole(0, 10),
    ),
    "plan": tool(
        *("mode", "level", "region"),
        mode=one_of("a", "b", "c"),
        level=one_of("low", "mid", "high"),
        region=one_of("n", "s", "e", "w"),
        dry=FLAG,
        retries=whole(0, 5),
    ),
    "append_lines": tool("path", "lines", path=TEXT, lines=array(TEXT), newline=one_of("lf", "crlf")),
    "encode": tool("data", "codec", data=TEXT, codec=one_of("base64", "hex", "url"), chunk=whole(0, 64)),
    "repeat": tool("start", start=MOMENT, times=whole(0, 100), weekday=one_of("sat", "sun", "mon")),
    "merge": tool(
        *("left", "right"),
        left={"type": "object", "additionalProperties": TEXT},
        right={"type": "object", "additionalProperties": TEXT},
        strategy=one_of("ours", "theirs", "union"),
        deep=FLAG,
    ),
    "sort_rows": tool("rows", rows=array(INTEGER), descending=FLAG, stable=FLAG, limit=whole(0)),
    "grep": tool(
        "pattern",
        pattern=TEXT,
        flags=array(one_of("i", "m", "s"), uniqueItems=True),
        before=whole(0, 20),
        invert=FLAG,
    ),
}

BUGS: dict[str, list[Bug]] = {
    "ship": [
        ("express, but no weight", lambda a: bool(a.get("express")) and a["weight"] == 0),
        (
            "a pallet by sea to Asia",
            lambda a: (a["method"], a.get("zone"), a.get("packaging")) == ("sea", "asia", "pallet"),
        ),
        (
            "an insured tube by air",
            lambda a: bool(a.get("insured")) and a["method"] == "air" and a.get("packaging") == "tube",
        ),
        (
            "express and insured on the road",
            lambda a: bool(a.get("express") and a.get("insured")) and a["method"] == "road",
        ),
    ],
    "list_users": [
        ("none of the deleted", lambda a: a.get("limit") == 0 and bool(a.get("deleted"))),
        ("the last page from the end", lambda a: a.get("limit") == 1000 and a.get("order") == "desc"),
        ("an offset beyond 2**63", lambda a: a.get("offset", 0) >= 2**63),
        (
            "deleted from the end at 0",
            lambda a: bool(a.get("deleted")) and a.get("order") == "desc" and a.get("offset") == 0,
        ),
    ],
    "summarize": [
        ("a text over 10,000", lambda a: len(a["text"]) > 10_000),
        ("a text over 65,535", lambda a: len(a["text"]) > 65_535),
        ("bullets of nothing", lambda a: bool(a.get("bullets")) and not a["text"]),
        (
            "bullets in long French",
            lambda a: bool(a.get("bullets")) and (a.get("language"), a.get("style")) == ("fr", "long"),
        ),
    ],
    "get_by_id": [
        ("an id beyond 2**53", lambda a: a["id"] > 2**53),
        ("an id beyond 2**63", lambda a: a["id"] >= 2**63),
        ("an id below -2**63", lambda a: a["id"] < -(2**63)),
    ],
    "send_wei": [
        ("an amount beyond 2**63", lambda a: a["amount"] >= 2**63),
        ("an amount beyond 2**64", lambda a: a["amount"] >= 2**64),
        ("a memo over 10,000", lambda a: len(a.get("memo", "")) > 10_000),
        ("nothing to nobody", lambda a: a["amount"] == 0 and not a["to"]),
    ],
    "book_entry": [
        ("as much as allowed", lambda a: a["cents"] == LARGE),
        ("beyond 2**63, but less than allowed", lambda a: 2**63 <= a["cents"] < LARGE - 1),
    ],
    "convert_unit": [
        ("a unit to itself", lambda a: a["source"] == a["target"]),
        (
            "yards to inches, rounded",
            lambda a: (a["source"], a["target"], a.get("precision")) == ("yd", "in", 0),
        ),
        ("ten digits of nothing", lambda a: a.get("precision") == 10 and a["value"] == 0),
    ],
    "plan": [
        ("high c in the west", lambda a: (a["mode"], a["level"], a["region"]) == ("c", "high", "w")),
        ("low b in the south", lambda a: (a["mode"], a["level"], a["region"]) == ("b", "low", "s")),
        ("a dry run without retries", lambda a: bool(a.get("dry")) and a.get("retries") == 0),
        (
            "a dry b with all retries",
            lambda a: bool(a.get("dry")) and a.get("retries") == 5 and a["mode"] == "b",
        ),
    ],
    "append_lines": [
        ("no lines, with returns", lambda a: not a["lines"] and a.get("newline") == "crlf"),
        ("a line over 10,000", lambda a: any(len(one) > 10_000 for one in a["lines"])),
    ],
    "encode": [
        ("chunks of nothing", lambda a: a.get("chunk") == 0 and bool(a["data"])),
        ("hexadecimal over 10,000", lambda a: a["codec"] == "hex" and len(a["data"]) > 10_000),
        ("a URL beyond ASCII", lambda a: a["codec"] == "url" and not a["data"].isascii()),
    ],
    "repeat": [("never on a Sunday", lambda a: a.get("times") == 0 and a.get("weekday") == "sun")],
    "merge": [
        ("a name on both sides", lambda a: bool(set(a["left"]) & set(a["right"]))),
        (
            "a deep union with nothing",
            lambda a: bool(a.get("deep")) and a.get("strategy") == "union" and not a["left"],
        ),
    ],
    "sort_rows": [
        ("nothing downwards", lambda a: not a["rows"] and bool(a.get("descending"))),
        ("a row beyond 2**63", lambda a: any(abs(one) > 2**63 for one in a["rows"])),
    ],
    "grep": [
        ("all flags", lambda a: len(a.get("flags", ())) == 3),
        ("all but nothing before", lambda a: bool(a.get("invert")) and a.get("before") == 0),
    ],
}
