"""The diagnosis of a server that does not start, and the words that all causes use."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from mcp_conformance.doctor.observations import AttemptResult, Observations, visible
from mcp_conformance.doctor.symptoms import LANGUAGES, TO_STDERR
from mcp_conformance.protocol.text import named, shell_line

EMPTY_PHRASES = re.compile(
    r"A complete log of this run|This is related to npm not|^npm (?:error|ERR!)(?: \w+)?$|^Node\.js v\d"
)
"""Lines of stderr without information."""
ERROR = re.compile(
    r"[A-Za-z_][\w.]*(?:Error|Exception|Exit|Interrupt)\b|(?:[\w./-]+: )?(?:fatal )?error\b|panic:|thread '",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Diagnosis:
    """A cause and advice, a line each; ``is_sure`` if nothing else can be the cause."""

    cause: str
    advice: tuple[str, ...] = ()
    is_sure: bool = True
    is_healthy: bool = False


Cause = Callable[[Observations], Diagnosis | None]
"""A function that returns a diagnosis if the observations match its cause."""


def language(seen: Observations) -> str:
    """Return the language that the server is probably written in; empty if unknown."""
    shebang = seen.program.shebang.decode("latin-1").replace("/", " ").split()
    words = [*shebang[-1:], seen.program.path, *seen.settings.command]
    return next(filter(None, map(_language_of, words)), "")


def _language_of(word: str) -> str:
    name = Path(word).name
    return next((one for one, pattern in LANGUAGES.items() if re.fullmatch(pattern, name)), "")


def command_line(seen: Observations, action: str, *options: str, command: Iterable[str] | None = None) -> str:
    """Return the `mcp-conformance` command for this server, with further options and without credentials."""
    settings = seen.settings
    words = ["mcp-conformance", action]
    words += ["--cwd", str(settings.cwd)] if settings.cwd is not None else []
    words += ["--inherit-home"] if settings.inherit_home else []
    words += settings.sandbox.words if settings.sandbox is not None else []
    words += [word for name in settings.env for word in ("--env", name)]
    return shell_line([*words, *options, "--", *(seen.command if command is None else command)])


# stderr ------------------------------------------------------------------------------------------


def last_words(attempt: AttemptResult) -> str:
    """Return the most useful line of stderr: the last error, else the last line."""
    lines = [
        line.strip()
        for line in attempt.stderr.splitlines()
        if line.strip() and not EMPTY_PHRASES.search(line)
    ]
    return named((error_lines(attempt) or lines or [""])[-1], 300)


def error_lines(attempt: AttemptResult) -> list[str]:
    """Return the lines of stderr that report an error."""
    return [
        line.strip()
        for line in attempt.stderr.splitlines()
        if ERROR.match(line) and not EMPTY_PHRASES.search(line)
    ]


def quoted_last_words(attempt: AttemptResult) -> str:
    """Return the last words behind a colon, to end a sentence with; empty if there are none."""
    words = last_words(attempt)
    return f": {words.rstrip('.')}" if words else ""


# stdout ------------------------------------------------------------------------------------------


def all_output(attempt: AttemptResult) -> str:
    """Return stderr and everything on stdout that is not a message, as one text."""
    stdout = "\n".join(line.text for line in attempt.non_messages)
    return f"{attempt.stderr}\n{stdout}\n{visible(attempt.unended, 300)}"


def is_noisy(attempt: AttemptResult) -> bool:
    """Return whether stdout has anything that is not a message."""
    return bool(attempt.non_messages or attempt.unended)


def noise_sample(attempt: AttemptResult) -> str:
    """Return the first line that is neither a message nor empty."""
    raw = next((line.raw for line in attempt.non_messages if line.raw.strip()), attempt.unended)
    return visible(raw, 100) or "an empty line"


def clean_stdout_advice(seen: Observations) -> str:
    """Return how to keep stdout clean in the server's language."""
    if _runs_a_script(seen):
        return "npm prints the script that it runs: use npm run --silent, or the program in package.json"
    return TO_STDERR.get(language(seen), "write everything that is not a message to stderr")


def _runs_a_script(seen: Observations) -> bool:
    return Path(seen.command[0]).stem in ("npm", "pnpm", "yarn") and "--silent" not in seen.command
