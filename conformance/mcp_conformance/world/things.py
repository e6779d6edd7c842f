"""Things: what the tools of a server make, read and delete, as their names and members tell."""

from __future__ import annotations

from mcp_conformance.world.members import Member, words_of

NAMES = frozenset({"name", "title", "label", "slug"})
"""The last words of members that take the name of a thing."""
VERBS = frozenset(
    {
        *("create", "add", "new", "make", "set", "put", "insert", "write", "get", "read", "list", "show"),
        *("delete", "remove", "update", "edit", "rename", "move", "copy", "find", "search", "open", "close"),
        *("describe", "export", "import", "clear", "by", "to", "of", "the", "in", "from"),
    }
)
"""Words in names of tools that say what is done, not to which thing."""
PRODUCING = frozenset(
    {"create", "add", "new", "make", "init", "open", "start", "insert", "put", "register", "connect", "begin"}
)
"""Words in the names of tools that make something, which gets a name of our own."""


def things_of(tool: str) -> frozenset[str]:
    """Return the words of a tool's name for the thing that it is about: ``note`` for ``set_note``."""
    return frozenset(words_of(tool)) - VERBS


def is_name(member: Member) -> bool:
    """Return whether a member takes the name of a thing."""
    return bool(set(words_of(member.name)[-1:]) & NAMES)
