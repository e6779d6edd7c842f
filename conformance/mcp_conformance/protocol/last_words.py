"""The panic or exception that ended a process, as the end of its log and its exit status say."""

from __future__ import annotations

import re
from pathlib import PurePosixPath

from mcp_conformance.protocol.text import shorten
from mcp_conformance.protocol.tracebacks import Frame, exceptions_in

GO_STATUS, RUST_STATUS, RAISED_STATUS = 2, 101, 1
"""The exit statuses of programs that end so: in Go by a panic, in Rust, in Python or Node by an exception."""
# Each line is read once: a server may write whatever it likes.
GO = re.compile(
    r"^(?:panic|fatal error): (?P<message>.+)\n(?:\[signal .*\n|\tpanic: .*\n|\n)*goroutine \d+ ",
    re.MULTILINE,
)
GO_FRAME = re.compile(r"^\S.*\n\t(?P<file>.+):(?P<line>\d{1,7})(?: |$)", re.MULTILINE)
RUST = re.compile(
    r"^(?:.{0,100} )?thread '[^'\n]{0,100}' (?:\(\d+\) )?panicked at "
    r"(?P<file>[^'\n]{1,500}):(?P<line>\d{1,7}):\d+:\n(?P<message>.+)",
    re.MULTILINE,
)
LIBRARY = re.compile(
    r"/(?:site|dist)-packages/|/lib/python3[\d.]*t?/|/node_modules/|^node:|^<|/pkg/mod/|@v\d|/go[^/]*/src/|/rustc/"
)
"""What is in the file of a frame that is not the server's own."""
AFTER = re.compile(r"\n+Node\.js v\S+$|(?:\n[ |]*\+-+)+$")
"""What stands below the exception at the end of a log: Node's version, or the rule of an exception group."""
MAX_MESSAGE = 160


def last_words(log: str, exit_code: int) -> str:
    """Return what ended a process, with the server's own file and line if they are known; empty if unknown.

    Only the exception at the end of the log counts: the server may have gone on after others.
    """
    if exit_code == GO_STATUS and (begin := panic_at(log)) is not None:
        found = GO.match(log, begin)
        assert found is not None
        frames = [Frame(one["file"], int(one["line"])) for one in GO_FRAME.finditer(log, found.end())]
        return _said("panic", found["message"], frames)
    if exit_code == RUST_STATUS and (panics := list(RUST.finditer(log))):
        panic = panics[-1]
        return _said("panic", panic["message"], [Frame(panic["file"], int(panic["line"]))])
    if exit_code != RAISED_STATUS or not (raised := exceptions_in(log)):
        return ""
    last, end = raised[-1], AFTER.sub("", log.rstrip()).rpartition("\n")[2].lstrip(" |")
    is_last = end.startswith((last.type, "at "))
    return _said(last.type, last.message, last.frames[::-1]) if is_last else ""


def panic_at(log: str) -> int | None:
    """Return where the last panic of Go begins in a log; None without one."""
    begins = [found.start() for found in GO.finditer(log)]
    return begins[-1] if begins else None


def _said(kind: str, message: str, frames: list[Frame] | tuple[Frame, ...]) -> str:
    """Return a panic or an exception, and the innermost frame of the server's own."""
    places = [(one.file.replace("\\", "/"), one.line) for one in frames]
    own = next((one for one in places if not LIBRARY.search(one[0])), None)
    place = f", {PurePosixPath(own[0]).name}:{own[1]}" if own is not None else ""
    said = f": {shorten(message, MAX_MESSAGE)}" if message else ""
    return f"{kind}{said}{place}"
