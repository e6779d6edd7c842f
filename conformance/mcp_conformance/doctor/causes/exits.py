"""Causes in the words and the end of a server that does not answer: exit status, stderr, silence."""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path

from mcp_conformance.doctor.diagnosis import (
    ERROR,
    Cause,
    Diagnosis,
    all_output,
    clean_stdout_advice,
    command_line,
    error_lines,
    is_noisy,
    language,
    last_words,
    noise_sample,
    quoted_last_words,
)
from mcp_conformance.doctor.observations import AttemptResult, Observations
from mcp_conformance.doctor.symptoms import KNOWN_MESSAGES, STDIO_WANTED, VARIABLE
from mcp_conformance.protocol.text import named

INTERPRETER = re.compile(r"(python|pypy|node|ruby|deno|bun|bash|sh|zsh)[\d.]*(\.exe)?")
USAGE = re.compile(r"^\W*usage:.*", re.IGNORECASE | re.MULTILINE)
NO_ANSWER_ADVICE = (
    "check that it serves stdio: many servers need an argument such as stdio or --transport stdio",
    "check that it reads stdin line by line, and flushes stdout after each message",
    "check that it does not wait for something else first: a network, a login, a lock",
    "if it only needs more time: --start-timeout 120",
)

# The output names the cause ----------------------------------------------------------------------


def bare_interpreter(seen: Observations) -> Diagnosis | None:
    """Detect an interpreter that reads its program from stdin."""
    program, *rest = seen.command
    if rest or not INTERPRETER.fullmatch(Path(program).name):
        return None
    advice = command_line(seen, "doctor", command=[program, "SERVER"])
    return Diagnosis(f"{program} has no program to run, so it reads one from stdin.", (advice,))


def known_message(seen: Observations) -> Diagnosis | None:
    """Detect a known error message of a runtime or launcher."""
    attempt = seen.main
    if attempt.is_answered:
        return None
    text = all_output(attempt)
    for message in KNOWN_MESSAGES:
        found = re.search(message.pattern, text, re.MULTILINE)
        state = "ended" if attempt.has_ended else "running"
        if found and message.when in (state, "either"):
            names = {name: named(one or "", 120) for name, one in found.groupdict().items()}
            names |= {
                "line": named(_line_at(text, found.start()), 200),
                "program": shlex.quote(seen.command[0]),
            }
            names["yes"] = _with_yes(seen)
            advice = tuple(one.format(**names) for one in message.advice)
            is_last = not any(map(ERROR.match, text[found.end() :].splitlines()[1:]))
            return Diagnosis(message.cause.format(**names), advice, is_sure=attempt.has_ended and is_last)
    return None


def _line_at(text: str, place: int) -> str:
    start = text.rfind("\n", 0, place) + 1
    return text[start:].split("\n", 1)[0].strip()


def _with_yes(seen: Observations) -> str:
    """Return the command in which npx installs without a question."""
    program, *rest = seen.command
    is_npx = Path(program).stem == "npx" and not {"-y", "--yes"} & set(rest)
    if not is_npx:
        return "npx -y installs without a question"
    return command_line(seen, "doctor", command=[program, "-y", *rest])


def missing_variable(seen: Observations) -> Diagnosis | None:
    """Detect a missing environment variable."""
    attempt = seen.main
    output, last = all_output(attempt), last_words(attempt)
    names = [
        one for text in (last, output) for found in VARIABLE.finditer(text) for one in found.groups() if one
    ]
    if attempt.is_answered or not names or names[0] in seen.settings.env:
        return None
    option = names[0] if names[0] in os.environ else f"{names[0]}=VALUE"
    return Diagnosis(
        f"The server needs the environment variable {names[0]}: {_last_line_with(output, names[0])}",
        (command_line(seen, "doctor", "--env", option),),
        is_sure=attempt.has_ended and names[0] in last,
    )


def _last_line_with(output: str, word: str) -> str:
    found = [line.strip() for line in output.splitlines() if word in line]
    return named(found[-1], 200) if found else ""


def docker_without_stdin(seen: Observations) -> Diagnosis | None:
    """Detect a container without stdin."""
    words = seen.command
    if language(seen) != "docker" or "run" not in words[1:]:
        return None
    is_given = any(re.fullmatch(r"-[a-zA-Z]*i[a-zA-Z]*|--interactive(=true)?", word) for word in words)
    needs_terminal = "not a TTY" in seen.main.stderr
    if is_given and not needs_terminal:
        return None
    place = words.index("run") + 1
    others = [word for word in words[place:] if not re.fullmatch(r"-(it|ti|t|i)|--tty|--interactive", word)]
    advice = command_line(seen, "doctor", command=[*words[:place], "-i", *others])
    if needs_terminal:
        return Diagnosis("docker run -t needs a terminal.", (advice,))
    return Diagnosis("docker run without -i closes the server's stdin.", (advice,))


def wrong_arguments(seen: Observations) -> Diagnosis | None:
    """Detect a usage text, with status 2 or without another error."""
    attempt = seen.main
    usage, errors = USAGE.search(all_output(attempt)), error_lines(attempt)
    if attempt.exit_code is None or usage is None or (errors and attempt.exit_code != 2):
        return None
    words = named(errors[-1] if errors else usage[0].strip(), 300)
    advice = "add them at the end of the command; the server's --help may list them"
    return Diagnosis(f"The server needs other arguments: {words}", (advice,))


# The end of the process --------------------------------------------------------------------------


def background_process(seen: Observations) -> Diagnosis | None:
    """Detect a script that starts the server with ``&``, or a server that becomes a daemon."""
    attempt = seen.main
    if attempt.exit_code is None or attempt.is_closed:
        return None
    return Diagnosis(
        f"The server {_how_it_ended(attempt)}, but a process that it started still holds its stdout.",
        ("the server must be the first process: in a script, exec it as the last command, without &",),
    )


def killed_by_signal(seen: Observations) -> Diagnosis | None:
    """Detect a crash in machine code, or a kill from outside."""
    attempt = seen.main
    if attempt.exit_code is None or attempt.exit_code >= 0:
        return None
    why = {
        9: " (killed from outside, perhaps by the system for lack of memory)",
        11: " (a segmentation fault)",
        6: " (it aborted)",
    }
    reason = f"{why.get(-attempt.exit_code, '')}{quoted_last_words(attempt)}"
    return Diagnosis(f"The server {_how_it_ended(attempt)}{reason}.", (_where_to_look(attempt),))


def _how_it_ended(attempt: AttemptResult) -> str:
    code = attempt.exit_code
    if code is None:
        return "closed its stdout and went on"
    how = f"was ended by signal {-code}" if code < 0 else f"ended with status {code}"
    return f"{how} after {attempt.seconds:.1f} s" if attempt.seconds else how


def _where_to_look(attempt: AttemptResult) -> str:
    if attempt.stderr.strip():
        return "see its stderr above: nothing else is known"
    return "it wrote no reason to stderr: run it by hand, or in a debugger"


def exits_at_once(seen: Observations) -> Diagnosis | None:
    """Detect status 0 while stdin is still open."""
    attempt = seen.main
    if attempt.exit_code != 0:
        return None
    code = {
        "python": "check that main() is called, with asyncio.run(main()) if it is async, and keeps serving",
        "node": "check that the server is connected: await server.connect(new StdioServerTransport())",
        "go": "check that main waits for the server's Run to return",
        "rust": "check that main waits for the service: service.waiting().await",
    }
    other = "it has to read stdin until that is closed; in a script, start it without &"
    return Diagnosis(
        f"The server {_how_it_ended(attempt)}, as if its work were done{quoted_last_words(attempt)}.",
        (code.get(language(seen), other),),
    )


def crash(seen: Observations) -> Diagnosis | None:
    """Detect any other exit."""
    attempt = seen.main
    if attempt.exit_code is None:
        return None
    words = quoted_last_words(attempt)
    return Diagnosis(f"The server {_how_it_ended(attempt)}{words}.", (_where_to_look(attempt),))


def closed_stdout(seen: Observations) -> Diagnosis | None:
    """Detect a running server with a closed stdout."""
    if not seen.main.is_closed:
        return None
    return Diagnosis(
        "The server runs, but has closed its stdout, where clients read answers.",
        ("keep stdout open, and write only messages to it",),
    )


# No answer ---------------------------------------------------------------------------------------


def serves_a_port(seen: Observations) -> Diagnosis | None:
    """Detect a server that listens on a port instead of stdio."""
    ports = seen.first.ports
    if not ports:
        return None
    cause = f"The server listens on port {ports[0]}: it seems to serve HTTP instead of stdio."
    return Diagnosis(cause, (STDIO_WANTED,), is_sure=False)


def noise_without_answer(seen: Observations) -> Diagnosis | None:
    """Detect output on stdout without a message in it."""
    attempt = seen.main
    if not is_noisy(attempt):
        return None
    return Diagnosis(
        f"The server prints text to stdout that is not a message, and no answer: {noise_sample(attempt)}",
        (clean_stdout_advice(seen), *NO_ANSWER_ADVICE),
        is_sure=False,
    )


def silence(seen: Observations) -> Diagnosis | None:
    """Match any other server that does not answer."""
    seconds = f"{seen.first.seconds:.0f} s"
    return Diagnosis(
        f"The server runs, but does not answer initialize in {seconds}{quoted_last_words(seen.main)}.",
        NO_ANSWER_ADVICE,
        is_sure=False,
    )


CAUSES: tuple[Cause, ...] = (
    bare_interpreter,
    known_message,
    missing_variable,
    docker_without_stdin,
    wrong_arguments,
    background_process,
    killed_by_signal,
    exits_at_once,
    crash,
    closed_stdout,
    serves_a_port,
    noise_without_answer,
    silence,
)


EXPLANATIONS: tuple[Cause, ...] = (
    bare_interpreter,
    known_message,
    missing_variable,
    docker_without_stdin,
    wrong_arguments,
    serves_a_port,
)


def is_explained(seen: Observations) -> bool:
    """Return whether the command, the output or an open port already explains the failure."""
    return any(cause(seen) is not None for cause in EXPLANATIONS)
