"""Files that others made: whatever is wrong with one, the user reads one line, at once."""

import json
import os
import re
import socket
import sys
from collections.abc import Callable, Iterator
from copy import deepcopy
from pathlib import Path
from random import Random
from typing import Any

import pytest

from mcp_conformance.transport.files import MAX_BYTES
from support.files_of_others import Kind, kinds, quietly
from support.running import forked

ON_POSIX = pytest.mark.skipif(sys.platform == "win32", reason="such files are of POSIX")
NAMES = [
    *("session.jsonl", "report.json", "reports.json", "since.json", "tape.har", "contract.json"),
    *("baseline.toml", "variables.env", "variables.json", "mcp.json", "mcp-conformance.toml", "targets.toml"),
    *("targets.jsonl", "registry.json", "notes.toml", "results/0.1/a.json", "login", "package.json"),
    *("project/pyproject.toml", "known"),
]
DEEP = "[" * 100_000 + "]" * 100_000
LONG = "1" + "0" * 400
ODD = (None, True, -1, 10**400, 1e308, "", "x", "\ud800\0\n", [], {}, [1], {"a": 1}, [[]], [{}], [None])


@pytest.fixture(scope="module")
def all_kinds(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Kind]:
    """Return the kinds by their names."""
    found = kinds(tmp_path_factory.mktemp("kept"))
    return dict(zip(NAMES, found.values(), strict=True))


@pytest.fixture
def kind(request: pytest.FixtureRequest, all_kinds: dict[str, Kind]) -> Kind:
    """Return the kind that a test is about."""
    return all_kinds[request.param]


each_kind = pytest.mark.parametrize("kind", NAMES, indirect=True)


def place_of(kind: Kind, folder: Path) -> Path:
    path = folder / kind.name
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


@each_kind
def test_a_right_file_is_read_with_a_mark_of_its_encoding_too(kind: Kind, tmp_path: Path) -> None:
    path = place_of(kind, tmp_path)
    for mark in ("", "\ufeff"):
        path.write_text(mark + kind.right, encoding="utf-8")
        assert quietly(kind.use, path) == ""


# Bytes -------------------------------------------------------------------------------------------


def _truncated(text: str) -> str:
    return text[: len(text) // 2]


BYTES: dict[str, Callable[[str], bytes]] = {
    "another encoding": lambda text: b"\xff\xfe\xfa" + text.encode(),
    "in the middle": lambda text: text.encode()[:9] + b"\xff" + text.encode()[9:],
    "UTF-16": lambda text: text.encode("utf-16"),
    "UTF-16 without a mark": lambda text: text.encode("utf-16-le"),
    "NUL": lambda text: text.encode()[:9] + b"\0" + text.encode()[9:],
    "garbage": lambda text: b"\x1b]0;x\x07 <<<<<<< HEAD",
    "a very long line": lambda text: b"(" * 5_000_000,
}
"""Damage to any text."""
JSON: dict[str, Callable[[str], str]] = {
    "empty": lambda text: "",
    "truncated": _truncated,
    "deep": lambda text: DEEP,
    "deep objects": lambda text: '{"a":' * 100_000,
    "many lines": lambda text: "[]\n" * 100_000,
    "a long number": lambda text: text.replace("1", LONG, 1),
    "NaN": lambda text: f'{{"format": NaN, {text.lstrip()[1:]}',
    "infinite": lambda text: f'{{"format": 1e999, {text.lstrip()[1:]}',
    "4,301 digits": lambda text: f'{{"format": {"1" * 4301}, {text.lstrip()[1:]}',
}
"""Damage to JSON."""
TOML: dict[str, Callable[[str], str]] = {
    "deep": lambda text: f"a = {DEEP}",
    "deep keys": lambda text: f"{'a.' * 500_000}a = 1",
    "twice": lambda text: text + text + "a = 1\na = 2\n",
    "4,301 digits": lambda text: f"a = {'1' * 4301}\n{text}",
}
"""Damage to TOML."""


def damaged(kind: Kind) -> Iterator[tuple[str, bytes]]:
    """Yield each damage to the bytes of a kind of file."""
    yield from ((name, damage(kind.right)) for name, damage in BYTES.items())
    forms = {".toml": TOML, ".env": {}}.get(kind.form, JSON)
    yield from ((name, damage(kind.right).encode()) for name, damage in forms.items())


@each_kind
def test_damaged_bytes_are_one_line(kind: Kind, tmp_path: Path) -> None:
    path = place_of(kind, tmp_path)
    for name, content in damaged(kind):
        path.write_bytes(content)
        said = quietly(kind.use, path)
        assert "\n" not in said, name
        assert len(said) < 1000, name
        may_be_used = name in ("a long number", "empty", "truncated")  # at the end, or in a text
        assert kind.is_kept or said or may_be_used, name


# What is not a file ------------------------------------------------------------------------------


def _socket(path: Path) -> None:
    os.chdir(path.parent)  # the path of a socket is short, and the test has changed the directory
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(path.name)


def _large(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(MAX_BYTES + 1)


NO_FILES: dict[str, Callable[[Path], None]] = {
    "a directory": Path.mkdir,
    "a pipe": os.mkfifo,
    "a socket": _socket,
    "a device": lambda path: path.symlink_to("/dev/zero"),
    "of no disk": lambda path: path.symlink_to("/proc/self/environ"),
    "a dangling link": lambda path: path.symlink_to("nowhere"),
    "a loop": lambda path: path.symlink_to(path.name),
    "without end": _large,
    "unreadable": lambda path: path.touch(0),
}


@ON_POSIX
@each_kind
@pytest.mark.parametrize("what", NO_FILES)
def test_what_is_not_a_file_is_one_line(kind: Kind, what: str, tmp_path: Path, monkeypatch) -> None:
    if what == "unreadable" and os.geteuid() == 0:
        pytest.skip("root reads all")
    if what == "of no disk" and not Path("/proc/self/environ").exists():
        pytest.skip("there is no /proc")
    monkeypatch.chdir(tmp_path)
    path = place_of(kind, tmp_path)
    NO_FILES[what](path)
    said = quietly(kind.use, path)
    may_be_absent = kind.name in ("package.json", "project/pyproject.toml")
    is_absent = may_be_absent and what in ("a dangling link", "a loop")
    assert said or kind.is_kept or is_absent
    assert "\n" not in said


# Members -----------------------------------------------------------------------------------------


def _documents(kind: Kind) -> tuple[list[Any], Callable[[list[Any]], str]]:
    """Return the values of a file of JSON, and what makes a text of such values."""
    lines = kind.right.splitlines() if kind.form == ".jsonl" else [kind.right]
    values = [json.loads(one) for one in lines]
    return values, lambda some: "".join(f"{json.dumps(one)}\n" for one in some)


def _places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    if isinstance(value, dict | list):
        for name in value if isinstance(value, dict) else range(len(value)):
            yield from _places(value[name], (*path, name))


def _changed(values: list[Any], place: tuple[Any, ...], odd: Any) -> list[Any]:
    made = part = deepcopy(values)
    for name in place[:-1]:
        part = part[name]
    part[place[-1]] = odd
    return made


@pytest.mark.parametrize("kind", [one for one in NAMES if not one.endswith((".toml", ".env"))], indirect=True)
def test_a_member_of_another_type_is_no_traceback(kind: Kind, tmp_path: Path) -> None:
    path, random = place_of(kind, tmp_path), Random(0)
    values, text_of = _documents(kind)
    known = [one for one in _places(values) if one]
    chosen = known if len(known) < 100 else random.sample(known, 100)
    for place in chosen:
        for odd in random.sample(ODD, 3):
            path.write_text(text_of(_changed(values, place, odd)), encoding="utf-8")
            assert "\n" not in quietly(kind.use, path), (place, odd)


# Commands ----------------------------------------------------------------------------------------


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks of a process that has imported all, and pipes")
@pytest.mark.parametrize(
    "line",
    [
        *("judge folder", "judge pipe", "judge links", "judge /dev/zero", "serve folder", "replay pipe"),
        *("compare pipe pipe", "run --config pipe", "baseline update pipe --", "run --sessions folder --"),
        *(
            "run --env-file pipe --",
            "run --baseline pipe --",
            "run --since pipe --",
            "run --contract pipe --",
        ),
        "run --env-file /proc/self/environ --",
    ],
)
def test_a_command_waits_for_no_pipe_and_no_device(line: str, tmp_path: Path) -> None:
    for name in ("folder", "links"):
        (tmp_path / name).mkdir()
    for name in ("pipe", "folder/a.jsonl"):
        os.mkfifo(tmp_path / name)
    (tmp_path / "links" / "a.jsonl").symlink_to("/etc/passwd")
    words = [*line.split(), *([sys.executable] if line.endswith("--") else [])]
    status, output = forked(words, tmp_path, 60)
    (said,) = filter(None, output.splitlines())
    assert (status, said.startswith(("mcp-conformance: ", "ERROR: "))) == (4, True), said
    assert re.search("a pipe, not a file|a device, not a file|content and no size|a link, which", said), said
