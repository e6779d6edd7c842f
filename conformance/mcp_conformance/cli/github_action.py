"""The programs of the GitHub Action, whose inputs are environment variables."""

from __future__ import annotations

import hashlib
import json
import os
import shlex
import sys
import uuid
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from pathlib import Path

from mcp_conformance.cli.main import USAGE_ERROR, main
from mcp_conformance.protocol.text import harmless
from mcp_conformance.report.exit_status import FAILED, PASSED, WORDS
from mcp_conformance.transport.writing import append

INPUTS = (
    *("command", "config", "server", "options", "call", "baseline", "contract", "budget", "strict"),
    *("report", "junit", "sarif"),
)
"""The inputs of the program that runs the suites."""
LISTS = {"report": "report", "junit": "junitxml", "call": "call", "baseline": "baseline", "budget": "budget"}
"""The option for each line of an input."""
PREFIX = "MCP_ACTION_"
FOLDER = f"{PREFIX}FOLDER"
"""The variable with the folder of the action's own files: `BASE`, `NEW` and `SARIF`."""
BASE, NEW, SARIF = "base.json", "new.json", "findings.sarif"
SUBJECT = ("COMMAND", "CONFIG", "SERVER", "DIRECTORY", "MATRIX")
"""The variables that distinguish what two steps of one job, or two jobs of one matrix, test."""
KEY_LENGTH = 16


class BadInput(Exception):  # noqa: N818
    """An error in an input of the action, in one line."""


def begin(environment: Mapping[str, str]) -> int:
    """Write the output ``key``, which names the comment, and ``base-key``, the report of the base branch."""
    workflow = environment.get("GITHUB_WORKFLOW_REF", "").partition("@")[0]
    subject = (environment.get(f"{PREFIX}{name}", "").strip() for name in SUBJECT)
    key = _digest(workflow, environment.get("GITHUB_JOB", ""), *subject)
    branch = environment.get("GITHUB_BASE_REF") or environment.get("GITHUB_REF_NAME", "")
    _write_outputs(environment, [f"key={key}\n", f"base-key=mcp-conformance-{_digest(key, branch)}-\n"])
    return PASSED


def act(environment: MutableMapping[str, str]) -> int:
    """Run the suites, write the action's outputs, and return the exit status of ``mcp-conformance run``."""
    inputs = {name: environment.pop(f"{PREFIX}{name.upper()}", "").strip() for name in INPUTS}
    folder = Path(environment.pop(FOLDER, "."))
    is_base = not environment.get("GITHUB_BASE_REF")
    own = [folder / (BASE if is_base else NEW)]
    try:
        own += [folder / SARIF] if _is_true("sarif", inputs["sarif"]) else []
        status = main(["run", *(f"--report={path}" for path in own), *_words(inputs)])
    except BadInput as error:
        print(f"mcp-conformance: {harmless(str(error))}", file=sys.stderr)  # noqa: T201
        status = USAGE_ERROR
    _write_outputs(environment, _outputs(inputs, status))
    sarif = folder / SARIF
    saved = [f"sarif={sarif.as_posix()}\n"] if sarif.is_file() else []
    saved += ["is-base=true\n"] if is_base and own[0].is_file() and status in (PASSED, FAILED) else []
    _write_outputs(environment, saved)
    return status


def _words(inputs: Mapping[str, str]) -> Iterator[str]:
    """Yield the arguments of ``mcp-conformance run``."""
    for name, option in LISTS.items():
        yield from (f"--{option}={line}" for line in _lines(inputs[name]))
    if inputs["contract"]:
        yield f"--contract={inputs['contract']}"
    if _is_true("strict", inputs["strict"]):
        yield "--strict"
    options = _split("options", inputs["options"])
    if "--" in options:
        raise BadInput("options: the server's command belongs in `command`, not after a --")
    yield from options
    command = _command(inputs["command"])
    if inputs["config"]:
        yield f"--config={inputs['config']}"
    servers = [f"--server={name}" for name in _lines(inputs["server"])]
    yield from servers or (["--all"] if inputs["config"] or (not command and _has_several_servers()) else [])
    yield from ["--", *command] if command else []


def _has_several_servers() -> bool:
    """Return whether the configuration file here lists servers; one that cannot be read fails the run."""
    from mcp_conformance.options.configuration import BadConfiguration, nearest_configuration  # noqa: PLC0415

    try:
        file = nearest_configuration(Path())
    except BadConfiguration:
        return False
    return file is not None and len(file.servers) > 1


def _is_true(name: str, text: str) -> bool:
    if text.lower() not in ("true", "false", ""):
        raise BadInput(f"{name}: true or false is expected, not {text!r}")
    return text.lower() == "true"


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


def _digest(*texts: str) -> str:
    """Return the texts as a short name that a cache and a comment can have."""
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()[:KEY_LENGTH]


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


def _write_outputs(environment: Mapping[str, str], lines: Iterator[str] | list[str]) -> None:
    if output := environment.get("GITHUB_OUTPUT"):
        append(Path(output), "".join(lines))


PROGRAMS: Mapping[str, Callable[[MutableMapping[str, str]], int]] = {"begin": begin, "run": act}

if __name__ == "__main__":
    sys.exit(PROGRAMS[sys.argv[1]](os.environ))
