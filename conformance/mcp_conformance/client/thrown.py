"""The exception that a call with valid arguments met in the tool: from stderr, else from its error.

docs/explanation/exceptions.md says what is told apart here, and why.
"""

from __future__ import annotations

import builtins
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum, auto
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname

from mcp_conformance.client.exceptions import unexpected_exception
from mcp_conformance.client.reply import Reply
from mcp_conformance.client.session import Session
from mcp_conformance.protocol.text import shorten
from mcp_conformance.protocol.tracebacks import Frame, Raised, exceptions_in
from mcp_conformance.transport.files import regular_bytes

INTERNAL_ERROR = -32603
RUNTIME = "the runtime"
FRAMEWORKS = {
    *("mcp", "fastmcp", "anyio", "starlette", "uvicorn", "pydantic", "sse_starlette"),
    *("@modelcontextprotocol/sdk", "@modelcontextprotocol/server", "zod", "express", "fastmcp"),
}
"""The packages between the client and the code of a tool's author."""
PYTHON_PACKAGE = re.compile(r"/(?:site|dist)-packages/([^/]+)")
NODE_PACKAGE = re.compile(r".*/node_modules/((?:@[^/]+/)?[^/]+)")
PYTHON_RUNTIME = re.compile(r"/lib/python3[\d.]*t?/|/Python3?\d*/Lib/")
ON_PURPOSE = re.compile(r"(?:^|[:;]\s*)raise\b")
"""A statement of Python that raises."""
CONSTRUCTED = re.compile(r"new\b|\w*(?:Error|Exception)\(")
"""An expression of JavaScript that makes the exception."""
REFUSED_VALUE = re.compile(r".*: (['\"]).*\1", re.DOTALL)
"""The message of a conversion that names the value it refuses: `invalid literal for int(): 'x'`."""
COMPILED = {".so", ".pyd"}
"""The endings of compiled modules."""
ENVIRONMENT = (OSError, ImportError, MemoryError, Warning, StopIteration, StopAsyncIteration)
"""Exceptions that say something of the machine, or that end no call."""
MISTAKES = {
    *("TypeError", "AttributeError", "NameError", "UnboundLocalError", "KeyError", "IndexError"),
    *("ZeroDivisionError", "OverflowError", "RecursionError", "AssertionError"),
}
"""Exceptions that are a mistake of the caller also if a library raises them."""
OF_NODE = {"TypeError", "ReferenceError", "RangeError"}
"""The exceptions that the engine of JavaScript throws for a mistake in a program."""
WRAPPER = re.compile(
    r"Error (?:executing|calling) tool '?[^\s:']+'?|internal (?:server )?error\.?", re.IGNORECASE
)
"""What SDKs say of an exception whose message they keep to themselves."""
MAX_LOG = 20_000
"""How many characters of stderr are kept for one call: a traceback of 100 frames."""
MAX_MESSAGE = 120
MAX_SOURCE_BYTES = 5_000_000


@dataclass(frozen=True)
class Thrown:
    """An exception in a tool: the class and message, ``where`` it came from, and whether that is proven.

    Proven is what the runtime itself raised in the server's own code, as a traceback shows; ``excerpt`` is
    the part of it that matters.
    """

    what: str
    where: str = ""
    is_proven: bool = False
    excerpt: str = ""

    @property
    def kind(self) -> str:
        """What is the same for each call that meets it."""
        return f"throws {self.what.partition(':')[0]} {self.where}".strip()

    def __str__(self) -> str:
        return f"{self.what}, {self.where}" if self.where else self.what


class Origin(Enum):
    """Who raised an exception."""

    RUNTIME = auto()
    """The runtime, for an expression in the server's own code."""
    AUTHOR = auto()
    """A statement of the author, as a refusal."""
    LIBRARY = auto()
    """A library, or it is unknown."""


def with_log(session: Session, reply: Reply) -> Reply:
    """Return an answer that reports an error, with what the server wrote to stderr meanwhile.

    A ping comes first, so that all is read that the server wrote before.  No other call may be in flight.
    """
    if _reports_error(reply) and not session.closed:
        session.drain()
    return logged(session, reply)


def logged(session: Session, reply: Reply) -> Reply:
    """Return an answer as `with_log` does, if the server has answered a ping since."""
    if not _reports_error(reply):
        return reply
    return replace(reply, log=session.process.stderr_since(reply.request.at)[-MAX_LOG:])


def _reports_error(reply: Reply) -> bool:
    return reply.is_tool_error or reply.code == INTERNAL_ERROR


def thrown(reply: Reply) -> Thrown | None:
    """Return the exception that a call with valid arguments met; None if it was refused on purpose."""
    logged = filter(None, map(_of_tool, exceptions_in(reply.log)))
    found = [(_origin(one), one) for one in logged if _is_reported(one, reply)]
    for origin, one in found:
        if origin is Origin.RUNTIME:
            return _described(one, is_proven=True)
    if any(origin is Origin.AUTHOR for origin, _ in found):
        return None
    for _, one in found:
        if one.type in MISTAKES:
            return _described(one, is_proven=False)
    words = unexpected_exception(reply)
    return Thrown(words) if words else None


def thrown_in(log: str) -> list[Thrown]:
    """Return the proven exceptions in what a server wrote during several calls."""
    found = filter(None, map(_of_tool, exceptions_in(log)))
    return [_described(one, is_proven=True) for one in found if _origin(one) is Origin.RUNTIME]


def _described(raised: Raised, *, is_proven: bool) -> Thrown:
    own = _own_frames(raised)[-1]
    what = f"{raised.type}: {raised.message}".rstrip(": ")
    name = own.file.replace("\\", "/").rpartition("/")[2]
    place = f"{own.file}:{own.line}"
    excerpt = "\n".join(filter(None, (place, own.code and f"  {own.code}", what)))
    return Thrown(shorten(what, MAX_MESSAGE), f"{name}:{own.line}", is_proven, excerpt)


def _is_reported(raised: Raised, reply: Reply) -> bool:
    """Return whether an error says no more than an exception does, so that its author has not handled it."""
    texts = [str(reply.error_message)] if reply.error is not None else reply.texts
    message = raised.message or raised.type
    return any(message in text or WRAPPER.fullmatch(text.strip()) for text in texts) or not texts


# Whose it is -------------------------------------------------------------------------------------


def _of_tool(raised: Raised) -> Raised | None:
    """Return the last exception of a chain that came through the server's code: an SDK wraps it in others."""
    chain = (*raised.causes, raised)
    return next((one for one in reversed(chain) if _own_frames(one)), None)


def _own_frames(raised: Raised) -> list[Frame]:
    """Return the frames in the server's own code: in the package that a framework calls, or in no package."""
    frames = [one for one in raised.frames if one.file != "<anonymous>"]
    packages = [_package(one) for one in frames]
    first = next((at for at, name in enumerate(packages) if _is_outside(name)), None)
    if first is None:
        return []
    if first == raised.hidden and packages[first]:  # its callers are not shown: it may be any library
        return [one for one, name in zip(frames, packages, strict=True) if not name]
    return [one for one, name in zip(frames, packages, strict=True) if name == packages[first]]


def _is_outside(package: str) -> bool:
    return package not in FRAMEWORKS and package != RUNTIME


def _package(frame: Frame) -> str:
    """Return the installed package that a file belongs to, `RUNTIME`, or an empty string."""
    path = frame.file.replace("\\", "/")
    if path.startswith(("<", "node:")):
        return RUNTIME
    if found := NODE_PACKAGE.match(path):
        return found[1]
    if found := PYTHON_PACKAGE.search(path):
        return found[1].removesuffix(".py")
    return RUNTIME if PYTHON_RUNTIME.search(path) else ""


def _origin(raised: Raised) -> Origin:
    frames = [one for one in raised.frames if one.file != "<anonymous>"]
    last = frames[-1]
    if last is not _own_frames(raised)[-1]:
        return Origin.LIBRARY
    return _origin_in_node(raised.type, last) if last.column else _origin_in_python(raised, last.code)


def _origin_in_python(raised: Raised, code: str) -> Origin:
    if ON_PURPOSE.search(code):
        return Origin.AUTHOR
    known = getattr(builtins, raised.type, None)
    if not code or not (isinstance(known, type) and issubclass(known, Exception)):
        return Origin.LIBRARY
    is_refusal = issubclass(known, ValueError) and (
        bool(REFUSED_VALUE.fullmatch(raised.message)) or _is_beside_compiled(raised)
    )
    return Origin.LIBRARY if is_refusal or issubclass(known, ENVIRONMENT) else Origin.RUNTIME


def _is_beside_compiled(raised: Raised) -> bool:
    """Return whether a compiled module lies beside the last frame, and may have raised it without one."""
    try:
        beside = [one.suffix for one in Path(raised.frames[-1].file).parent.iterdir()]
    except (OSError, ValueError):
        return False
    return not COMPILED.isdisjoint(beside)


def _origin_in_node(type: str, frame: Frame) -> Origin:
    code = _source(frame)[frame.column - 1 :]
    if type not in OF_NODE or CONSTRUCTED.match(code):
        return Origin.AUTHOR
    return Origin.RUNTIME if code else Origin.LIBRARY


def _source(frame: Frame) -> str:
    """Return the line of a source file on this machine; empty if there is none."""
    try:
        is_url = frame.file.startswith("file:")
        path = Path(url2pathname(urlsplit(frame.file).path) if is_url else frame.file)
        content = regular_bytes(path, MAX_SOURCE_BYTES) or b""
        lines: Sequence[str] = content.decode(errors="replace").splitlines()
    except (OSError, ValueError):
        return ""
    return lines[frame.line - 1] if 0 < frame.line <= len(lines) else ""
