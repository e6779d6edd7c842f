"""What names the machine or the person behind a run, taken out of a report before it is published."""

import getpass
import json
import re
import socket
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

from conformance.report.formats import json as json_format

ROOT = Path(__file__).resolve().parents[1]
CUT = r" \[\.\.\. \d+ more \.\.\.\]"
SHORTEST = 4
"""How long a word or a part of a path must be to be looked for: shorter ones are in every text."""
COMMON = {"root", "user", "admin", "runner", "localhost", "home"}
BEFORE = r"(?:(?<![\w.}~-])|(?<=\\[nrt]))"
"""What stands before a path: no part of a longer one, but maybe an escaped end of a line."""
SANDBOX = re.compile(r"\{TMP\}/mcp-conformance-\w+")
REPLAY = re.compile(r"; to see it again: mcp-conformance replay (?:\S+ or )*\S+")
PIDS = (
    (re.compile(r"\((node|bun|deno):\d+\)"), r"(\1:PID)"),
    (re.compile(r"\b(pid)([ =:#]+)\d+\b", re.IGNORECASE), r"\1\2PID"),
)


def cleaned(report, places, hosts=()):
    """The report with placeholders for paths, and without the files of transcripts, which are not published.

    ``places`` are folders by placeholder, ``hosts`` names of hosts that nobody needs to know.
    """
    bare = replace(report, results=tuple(replace(one, transcripts=(), text="") for one in report.results))
    clean = cleaner({**places, **machine()}, {*hosts, *names()})
    data = json.loads(json_format.render(bare))
    return json_format.read(json.dumps(mapped(data, clean)))


def mapped(value, clean):
    """A JSON value, each text in it cleaned."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, list):
        return [mapped(one, clean) for one in value]
    if isinstance(value, dict):
        return {clean(name): mapped(one, clean) for name, one in value.items()}
    return value


def machine():
    """Folders of this machine, by placeholder."""
    folders = {"{REPO}": ROOT, "{PYTHON}": sys.prefix, "{TMP}": tempfile.gettempdir(), "~": Path.home()}
    return {name: folder for name, folder in folders.items() if len(Path(folder).parts) > 1}


def names():
    """What this machine and its user are called, where that is no common word."""
    found = {socket.gethostname(), getpass.getuser()}
    return {name for name in found if len(name) >= SHORTEST and name not in COMMON}


def cleaner(places, words):
    """A function that takes these folders, these words and the numbers of processes out of a text."""
    steps = [(re.compile(rf"(?<![\w-]){re.escape(word)}(?![\w-])"), "HOST") for word in words]
    for name, folder in spelt(places):
        steps.append((whole(folder), name))
        steps.append((begun(folder), f"{name}…"))
        steps.append((ended(folder), f"\\1 …{name}"))
    steps += [(SANDBOX, "{SANDBOX}"), (REPLAY, ""), *PIDS]

    def clean(text):
        for pattern, placeholder in steps:
            text = pattern.sub(placeholder, text)
        return text

    return clean


def spelt(places):
    """Each folder in each way of writing it, the longest first, as one may lie in another."""
    ways = {
        (way, name) for name, folder in places.items() for way in (str(folder), str(Path(folder).resolve()))
    }
    return [(name, way) for way, name in sorted(ways, key=lambda one: -len(one[0]))]


def whole(folder):
    """The folder, where it is not a part of a longer name."""
    return re.compile(rf"{BEFORE}{re.escape(folder)}(?![\w-])")


def begun(folder):
    """The beginning of the folder, where the middle of a long text has been cut out."""
    parts = [re.escape(folder[:end]) for end in range(len(folder) - 1, SHORTEST, -1)]
    return re.compile(rf"{BEFORE}(?:{'|'.join(parts) or '(?!)'})(?={CUT})")


def ended(folder):
    """The end of the folder, where the middle of a long text has been cut out."""
    parts = [folder[start:] for start in range(1, len(folder) - SHORTEST)]
    told = [re.escape(part) for part in parts if "/" in part]
    return re.compile(rf"({CUT}) (?:{'|'.join(told) or '(?!)'})(?![\w-])")
