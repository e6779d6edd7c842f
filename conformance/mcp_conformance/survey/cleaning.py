"""Remove what names the machine or the person behind a survey from a result."""

from __future__ import annotations

import getpass
import re
import socket
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from mcp_conformance.survey.results import SurveyResult

CUT = r" \[\.\.\. \d+ more \.\.\.\]"
"""What stands for the middle of a shortened text."""
MIN_LENGTH = 4
"""Shorter names and parts of paths occur in every text, so they are left alone."""
COMMON = {"root", "user", "admin", "runner", "localhost", "home"}
PATH_START = r"(?:(?<![\w.}~-])|(?<=\\[nrt]))"
"""The end of what precedes a path: not part of a longer path, but maybe an escaped line break."""
SANDBOX = re.compile(r"\{TMP\}/mcp-conformance-\w+")
PIDS = (
    (re.compile(r"\((node|bun|deno):\d+\)"), r"(\1:PID)"),
    (re.compile(r"\b(pid)([ =:#]+)\d+\b", re.IGNORECASE), r"\1\2PID"),
)
PUBLIC = r"(?:registry\.npmjs\.org|pypi\.org|files\.pythonhosted\.org|localhost|127\.0\.0\.1)"
HOST = re.compile(rf"(https?://)(?:[^/\s@\"']+@)?(?!{PUBLIC}[:/])[^/\s\"']+")
"""The host that packages were installed from, unless it is a public one, and the credentials before it."""
Step = tuple[re.Pattern[str], str]


def cleaned(result: SurveyResult, places: Mapping[str, str]) -> SurveyResult:
    """Return a result with placeholders for these folders and those of the machine, and for its names."""
    steps = list(_steps({**places, **_folders()}, _names()))

    def clean(text: str) -> str:
        for pattern, placeholder in steps:
            text = pattern.sub(placeholder, text)
        return text

    members = result.to_members()
    target = members.pop("target")
    return SurveyResult.from_members({**_mapped(members, clean), "target": target})


def without_hosts(text: str) -> str:
    """Return what an installer printed without the hosts that only this machine knows."""
    return HOST.sub(r"\1HOST", text)


def _mapped(value: Any, clean: Callable[[str], str]) -> Any:
    """Return a JSON value with each string in it cleaned."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, list | tuple):
        return [_mapped(one, clean) for one in value]
    if isinstance(value, dict):
        return {clean(name): _mapped(one, clean) for name, one in value.items()}
    return value


def _folders() -> dict[str, str]:
    """Return the folders of this machine, by placeholder."""
    ours = Path(__file__).resolve().parents[2]
    folders = {"{REPO}": ours, "{PYTHON}": sys.prefix, "{TMP}": tempfile.gettempdir(), "~": Path.home()}
    texts = {name: str(folder) for name, folder in folders.items()}
    return {name: text for name, text in texts.items() if len(Path(text).parts) > 1}


def _names() -> set[str]:
    """Return the names of this machine and its user, except common words."""
    found = {socket.gethostname(), getpass.getuser()}
    return {name for name in found if len(name) >= MIN_LENGTH and name not in COMMON}


def _steps(places: Mapping[str, str], words: Iterable[str]) -> Iterator[Step]:
    """Yield the replacements; a shortened text may have cut a folder's beginning or end."""
    for word in words:
        yield re.compile(rf"(?<![\w-]){re.escape(word)}(?![\w-])"), "HOST"
    for name, folder in _spellings(places):
        yield re.compile(rf"{PATH_START}{re.escape(folder)}(?![\w-])"), name
        heads = [re.escape(folder[:end]) for end in range(len(folder) - 1, MIN_LENGTH, -1)]
        yield re.compile(rf"{PATH_START}(?:{'|'.join(heads) or '(?!)'})(?={CUT})"), f"{name}…"
        tails = [folder[start:] for start in range(1, len(folder) - MIN_LENGTH)]
        endings = [re.escape(tail) for tail in tails if "/" in tail]
        yield re.compile(rf"({CUT}) (?:{'|'.join(endings) or '(?!)'})(?![\w-])"), f"\\1 …{name}"
    yield SANDBOX, "{SANDBOX}"
    yield from PIDS


def _spellings(places: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return each spelling of each folder, the longest first, as one may contain another."""
    ways = {(way, name) for name, folder in places.items() for way in (folder, str(Path(folder).resolve()))}
    return [(name, way) for way, name in sorted(ways, key=lambda one: -len(one[0]))]
