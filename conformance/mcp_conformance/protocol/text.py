"""Text for people: cut if long, control characters escaped."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from collections.abc import Iterable, Sequence
from difflib import get_close_matches

OBEYED = re.compile(r"(?<!\S)::(?=[A-Za-z])|##\[(?=[A-Za-z])")
"""A workflow command of GitHub: ``::name`` at the beginning of a line, which any word may become, or
``##[name`` anywhere."""
MAX_LAST_LINE = 200
MAX_NAMES = 12
TIMES = re.compile(r"\d[\d:.,+TZ -]{3,}\d")
"""Dates, times and measured figures, which change by themselves."""


def shell_line(words: Iterable[str]) -> str:
    """Return a command as a user enters it in the shell of this system."""
    return subprocess.list2cmdline(words) if sys.platform == "win32" else shlex.join(words)


def without_times(text: str) -> str:
    """Return a text without dates, times and measured figures."""
    return TIMES.sub("", text)


def last_line(text: str) -> str:
    """Return the last line of a text, after a colon and a space; empty if there is none.

    Programs on Cobra, a Go library, write how they are used below their error: that is left out.
    """
    said = text.strip().partition("\nUsage:\n")[0].rstrip()
    last = " ".join(said.rpartition("\n")[2].split())
    return shorten(f": {last}" if last else "", MAX_LAST_LINE)


def shorten(text: str, limit: int = 600) -> str:
    """Cut the middle out of a long text; escape what a terminal or GitHub's runner would obey.

    The result has at most ``limit`` characters, escapes and the number of omitted characters aside.
    """
    if len(text) > limit:
        half = limit // 2
        text = f"{text[:half]} [... {len(text) - 2 * half} more ...] {text[-half:]}"
    return harmless(text)


def harmless(text: str) -> str:
    """Escape what a terminal or GitHub's runner would obey."""
    shown = text
    if not text.isprintable():  # a thorough run shows 100,000 answers, and nearly all are printable
        shown = "".join(char if char.isprintable() or char == "\n" else _escape(char) for char in text)
    return OBEYED.sub(lambda found: _escape(found[0][0]) + found[0][1:], shown)


def named(name: str, limit: int = 60) -> str:
    """Return a name that the server chose, as a part of one line."""
    return shorten(name, limit).replace("\n", "\\n")


def first_names(names: Sequence[str], most: int = MAX_NAMES) -> str:
    """Return the first of these names, ``most`` of them, and how many more there are."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def _escape(char: str) -> str:
    return f"\\u{ord(char):04x}" if ord(char) <= 0xFFFF else f"\\U{ord(char):08x}"


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return the known name that a wrong one is most like, as a question; empty if it is like none."""
    near = get_close_matches(name, list(known), 1)
    return f"; did you mean {near[0]}?" if near else ""
