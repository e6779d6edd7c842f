"""Calls that give a tool something that was there before, though it does not say that it only reads."""

import json
import re
from dataclasses import dataclass

NAME = re.compile(rb'"name": ?"([^"]*)"')


@dataclass(frozen=True)
class Breach:
    """A call of a tool that may write, with texts that were there before."""

    tool: str
    texts: tuple[str, ...]
    line: bytes


def breaches(lines, reading, existing):
    """Return the calls that break the rule that what was there before is read, and never changed.

    ``reading`` are the names of the tools with ``readOnlyHint: true``, ``existing`` the texts that were there
    before: unique ones, so that they are seen as parts of others, such as paths.
    """
    found = []
    for line in lines:
        for tool, arguments in calls_in(line):
            texts = tuple(text for text in existing if text in arguments)
            if texts and tool not in reading:
                found.append(Breach(tool, texts, line[:500]))
    return found


def calls_in(line):
    """Yield the calls of a line: the names of the tools, and their arguments as text."""
    if b"tools/call" not in line:
        return
    try:
        message = json.loads(line)
        json.dumps(message)
    except (ValueError, RecursionError):  # a hostile value, which the server may read nevertheless
        name = NAME.search(line)
        yield (name[1].decode("latin-1") if name else ""), line.decode("utf-8", "replace")
        return
    for one in message if isinstance(message, list) else [message]:
        params = one.get("params") if isinstance(one, dict) else None
        if isinstance(params, dict) and one.get("method") == "tools/call":
            yield str(params.get("name")), json.dumps(params.get("arguments"), ensure_ascii=False)


def reading_tools(surfaces):
    """Return the names of the tools that every surface lists with ``readOnlyHint: true``."""
    hints = {}
    for surface in surfaces:
        for tool in surface.tools:
            annotations = tool.definition.json.get("annotations") or {}
            hints[tool.name] = annotations.get("readOnlyHint") is True and hints.get(tool.name, True)
    return {name for name, only_reads in hints.items() if only_reads}
