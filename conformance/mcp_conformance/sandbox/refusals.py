"""What a sandbox refused a server, as the server itself reports it."""

from __future__ import annotations

import re
from dataclasses import dataclass

FILE = re.compile(
    r"\bE(?:ACCES|PERM|ROFS)\b|PermissionError|unable to open database file|readonly database"
    r"|(?i:permission denied|read-only file system)"
    r"|(?i:operation not permitted)"
)
WRITING = re.compile(r"\bEROFS\b|(?i:\bread-?only\b|\b(?:mkdir|unlink|rename|rmdir)\b)")
"""Matches a refusal that is one to write."""
NETWORK = re.compile(
    r"\bE(?:CONNREFUSED|NETUNREACH|AI_AGAIN|NOTFOUND)\b|(?i:connection refused|network is unreachable)"
    r"|(?i:name or service not known|temporary failure in name resolution|no such host)"
)
RESOURCE = re.compile(
    r"\bE(?:AGAIN|NOMEM|MFILE|FBIG)\b|MemoryError|(?i:cannot allocate memory|too many open files)"
    r"|(?i:file too large|resource temporarily unavailable|out of memory)"
)
PATH = re.compile(r"""['"`]?((?:/[^\s'"`:,;()]+)+)['"`]?""")
HIDDEN = re.compile(r"\bENOENT\b|FileNotFoundError|(?i:no such file or directory|cannot find module)")
"""What a server meets where the sandbox does not show a file."""


@dataclass(frozen=True)
class Refusal:
    """A ``line`` of what the server writes about something that the sandbox refuses, and how to allow it.

    ``option`` is empty for a limit that no option lifts.
    """

    line: str
    option: str = ""


def refusal_in(text: str, *, network: bool, hides: bool) -> Refusal | None:
    """Return the last refusal in a text; None without one.

    ``network`` says that the server may use the network, ``hides`` that files it may not read do not exist
    for it.
    """
    for line in reversed(text.splitlines()):
        if FILE.search(line) or (hides and HIDDEN.search(line)):
            option = "--allow-write" if WRITING.search(line) else "--allow-read"
            return Refusal(line.strip(), f"{option} {(PATH.findall(line) or ['PATH'])[-1]}")
        if not network and NETWORK.search(line):
            return Refusal(line.strip(), "--allow-net")
        if RESOURCE.search(line):
            return Refusal(line.strip())
    return None
