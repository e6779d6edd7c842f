"""What ``mcp-conformance doctor`` does and shows: each step with what was seen, what is wrong, what to do.

It stands in for pytest's run of tests, so that the server's options are read as for any other run.
"""

from __future__ import annotations

import os
import sys
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace

import pytest

from conformance.doctor.attempts import (
    LATE,
    TRIAL_SECONDS,
    Attempt,
    Program,
    Seen,
    Visit,
    Way,
    looked_up,
    varied,
    visible,
    withheld,
)
from conformance.doctor.diagnosis import Diagnosis, diagnosis, next_way
from conformance.plugin.options import settings
from conformance.protocol.jsonrpc import Line
from conformance.protocol.text import named, shorten
from conformance.target.settings import Settings
from conformance.target.surface import Surface
from conformance.transport.credentials import credentials, redacted, without
from conformance.transport.process_tree import end_run, terminable
from conformance.transport.sandbox import Sandbox

WIDTH = 100
LINES_SHOWN, LINE_SHOWN = 8, 200
STDERR_FIRST, STDERR_LAST = 3, 9
GOOD, BAD, NOTE = "✓", "✗", "·"
PLAIN = {GOOD: "ok  ", BAD: "FAIL", NOTE: "-   "}
"""The marks where there are no such characters."""
COLOURS = {GOOD: "\033[32m", BAD: "\033[31m", NOTE: "\033[33m"}


class Doctoring:
    """A plugin of pytest's, which finds out why a server does not start."""

    @pytest.hookimpl(tryfirst=True)
    def pytest_cmdline_main(self, config: pytest.Config) -> int:
        """Examine the server; the exit status is 0 if it is healthy and 1 if not."""
        chosen = settings(config)
        sandbox = Sandbox()
        try:
            with terminable():
                return _examine(replace(chosen, sandbox=sandbox))
        except KeyboardInterrupt:
            return pytest.ExitCode.INTERRUPTED
        finally:
            end_run()
            sandbox.remove()


def _examine(chosen: Settings) -> int:
    paper = Paper(credentials(chosen.command, {**os.environ, **chosen.env}))
    seen = Seen(chosen, looked_up(chosen), Attempt(), withheld=withheld(chosen))
    paper.line(f"mcp-conformance doctor: {named(' '.join(redacted(chosen.command)), 300)}")
    paper.line()
    paper.steps(_found(seen.program))
    visit = Visit(chosen, patience=LATE * chosen.start_timeout)
    with closing(visit.steps()) as steps:
        for attempt, shown in zip(steps, STEPS, strict=False):
            paper.steps(shown(chosen, attempt))
    seen = replace(seen, first=visit.attempt)
    while (way := next_way(seen)) is not None:
        trial = Visit(varied(chosen, way, seen.withheld), way, _patience(seen)).done()
        seen = seen.and_then(trial)
        paper.steps(_tried(trial))
    told = diagnosis(seen)
    for line in conclusion(seen, told):
        paper.line(line)
    return 0 if told.is_healthy else 1


def _patience(seen: Seen) -> float:
    """How long another way may take, by how long it took before the server answered or ended."""
    opened = [one.seconds for one in (seen.first, *seen.trials.values()) if one.is_answered or one.has_ended]
    return max([min(TRIAL_SECONDS, 2 * seen.settings.start_timeout), *(2 * seconds for seconds in opened)])


class Paper:
    """What is written to, without these credentials, in characters that it has."""

    def __init__(self, hidden: Sequence[str]):
        self._hidden = hidden
        self._out = sys.stdout
        self._is_coloured = self._out.isatty() and not os.environ.get("NO_COLOR")
        self._has_marks = _has(self._out.encoding, GOOD + BAD + NOTE)

    def line(self, text: str = "") -> None:
        """Write a line."""
        text = without(text, self._hidden)
        encoding = self._out.encoding or "ascii"
        self._out.write(text.encode(encoding, "backslashreplace").decode(encoding) + "\n")
        self._out.flush()

    def steps(self, steps: Iterable[tuple[str, str, Sequence[str]]]) -> None:
        """Write steps: the mark, the words, and what was seen."""
        for mark, title, details in steps:
            sign = mark if self._has_marks else PLAIN[mark]
            sign = f"{COLOURS[mark]}{sign}\033[0m" if self._is_coloured else sign
            self.line(f"{sign} {title}")
            for detail in details:
                self.line(f"    {without(detail, self._hidden)}")


def _has(encoding: str | None, text: str) -> bool:
    try:
        text.encode(encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


# The steps ---------------------------------------------------------------------------------------

Steps = Iterator[tuple[str, str, Sequence[str]]]


def _found(program: Program) -> Steps:
    if program.path:
        yield GOOD if program.is_file else BAD, f"command found: {named(program.path, 200)}", ()
    else:
        yield BAD, f"command not found: {named(program.word, 200)}", ()


def _started(chosen: Settings, attempt: Attempt) -> Steps:
    if attempt.refused:
        yield BAD, "not started", (named(attempt.refused, 300),)
        return
    place = f"in {chosen.cwd}" if chosen.cwd is not None else "in a throwaway directory"
    home = "" if chosen.inherit_home else ", with a throwaway home"
    yield GOOD, f"process started {place}{home}", ()


def _alive(_: Settings, attempt: Attempt) -> Steps:
    if attempt.is_early:
        yield BAD, _end(attempt), ()
    else:
        yield GOOD, f"still alive after {attempt.seconds:.1f} s", ()


def _end(attempt: Attempt) -> str:
    code = attempt.exit_code
    if code is None:
        return f"its stdout was closed within {attempt.seconds:.1f} s"
    how = f"signal {-code}" if code < 0 else f"exit status {code}"
    return f"the process ended within {attempt.seconds:.1f} s ({how})"


def _sent(chosen: Settings, attempt: Attempt) -> Steps:
    if attempt.asked is not None and not attempt.is_early:
        title = f"initialize sent; the answer is waited for, {LATE * chosen.start_timeout:.0f} s at the most"
        yield GOOD, title, (visible(attempt.asked.raw, 300) + "\\n",)


def _heard(_: Settings, attempt: Attempt) -> Steps:
    yield from _stdout(attempt)
    yield from _stderr(attempt)
    if attempt.ports:
        yield NOTE, f"listens on port {', '.join(map(str, attempt.ports))}", ()
    if attempt.has_ended and not attempt.is_early:
        yield (NOTE if attempt.is_answered else BAD), _end(attempt), ()
    if attempt.is_open:
        hello = attempt.hello
        seconds = hello.line.at if hello is not None and hello.line is not None else attempt.seconds
        yield GOOD, f"initialize answered {seconds:.1f} s after the start", ()
    elif attempt.is_answered:
        yield BAD, f"initialize answered with {named(str(attempt.hello), 300)}", ()
    elif not attempt.has_ended:
        yield BAD, f"no answer to initialize in {attempt.seconds:.0f} s", ()
    elif not attempt.is_early:
        yield BAD, "no answer to initialize", ()


def _stdout(attempt: Attempt) -> Steps:
    count = len(attempt.said) + attempt.left_out
    if not count and not attempt.unended:
        yield NOTE, "stdout: nothing", ()
        return
    shown = [_timed(line) for line in attempt.said[:LINES_SHOWN]]
    more = count - len(shown)
    shown += [f"... and {more} more lines"] if more > 0 else []
    if attempt.unended and more <= 0:
        shown.append(f"{attempt.seconds:6.2f} s  {visible(attempt.unended, LINE_SHOWN)}   (no line end)")
    yield NOTE, "stdout:", shown


def _timed(line: Line) -> str:
    """When a line came, and its bytes."""
    end = "..." if line.fault and len(line.raw) > LINE_SHOWN else "\\n"
    fault = f"   ({shorten(line.fault, 80)})" if line.fault else ""
    return f"{line.at:6.2f} s  {visible(line.raw, LINE_SHOWN)}{end}{fault}"


def _stderr(attempt: Attempt) -> Steps:
    lines = [named(line, LINE_SHOWN) for line in attempt.stderr.splitlines() if line.strip()]
    more = len(lines) - STDERR_FIRST - STDERR_LAST
    if more > 1:
        lines = [*lines[:STDERR_FIRST], f"... {more} more lines ...", *lines[-STDERR_LAST:]]
    if lines:
        yield NOTE, "stderr:", lines


def _went_on(_: Settings, attempt: Attempt) -> Steps:
    reply, hello = attempt.listed, attempt.hello
    if reply is None or hello is None or hello.line is None:
        return
    if reply.value is not None:
        yield GOOD, f"initialized sent, {reply.method} answered", ()
        return
    opened = hello.line.at
    since = [_timed(line) for line in attempt.said if line.at > opened][:LINES_SHOWN]
    yield BAD, f"initialized sent, {reply.method} got {named(str(reply), 200)}", since
    if reply.fault is not None:
        yield from _stderr(attempt)


def _stopped(_: Settings, attempt: Attempt) -> Steps:
    if attempt.late is not None and attempt.late.line is not None:
        yield BAD, "answered only when its stdin was closed", (_timed(attempt.late.line),)
    if attempt.stops is not None:
        yield (
            (GOOD, "stops when its stdin is closed", ())
            if attempt.stops
            else (NOTE, "does not stop when its stdin is closed (it was ended)", ())
        )


STEPS = (_started, _alive, _sent, _heard, _went_on, _stopped)


def _tried(trial: Attempt) -> Steps:
    """One line for another way."""
    if trial.refused:
        yield BAD, f"{trial.way}: not started", (named(trial.refused, 300),)
    elif trial.is_open:
        yield GOOD, f"{trial.way}: it answers after {trial.seconds:.1f} s", ()
    elif trial.has_ended:
        yield BAD, f"{trial.way}: {_end(trial)}", ()
    elif trial.is_answered:
        yield BAD, f"{trial.way}: {named(str(trial.hello), 200)}", ()
    else:
        said = f", but {visible(trial.said[0].raw, 100)}" if trial.said else ""
        yield NOTE, f"{trial.way}: no answer in {trial.seconds:.0f} s{said}", ()


# The conclusion ----------------------------------------------------------------------------------


def conclusion(seen: Seen, told: Diagnosis) -> Iterator[str]:
    """What is wrong, and what to do."""
    yield ""
    if told.is_healthy:
        yield from _wrapped(told.cause)
        yield from _wrapped(_about(seen))
        yield "What to do next:"
    else:
        yield "What is wrong:" if told.is_sure else "What is likely wrong:"
        yield from _wrapped(told.cause)
        yield "What to do:"
    for advice in told.advice:
        yield from _wrapped(advice)


def _wrapped(text: str) -> Iterator[str]:
    """A text in lines that are not too long, but a command in one."""
    if "mcp-conformance " in text:
        yield f"  {text}"
        return
    yield from textwrap.wrap(
        text,
        WIDTH,
        initial_indent="  ",
        subsequent_indent="  ",
        break_long_words=False,
        break_on_hyphens=False,
    )


def _about(seen: Seen) -> str:
    """Who the server is, and what it offers."""
    attempt = seen.opened(Way.MODERN) or seen.main
    hello = attempt.hello
    assert hello is not None
    surface = Surface(attempt.revision, hello.lines)
    offers = surface.offers
    names = [named(str(name), 40) for name in offers.json] if offers.is_a(dict) else []
    tools = attempt.listed.value.get("tools") if attempt.listed is not None and attempt.listed.value else None
    if tools is not None and tools.is_a(list):
        assert attempt.listed is not None
        assert attempt.listed.value is not None
        more = " or more" if attempt.listed.value.get("nextCursor") is not None else ""
        names = [f"tools ({len(tools.json)}{more})" if name == "tools" else name for name in names]
    seconds = hello.line.at if hello.line is not None else attempt.seconds
    what = ", ".join(names[:12]) or "nothing"
    took = f"it took {seconds:.1f} s to start"
    return f"{surface.server_name}, revision {attempt.revision}, offers {what}; {took}."
