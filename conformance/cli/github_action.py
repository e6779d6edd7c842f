"""The program of the GitHub Action: it turns inputs, which are environment variables, into arguments."""

from __future__ import annotations

import json
import os
import shlex
import sys
import uuid
from collections.abc import Iterator, Mapping, MutableMapping
from pathlib import Path

from conformance.cli.main import USAGE_ERROR, main
from conformance.report.exit_status import WORDS

INPUTS = ("command", "config", "server", "options", "call", "baseline", "strict", "report", "junit")
PREFIX = "MCP_ACTION_"
SWITCH = {"true": ["--strict"], "false": [], "": []}


class BadInput(Exception):  # noqa: N818
    """An error in an input of the action, in one line."""


def act(environment: MutableMapping[str, str]) -> int:
    """Run the command, write the action's outputs, and return the command's exit status."""
    inputs = {name: environment.pop(f"{PREFIX}{name.upper()}", "").strip() for name in INPUTS}
    try:
        status = main(["run", *_words(inputs)])
    except BadInput as error:
        print(f"mcp-conformance: {error}", file=sys.stderr)  # noqa: T201
        status = USAGE_ERROR
    if output := environment.get("GITHUB_OUTPUT"):
        with Path(output).open("a", encoding="utf-8", newline="\n") as file:
            file.writelines(_outputs(inputs, status))
    return status


def _words(inputs: Mapping[str, str]) -> Iterator[str]:
    """Yield the arguments of ``mcp-conformance run``."""
    yield from (f"--report={path}" for path in _lines(inputs["report"]))
    yield from (f"--junitxml={path}" for path in _lines(inputs["junit"]))
    yield from (f"--call={name}" for name in _lines(inputs["call"]))
    yield from (f"--baseline={path}" for path in _lines(inputs["baseline"]))
    if inputs["strict"].lower() not in SWITCH:
        raise BadInput(f"strict: true or false is expected, not {inputs['strict']!r}")
    yield from SWITCH[inputs["strict"].lower()]
    options = _split("options", inputs["options"])
    if "--" in options:
        raise BadInput("options: the server's command belongs in `command`, not after a --")
    yield from options
    if inputs["config"]:
        yield f"--config={inputs['config']}"
        yield from [f"--server={name}" for name in _lines(inputs["server"])] or ["--all"]
    command = _command(inputs["command"])
    yield from ["--", *command] if command else []


def _lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip()]


def _split(name: str, text: str) -> list[str]:
    """Split a line as a shell does."""
    try:
        return shlex.split(text, posix=os.name == "posix")
    except ValueError as error:
        raise BadInput(f"{name}: {error} in {text!r}") from error


def _command(text: str) -> list[str]:
    """Return the server's command, from a JSON array of words or from a line for a shell."""
    if not text.startswith("["):
        return _split("command", text)
    try:
        words = json.loads(text)
    except ValueError as error:
        raise BadInput(f"command: not JSON: {error}") from error
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        raise BadInput("command: a JSON array of words is expected")
    return words


def _written(path: Path) -> Iterator[Path]:
    """Yield the file of that name, and those whose names have a server's name before it."""
    if path.is_file():
        yield path
    yield from sorted(path.parent.glob(f"*-{path.name}"))


def _outputs(inputs: Mapping[str, str], status: int) -> Iterator[str]:
    """Yield the outputs, as GitHub reads them from a file."""
    named = [Path(path) for path in _lines(inputs["report"]) + _lines(inputs["junit"])]
    written = [path.as_posix() for one in named for path in _written(one)]
    yield f"exit-status={status}\n"
    yield f"outcome={WORDS.get(status, 'internal error')}\n"
    mark = f"end-{uuid.uuid4()}"
    yield "".join(f"{line}\n" for line in [f"reports<<{mark}", *written, mark])


if __name__ == "__main__":
    sys.exit(act(os.environ))
