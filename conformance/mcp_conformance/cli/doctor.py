"""The command ``mcp-conformance doctor``: show each step of the start, the cause, and advice."""

from __future__ import annotations

import argparse
import os
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace

from mcp_conformance.cli.arguments import chosen_by, expect_no_more, require_server, usage_errors
from mcp_conformance.doctor.attempts import START_TIMEOUT_FACTOR, TRIAL_SECONDS, StartAttempt, apply_variant
from mcp_conformance.doctor.causes import diagnose
from mcp_conformance.doctor.diagnosis import Diagnosis
from mcp_conformance.doctor.observations import (
    AttemptResult,
    Observations,
    StartVariant,
    visible,
    withheld_variables,
)
from mcp_conformance.doctor.program import Program, find_program
from mcp_conformance.doctor.variants import next_variant
from mcp_conformance.options.run_options import read_settings
from mcp_conformance.protocol.jsonrpc import Line
from mcp_conformance.protocol.text import named, shell_line, shorten
from mcp_conformance.target.settings import Settings
from mcp_conformance.target.surface import Surface
from mcp_conformance.transport.redaction import Redaction
from mcp_conformance.transport.throwaway import throwaway_folder

MAX_WIDTH = 100
MAX_LINES_SHOWN, MAX_LINE_LENGTH = 8, 200
FIRST_STDERR_LINES, LAST_STDERR_LINES = 3, 9
GOOD, BAD, NOTE = "✓", "✗", "·"
PLAIN = {GOOD: "ok  ", BAD: "FAIL", NOTE: "-   "}
"""The marks for a terminal without these characters."""
COLOURS = {GOOD: "\033[32m", BAD: "\033[31m", NOTE: "\033[33m"}


def main(options: argparse.Namespace, rest: Sequence[str], command: list[str] | None) -> int:
    """Examine a server; return the exit status: 0 if it is healthy, else 1."""
    expect_no_more(rest)
    server = require_server(options, command, "doctor", "doctor [options]")
    with usage_errors("doctor"):
        return _with(_examine, read_settings(chosen_by(options, server, "doctor")))


def _with(examine: Callable[[Settings], int], chosen: Settings) -> int:
    """Examine the server in a throwaway folder, and return the exit status."""
    examine = examine if chosen.http is None else _examine_http
    with throwaway_folder() as throwaway:
        return examine(chosen.within(throwaway))


def _begun(chosen: Settings) -> tuple[Printer, Observations]:
    seen = Observations(chosen, find_program(chosen), AttemptResult(), withheld=withheld_variables(chosen))
    # The doctor also starts the server with all variables, and the server may print those.
    withheld = {name: os.environ[name] for name in seen.withheld}
    return Printer(replace(chosen, expanded={**chosen.expanded, **withheld}).redaction), seen


def _examine(chosen: Settings) -> int:
    printer, seen = _begun(chosen)
    printer.line(f"mcp-conformance doctor: {named(' '.join(chosen.shown_command), 300)}")
    printer.line()
    printer.steps(_found(seen.program))
    first = StartAttempt(chosen, timeout=START_TIMEOUT_FACTOR * chosen.start_timeout)
    with closing(first.steps()) as steps:
        for result, shown in zip(steps, STEPS, strict=False):
            printer.steps(shown(chosen, result))
    seen = replace(seen, first=first.result)
    while (variant := next_variant(seen)) is not None:
        varied = apply_variant(chosen, variant, seen.withheld)
        trial = StartAttempt(varied, variant, _trial_timeout(seen)).run()
        seen = seen.with_attempt(trial)
        printer.steps(_tried(trial))
    return _concluded(printer, seen)


def _examine_http(chosen: Settings) -> int:
    """Send a request to a server over HTTP, and print what it answers and the likely cause of a failure."""
    from mcp_conformance.doctor import http  # noqa: PLC0415  (only a server over HTTP needs it)

    assert chosen.http is not None
    printer = Printer(chosen.redaction)
    with closing(chosen.http):
        seen = http.observe(chosen)
        printer.line(f"mcp-conformance doctor: {seen.url or chosen.command[0]}")
        printer.line()
        printer.steps(
            (GOOD if is_good else BAD, title, details) for is_good, title, details in http.steps(seen)
        )
        words, advice = http.cause(seen)
    next_step = shell_line(["mcp-conformance", "run", *chosen.words])
    printer.line()
    for line in (
        [words, "What to do next:", next_step] if seen.is_open else ["Cause:", words, "What to do:", advice]
    ):
        printer.line(line if line.endswith(":") else f"  {line}")
    return 0 if seen.is_open else 1


def _concluded(printer: Printer, seen: Observations) -> int:
    """Print the cause and the advice; return 0 for a healthy server, else 1."""
    diagnosis = diagnose(seen)
    for line in conclusion(seen, diagnosis):
        printer.line(line)
    return 0 if diagnosis.is_healthy else 1


def _trial_timeout(seen: Observations) -> float:
    """Return how long a further attempt may take, by how long the server took to answer or to end."""
    opened = [one.seconds for one in (seen.first, *seen.trials.values()) if one.is_answered or one.has_ended]
    return max([min(TRIAL_SECONDS, 2 * seen.settings.start_timeout), *(2 * seconds for seconds in opened)])


class Printer:
    """Output to stdout: without credentials, in characters that the terminal has."""

    def __init__(self, redaction: Redaction):
        self._redaction = redaction
        self._out = sys.stdout
        self._is_coloured = self._out.isatty() and not os.environ.get("NO_COLOR")
        self._has_marks = _has(self._out.encoding, GOOD + BAD + NOTE)

    def line(self, text: str = "") -> None:
        """Write a line."""
        text = self._redaction.text(text)
        encoding = self._out.encoding or "ascii"
        self._out.write(text.encode(encoding, "backslashreplace").decode(encoding) + "\n")
        self._out.flush()

    def steps(self, steps: Iterable[tuple[str, str, Sequence[str]]]) -> None:
        """Write steps: the mark, the title and the details."""
        for mark, title, details in steps:
            sign = mark if self._has_marks else PLAIN[mark]
            sign = f"{COLOURS[mark]}{sign}\033[0m" if self._is_coloured else sign
            self.line(f"{sign} {title}")
            for detail in details:
                self.line(f"    {detail}")


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


def _started(chosen: Settings, attempt: AttemptResult) -> Steps:
    if attempt.refused:
        yield BAD, "not started", (named(attempt.refused, 300),)
        return
    place = f"in {chosen.cwd}" if chosen.cwd is not None else "in a throwaway directory"
    home = "" if chosen.inherit_home else ", with a throwaway home"
    yield GOOD, f"process started {place}{home}", ()


def _alive(_: Settings, attempt: AttemptResult) -> Steps:
    if attempt.is_early:
        yield BAD, _end(attempt), ()
    else:
        yield GOOD, f"still alive after {attempt.seconds:.1f} s", ()


def _end(attempt: AttemptResult) -> str:
    code = attempt.exit_code
    if code is None:
        return f"its stdout was closed within {attempt.seconds:.1f} s"
    how = f"signal {-code}" if code < 0 else f"exit status {code}"
    return f"the process ended within {attempt.seconds:.1f} s ({how})"


def _sent(chosen: Settings, attempt: AttemptResult) -> Steps:
    if attempt.asked is not None and not attempt.is_early:
        seconds = START_TIMEOUT_FACTOR * chosen.start_timeout
        title = f"initialize sent; waiting up to {seconds:.0f} s for the answer"
        yield GOOD, title, (visible(attempt.asked.raw, 300) + "\\n",)


def _answered(_: Settings, attempt: AttemptResult) -> Steps:
    yield from _stdout(attempt)
    yield from _stderr(attempt)
    if attempt.ports:
        yield NOTE, f"listens on port {', '.join(map(str, attempt.ports))}", ()
    if attempt.has_ended and not attempt.is_early:
        yield (NOTE if attempt.is_answered else BAD), _end(attempt), ()
    if attempt.is_open:
        opening = attempt.opening
        seconds = opening.line.at if opening is not None and opening.line is not None else attempt.seconds
        yield GOOD, f"initialize answered {seconds:.1f} s after the start", ()
    elif attempt.is_answered:
        yield BAD, f"initialize answered with {named(str(attempt.opening), 300)}", ()
    elif not attempt.has_ended:
        yield BAD, f"no answer to initialize in {attempt.seconds:.0f} s", ()
    elif not attempt.is_early:
        yield BAD, "no answer to initialize", ()


def _stdout(attempt: AttemptResult) -> Steps:
    count = len(attempt.said) + attempt.left_out
    if not count and not attempt.unended:
        yield NOTE, "stdout: nothing", ()
        return
    shown = [_timed(line) for line in attempt.said[:MAX_LINES_SHOWN]]
    more = count - len(shown)
    shown += [f"... and {more} more lines"] if more > 0 else []
    if attempt.unended and more <= 0:
        shown.append(f"{attempt.seconds:6.2f} s  {visible(attempt.unended, MAX_LINE_LENGTH)}   (no line end)")
    yield NOTE, "stdout:", shown


def _timed(line: Line) -> str:
    """Return a line with its time."""
    end = "..." if line.fault and len(line.raw) > MAX_LINE_LENGTH else "\\n"
    fault = f"   ({shorten(line.fault, 80)})" if line.fault else ""
    return f"{line.at:6.2f} s  {visible(line.raw, MAX_LINE_LENGTH)}{end}{fault}"


def _stderr(attempt: AttemptResult) -> Steps:
    lines = [named(line, MAX_LINE_LENGTH) for line in attempt.stderr.splitlines() if line.strip()]
    more = len(lines) - FIRST_STDERR_LINES - LAST_STDERR_LINES
    if more > 1:
        lines = [*lines[:FIRST_STDERR_LINES], f"... {more} more lines ...", *lines[-LAST_STDERR_LINES:]]
    if lines:
        yield NOTE, "stderr:", lines


def _went_on(_: Settings, attempt: AttemptResult) -> Steps:
    reply, opening = attempt.listed, attempt.opening
    if reply is None or opening is None or opening.line is None:
        return
    if reply.value is not None:
        yield GOOD, f"initialized sent, {reply.method} answered", ()
        return
    opened = opening.line.at
    since = [_timed(line) for line in attempt.said if line.at > opened][:MAX_LINES_SHOWN]
    yield BAD, f"initialized sent, {reply.method} got {named(str(reply), 200)}", since
    if reply.fault is not None:
        yield from _stderr(attempt)


def _stopped(_: Settings, attempt: AttemptResult) -> Steps:
    if attempt.late is not None and attempt.late.line is not None:
        yield BAD, "answered only when its stdin was closed", (_timed(attempt.late.line),)
    if attempt.stops is not None:
        yield (
            (GOOD, "stops when its stdin is closed", ())
            if attempt.stops
            else (NOTE, "does not stop when its stdin is closed (stopped by force)", ())
        )


STEPS = (_started, _alive, _sent, _answered, _went_on, _stopped)


def _tried(trial: AttemptResult) -> Steps:
    """Yield one line for a further attempt."""
    if trial.refused:
        yield BAD, f"{trial.variant}: not started", (named(trial.refused, 300),)
    elif trial.is_open:
        yield GOOD, f"{trial.variant}: it answers after {trial.seconds:.1f} s", ()
    elif trial.has_ended:
        yield BAD, f"{trial.variant}: {_end(trial)}", ()
    elif trial.is_answered:
        yield BAD, f"{trial.variant}: {named(str(trial.opening), 200)}", ()
    else:
        said = f", but {visible(trial.said[0].raw, 100)}" if trial.said else ""
        yield NOTE, f"{trial.variant}: no answer in {trial.seconds:.0f} s{said}", ()


# The conclusion ----------------------------------------------------------------------------------


def conclusion(seen: Observations, diagnosis: Diagnosis) -> Iterator[str]:
    """Yield the lines of the diagnosis: the cause and the advice."""
    yield ""
    if diagnosis.is_healthy:
        yield from _wrapped(diagnosis.cause)
        yield from _wrapped(_description(seen))
        yield "What to do next:"
    else:
        yield "Cause:" if diagnosis.is_sure else "Likely cause:"
        yield from _wrapped(diagnosis.cause)
        yield "What to do:"
    for advice in diagnosis.advice:
        yield from _wrapped(advice)


def _wrapped(text: str) -> Iterator[str]:
    """Wrap a text, but keep a command on one line."""
    if "mcp-conformance " in text:
        yield f"  {text}"
        return
    yield from textwrap.wrap(
        text,
        MAX_WIDTH,
        initial_indent="  ",
        subsequent_indent="  ",
        break_long_words=False,
        break_on_hyphens=False,
    )


def _description(seen: Observations) -> str:
    """Return the server's name, its revision and what it offers."""
    attempt = seen.opened(StartVariant.MODERN) or seen.main
    opening = attempt.opening
    assert opening is not None
    surface = Surface(attempt.revision, opening.lines)
    offers = surface.offers
    names = [named(str(name), 40) for name in offers.json] if offers.is_a(dict) else []
    tools = attempt.listed.value.get("tools") if attempt.listed is not None and attempt.listed.value else None
    if tools is not None and tools.is_a(list):
        assert attempt.listed is not None
        assert attempt.listed.value is not None
        more = " or more" if attempt.listed.value.get("nextCursor") is not None else ""
        names = [f"tools ({len(tools.json)}{more})" if name == "tools" else name for name in names]
    seconds = opening.line.at if opening.line is not None else attempt.seconds
    offered = ", ".join(names[:12]) or "nothing"
    took = f"it took {seconds:.1f} s to start"
    return f"{surface.server_name}, revision {attempt.revision}, offers {offered}; {took}."
