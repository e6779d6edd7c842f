"""Calls that give a tool something that was there before, though it does not say that it only reads."""

import json
import re
from dataclasses import dataclass

UNREADABLE = "a call without a name that can be read"
NAME = re.compile(rb'"name": ?"([^"]*)"')


@dataclass(frozen=True)
class Breach:
    """A call of a tool that may write, with texts that were there before."""

    tool: str
    texts: tuple[str, ...]
    line: bytes


def breaches(lines, writing, existing):
    """Return the calls that break the rule that what was there before is read, and never changed.

    ``writing`` are the names of the tools without ``readOnlyHint: true``, ``existing`` the texts that were
    there before: unique ones, so that they are seen as parts of others, such as paths.
    """
    found = []
    for line in lines:
        for tool, arguments in calls_in(line):
            texts = tuple(text for text in existing if text in arguments)
            if texts and tool in (*writing, UNREADABLE):
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
        yield (name[1].decode("latin-1") if name else UNREADABLE), line.decode("utf-8", "replace")
        return
    for one in message if isinstance(message, list) else [message]:
        params = one.get("params") if isinstance(one, dict) else None
        if isinstance(params, dict) and one.get("method") == "tools/call":
            yield str(params.get("name")), json.dumps(params.get("arguments"), ensure_ascii=False)


def writing_tools(definitions):
    """Return the names of the listed tools that do not say that they only read."""
    hints = ((tool["name"], tool.get("annotations") or {}) for tool in definitions)
    return {name for name, hint in hints if hint.get("readOnlyHint") is not True}
