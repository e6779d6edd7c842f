"""Remove what names the machine or the person behind a run from a report."""

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
MIN_LENGTH = 4
"""Shorter names and parts of paths occur in every text, so they are left alone."""
COMMON = {"root", "user", "admin", "runner", "localhost", "home"}
PATH_START = r"(?:(?<![\w.}~-])|(?<=\\[nrt]))"
"""The end of what precedes a path: not part of a longer path, but maybe an escaped line break."""
SANDBOX = re.compile(r"\{TMP\}/mcp-conformance-\w+")
REPLAY = re.compile(r"; reproduce with: mcp-conformance replay (?:\S+ or )*\S+")
PIDS = (
    (re.compile(r"\((node|bun|deno):\d+\)"), r"(\1:PID)"),
    (re.compile(r"\b(pid)([ =:#]+)\d+\b", re.IGNORECASE), r"\1\2PID"),
)


def cleaned(report, places, hosts=()):
    """Return the report with placeholders for paths, and without transcripts, which are not published.

    ``places`` are folders by placeholder, ``hosts`` are names of hosts to remove.
    """
    bare = replace(report, results=tuple(replace(one, transcripts=(), text="") for one in report.results))
    clean = cleaner({**places, **machine()}, {*hosts, *names()})
    data = json.loads(json_format.render(bare))
    return json_format.read(json.dumps(mapped(data, clean)))


def mapped(value, clean):
    """Return a JSON value with each string in it cleaned."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, list):
        return [mapped(one, clean) for one in value]
    if isinstance(value, dict):
        return {clean(name): mapped(one, clean) for name, one in value.items()}
    return value


def machine():
    """Return the folders of this machine, by placeholder."""
    folders = {"{REPO}": ROOT, "{PYTHON}": sys.prefix, "{TMP}": tempfile.gettempdir(), "~": Path.home()}
    return {name: folder for name, folder in folders.items() if len(Path(folder).parts) > 1}


def names():
    """Return the names of this machine and its user, except common words."""
    found = {socket.gethostname(), getpass.getuser()}
    return {name for name in found if len(name) >= MIN_LENGTH and name not in COMMON}


def cleaner(places, words):
    """Return a function that replaces these folders, these words and process ids in a text."""
    steps = [(re.compile(rf"(?<![\w-]){re.escape(word)}(?![\w-])"), "HOST") for word in words]
    for name, folder in spellings(places):
        steps.append((anywhere(folder), name))
        steps.append((cut_end(folder), f"{name}…"))
        steps.append((cut_start(folder), f"\\1 …{name}"))
    steps += [(SANDBOX, "{SANDBOX}"), (REPLAY, ""), *PIDS]

    def clean(text):
        for pattern, placeholder in steps:
            text = pattern.sub(placeholder, text)
        return text

    return clean


def spellings(places):
    """Return each spelling of each folder, the longest first, as one may contain another."""
    ways = {
        (way, name) for name, folder in places.items() for way in (str(folder), str(Path(folder).resolve()))
    }
    return [(name, way) for way, name in sorted(ways, key=lambda one: -len(one[0]))]


def anywhere(folder):
    """Match the folder where it is not part of a longer name."""
    return re.compile(rf"{PATH_START}{re.escape(folder)}(?![\w-])")


def cut_end(folder):
    """Match the beginning of the folder before a cut in a shortened text."""
    parts = [re.escape(folder[:end]) for end in range(len(folder) - 1, MIN_LENGTH, -1)]
    return re.compile(rf"{PATH_START}(?:{'|'.join(parts) or '(?!)'})(?={CUT})")


def cut_start(folder):
    """Match the end of the folder after a cut in a shortened text."""
    parts = [folder[start:] for start in range(1, len(folder) - MIN_LENGTH)]
    endings = [re.escape(part) for part in parts if "/" in part]
    return re.compile(rf"({CUT}) (?:{'|'.join(endings) or '(?!)'})(?![\w-])")
