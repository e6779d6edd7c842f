"""Read the exceptions in a log: tracebacks of Python, plain or in the boxes of Rich, and stacks of Node."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile

BEGIN = "Traceback (most recent call last)"
JOINTS = (
    "The above exception was the direct cause of the following exception:",
    "During handling of the above exception, another exception occurred:",
)
"""What Python writes between the exceptions of a chain."""
FRAME = re.compile(r'File "(?P<file>.+)", line (?P<line>\d+), in ')
EXCEPTION = re.compile(r"(?P<type>[A-Za-z_][\w.]*)(?:: ?(?P<message>.*))?")
GUTTER = re.compile(r"(?P<gutter>[\s|+]*)(?:Exception Group )?")
"""What stands before each line of a traceback in an exception group, or in an indented log."""
TOP, BOTTOM, BAR, MARK = "╭", "╰", "│", "❱"
"""The parts of Rich's boxes, and its mark of the line that raised."""
PLACE = re.compile(r"(?P<file>.+):(?P<line>\d+) in \S+")
HIDDEN = re.compile(r"\.\.\. \d+ frames hidden \.\.\.")
MARKED = re.compile(rf"{MARK}\s*\d+ (?P<code>.*)")
STACK_HEAD = re.compile(r"(?P<type>[\w$]*(?:Error|Exception))(?: \[\w+\])?: (?P<message>.*)")
STACK_FRAME = re.compile(r"\s+at (?:.*\()?(?P<file>[^()\s][^()]*?)(?::(?P<line>\d+):(?P<column>\d+))?\)?")
MAX_MESSAGE_LINES = 5
"""How many lines the message above a stack may have."""


@dataclass(frozen=True)
class Frame:
    """A place in a program: a file, its line, the ``code`` there if the log shows it, the column if known."""

    file: str
    line: int = 0
    code: str = ""
    column: int = 0


@dataclass(frozen=True)
class Raised:
    """An exception in a log: its class as written, its message, and its frames, the outermost first.

    ``hidden`` is the number of the frame before which the log left some out; None if it shows all.
    ``causes`` are the exceptions that led to it, the first one first.
    """

    type: str
    message: str
    frames: tuple[Frame, ...]
    hidden: int | None = None
    causes: tuple[Raised, ...] = ()


def exceptions_in(log: str) -> list[Raised]:
    """Return the exceptions whose tracebacks a log has in full, each with its causes, in their order."""
    lines, found, is_joined = log.splitlines(), list[Raised](), False
    number = 0
    while number < len(lines):
        line = lines[number]
        after, one = number + 1, None
        if any(joint in line for joint in JOINTS):
            is_joined = True
        elif BEGIN in line:
            read = _boxed if TOP in line else _plain
            after, one = read(lines, number)
        elif STACK_FRAME.fullmatch(line):
            after, one = _stack(lines, number)
        number = after
        if one is not None:
            if is_joined and found:
                cause = found.pop()
                one = replace(one, causes=(*cause.causes, replace(cause, causes=())))
            found.append(one)
            is_joined = False
    return found


def _raised(line: str, frames: Sequence[Frame], hidden: int | None = None) -> Raised | None:
    """Return the exception that a last line of a traceback names; None if it names none."""
    named = EXCEPTION.fullmatch(line)
    return Raised(named["type"], named["message"] or "", tuple(frames), hidden) if named else None


# Python ------------------------------------------------------------------------------------------


def _plain(lines: Sequence[str], number: int) -> tuple[int, Raised | None]:
    """Read a traceback that begins in a line; return the line after it, and the exception if it is whole."""
    before = GUTTER.fullmatch(lines[number].partition(BEGIN)[0])
    gutter = before["gutter"].replace("+", "|") if before else ""
    frames: list[Frame] = []
    for place in range(number + 1, len(lines)):
        line = lines[place].removeprefix(gutter)
        if BEGIN in line:
            return place, None
        if found := FRAME.search(line):
            frames.append(Frame(found["file"], int(found["line"])))
        elif line.startswith(" "):  # the code, a mark below it, or a note that frames repeat
            if frames and not frames[-1].code:
                frames[-1] = replace(frames[-1], code=line.strip())
        else:
            return place + 1, _raised(line.strip(), frames)
    return len(lines), None


# Rich --------------------------------------------------------------------------------------------


def _boxed(lines: Sequence[str], number: int) -> tuple[int, Raised | None]:
    """Read a traceback in a box, as `_plain` does; the exception stands below the box."""
    bottom = next((at for at in range(number, len(lines)) if BOTTOM in lines[at]), len(lines))
    frames, hidden = list[Frame](), None
    for block in _blocks(lines[number + 1 : bottom]):
        text = _joined(block)
        if place := PLACE.fullmatch(text):
            frames.append(Frame(place["file"], int(place["line"])))
        elif HIDDEN.fullmatch(text):
            hidden = len(frames)
        elif frames and (marked := next(filter(None, map(MARKED.search, block)), None)):
            frames[-1] = replace(frames[-1], code=marked["code"].strip(f"{BAR} "))
    below = next((at for at in range(bottom + 1, len(lines)) if lines[at].strip()), len(lines))
    if below == len(lines):
        return below, None
    return below + 1, _raised(lines[below].strip(), frames, hidden)


def _blocks(lines: Sequence[str]) -> Iterator[list[str]]:
    """Yield the contents of a box, each as wide as the box, in blocks between its empty lines."""
    block: list[str] = []
    for line in lines:
        inside = line.partition(BAR)[2].rpartition(BAR)[0]
        if inside.strip():
            block.append(inside)
        elif block:
            yield block
            block = []
    if block:
        yield block


def _joined(block: Sequence[str]) -> str:
    """Return the text of a block: a line that fills the box goes on in the next one."""
    parts = [line.strip() if line.endswith("  ") else line[1:-1] for line in block]
    return "".join(part if len(part) == len(block[0]) - 2 else f"{part} " for part in parts).strip()


# Node --------------------------------------------------------------------------------------------


def _stack(lines: Sequence[str], number: int) -> tuple[int, Raised | None]:
    """Read a stack whose first frame is in a line, as `_plain` does; the exception stands above it."""
    frames: list[Frame] = []
    after = number
    while after < len(lines) and (found := STACK_FRAME.fullmatch(lines[after])):
        frames.append(Frame(found["file"], int(found["line"] or 0), column=int(found["column"] or 0)))
        after += 1
    above = takewhile(
        lambda line: not STACK_FRAME.fullmatch(line),
        reversed(lines[max(0, number - MAX_MESSAGE_LINES) : number]),
    )
    head = next(filter(None, map(STACK_HEAD.search, above)), None)
    if head is None:
        return after, None
    return after, Raised(head["type"], head["message"], tuple(reversed(frames)))
