"""Causes why the system cannot start the program."""

from __future__ import annotations

import os
import re
import shlex
from difflib import get_close_matches
from pathlib import Path

from mcp_conformance.doctor.diagnosis import Cause, Diagnosis, command_line
from mcp_conformance.doctor.observations import Observations
from mcp_conformance.doctor.symptoms import LANGUAGES, RUNNERS
from mcp_conformance.protocol.text import named

SHELL_WORDS = ("&&", "||", "|", ";", "cd", "source", "export")
SCRIPTS = ("*.py", "*.js", "*.mjs", "*.cjs", "*.ts", "*.rb", "*.jar", "*.php", "*.sh")
"""The files that an interpreter runs, which stands before them."""
BINARY_HEADS = (b"\x7fELF", b"MZ", b"\xfe\xed\xfa", b"\xcf\xfa\xed\xfe", b"\xca\xfe\xba\xbe")


def shell_assignment(seen: Observations) -> Diagnosis | None:
    """Detect NAME=VALUE before the program."""
    word, *rest = seen.command
    if not seen.first.refused or not rest or not re.fullmatch(r"[A-Za-z_]\w*=.*", word, re.DOTALL):
        return None
    return Diagnosis(
        f"{named(word)} is an assignment for a shell, and the command runs without a shell.",
        (command_line(seen, "run", "--env", word, command=rest),),
    )


def shell_syntax(seen: Observations) -> Diagnosis | None:
    """Detect a command line that only a shell understands."""
    words = seen.command[0].split() if len(seen.command) == 1 else seen.command
    found = [word for word in words if word in SHELL_WORDS]
    if not seen.first.refused or seen.program.path or not found:
        return None
    return Diagnosis(
        f"{found[0]} is for a shell, and the command runs without a shell.",
        ("name the program alone; use --cwd DIR instead of cd, and --env NAME=VALUE instead of export",),
    )


def quoted_command(seen: Observations) -> Diagnosis | None:
    """Detect a command that is quoted as one word."""
    word, *rest = seen.command
    if not seen.first.refused or seen.program.path or rest or " " not in word.strip():
        return None
    advice = command_line(seen, "run", command=word.split())
    return Diagnosis("The command is one word with spaces in it: remove the quotes around it.", (advice,))


def file_off_the_path(seen: Observations) -> Diagnosis | None:
    """Detect a file in the user's directory that is not on the PATH."""
    beside = seen.program.beside
    if not seen.first.refused or seen.program.path or not beside:
        return None
    advice = command_line(seen, "run", command=[*_runner(beside), beside, *seen.command[1:]])
    word = named(seen.program.word)
    return Diagnosis(f"{word} is a file in this directory, but not a program on the PATH.", (advice,))


def _runner(path: str) -> list[str]:
    """Return the interpreter for a file, by the file's name."""
    name = Path(path).name
    return [runner for one, runner in RUNNERS.items() if re.fullmatch(LANGUAGES[one], name)][:1]


def unknown_program(seen: Observations) -> Diagnosis | None:
    """Detect a name without a program or file."""
    program = seen.program
    if not seen.first.refused or program.path:
        return None
    near = [command_line(seen, "run", command=[program.near, *seen.command[1:]])] if program.near else []
    word = named(program.word)
    is_file = Path(program.word).name != program.word
    where = "There is no file" if is_file else "There is no program on the PATH"
    return Diagnosis(f"{where} called {word}.", (*near, f"install {word}, or give its full path"))


def windows_script(seen: Observations) -> Diagnosis | None:
    """Detect a .cmd file, which only the command interpreter runs."""
    path = seen.program.path
    if not seen.first.refused or Path(path).suffix.lower() not in (".cmd", ".bat", ".ps1"):
        return None
    advice = command_line(seen, "run", command=["cmd", "/c", *seen.command])
    return Diagnosis(f"{path} is a script for the command interpreter, not a program.", (advice,))


def not_a_file(seen: Observations) -> Diagnosis | None:
    """Detect a directory in place of a program."""
    if not seen.first.refused or seen.program.is_file:
        return None
    return Diagnosis(f"{named(seen.program.path, 200)} is not a file.", ("name the program in it",))


def broken_shebang(seen: Observations) -> Diagnosis | None:
    """Detect a first line whose interpreter does not exist, often for a carriage return after it."""
    first_line = seen.program.shebang
    words = first_line[2:].split()
    if not seen.first.refused or not words:
        return None
    path = seen.program.path
    if first_line.endswith(b"\r"):
        advice = f"save it with LF line ends: sed -i 's/\\r$//' {shlex.quote(path)}"
        return Diagnosis(f"{path} has CRLF line ends, so its interpreter is not found.", (advice,))
    interpreter = os.fsdecode(words[0])
    if os.access(interpreter, os.X_OK):
        return None
    advice = command_line(seen, "run", command=[Path(interpreter).name, path, *seen.command[1:]])
    return Diagnosis(f"{path} needs the interpreter {named(interpreter)}, which was not found.", (advice,))


def not_executable(seen: Observations) -> Diagnosis | None:
    """Detect a file without the permission to run it."""
    path = seen.program.path
    if not seen.first.refused or seen.program.may_run:
        return None
    advice = (f"chmod +x {shlex.quote(path)}", *_with_runner(seen))
    return Diagnosis(f"{named(path, 200)} is not executable.", advice)


def _with_runner(seen: Observations) -> tuple[str, ...]:
    """Return the command with an interpreter before it."""
    runner = _runner(seen.program.path)
    return (command_line(seen, "run", command=[*runner, *seen.command]),) if runner else ()


def missing_shebang(seen: Observations) -> Diagnosis | None:
    """Detect a script without an interpreter line, or a binary for another machine."""
    head, path = seen.program.head, named(seen.program.path, 200)
    if not seen.first.refused or "format" not in seen.first.refused.lower():
        return None
    if head.startswith(BINARY_HEADS):
        return Diagnosis(
            f"{path} is built for another system or processor.",
            ("build or install the one for this machine",),
        )
    advice = ("give it a first line such as #!/usr/bin/env python3", *_with_runner(seen))
    return Diagnosis(f"{path} is a script whose first line names no interpreter.", advice)


def refused_by_system(seen: Observations) -> Diagnosis | None:
    """Detect any other refusal of the system."""
    if not seen.first.refused:
        return None
    return Diagnosis(f"The system refused to start the program: {named(seen.first.refused, 300)}.")


def missing_script(seen: Observations) -> Diagnosis | None:
    """Detect a script that does not exist, which the interpreter could not open."""
    place = seen.settings.cwd or seen.settings.here
    scripts = [word for word in seen.command[1:] if any(map(Path(word).match, SCRIPTS))]
    missing = [
        word for word in scripts if not (place / word).exists() and Path(word).name in seen.first.stderr
    ]
    if not missing or not seen.first.has_ended:
        return None
    word = missing[0]
    near = get_close_matches(Path(word).name, [path.name for path in place.glob(f"*{Path(word).suffix}")], 1)
    meant = (
        [str(Path(word).with_name(near[0])) if one == word else one for one in seen.command] if near else []
    )
    advice = command_line(seen, "run", command=meant) if meant else ""
    where = "compare the path: it is relative to the current directory, or to --cwd"
    return Diagnosis(f"There is no file {named(word, 200)}.", (advice or where,))


CAUSES: tuple[Cause, ...] = (
    missing_script,
    shell_assignment,
    shell_syntax,
    quoted_command,
    file_off_the_path,
    unknown_program,
    windows_script,
    not_a_file,
    broken_shebang,
    not_executable,
    missing_shebang,
    refused_by_system,
)
