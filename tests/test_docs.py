"""What the documentation shows is so: every command in it is run, page by page, and its output compared.

A page is read from top to bottom, in a folder of its own:

- ``literalinclude`` and ``code-block`` with a caption put a file of that name there;
- ``diff`` changes the file it names;
- ``console`` runs what stands behind ``$`` and compares what comes; ``...`` stands for anything. The exit
  status is 0 unless ``echo $?`` comes next;
- ``sh`` runs each line, whatever it writes and finds; a mistake in it is found.

Each page starts with the server of the tutorial, as ``server.py`` and as the module ``my_server``.
"""

import doctest
import os
import re
import shutil
import subprocess
import sys
import textwrap
import tomllib
from pathlib import Path

import pytest
from support import environment

from conformance.cli.main import _parser
from conformance.report import baseline
from conformance.requirements.checks import checked

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
SERVER = DOCS / "examples" / "server.py"
MADE = DOCS / "reference" / "made"
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
PAGES += [path for path in sorted(DOCS.rglob("*.md")) if MADE not in path.parents]
BLOCK = re.compile(r"^( *)```(?P<kind>\S*) ?(?P<rest>.*)\n(?P<body>(?:.*\n)*?)\1```$", re.MULTILINE)
OPTION = re.compile(r"(?<![\w-])--(?!mcp-)[a-z][a-z-]+")
ALIKE = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE

NOT_RUN = {
    r"^python3 -m venv": "CI does it: these are its first two commands, and those of a contributor",
    r"^(pytest tests/|tox)": "would run these tests again",
    r"^ruff": "is not installed beside these tests; CI runs it",
    r" -- npx ": "needs npm's registry",
    r"^SELF_FUZZ=|^python benchmarks/": "takes an hour",
}
"""What is left out, and why."""
MAY_END = (0, 1)
"""The exit statuses of a command that has no mistake in it: without findings, and with some."""
LINKED = ("suites", "fixtures", "tests")
"""Folders of the repository that contributors read."""


def blocks(page):
    """Every fenced block of a page: its kind, what stands behind that, its options, its lines."""
    for found in BLOCK.finditer(page.read_text(encoding="utf-8")):
        body = textwrap.dedent(found["body"])
        told = dict(re.findall(r"^:(\S+):[ ]*(.*)\n", body, re.MULTILINE))
        yield found["kind"], found["rest"], told, re.sub(r"^:\S+:.*\n", "", body, flags=re.MULTILINE)


def named(page):
    return page.relative_to(ROOT).as_posix()


def is_run(page):
    return any(kind in STEPS for kind, *_ in blocks(page))


class Reader:
    """Somebody who does what a page says."""

    def __init__(self, page, folder):
        self.page = page
        self.folder = folder
        self.status = 0
        path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
        self.env = environment(PATH=path, COLUMNS="100", LC_ALL="C.UTF-8")

    def read(self):
        for kind, rest, told, body in blocks(self.page):
            if kind in STEPS:
                STEPS[kind](self, rest, told, body)
        assert self.status == 0

    def include(self, rest, told, _):
        if "caption" in told:
            shutil.copyfile(self.page.parent / rest, self.folder / told["caption"])

    def write(self, _, told, body):
        if "caption" in told:
            path = self.folder / told["caption"]
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(body, encoding="utf-8")

    def patch(self, _, __, body):
        head, *hunks = re.split(r"^@@.*\n", body, flags=re.MULTILINE)
        path = self.folder / re.search(r"^--- (\S+)$", head, re.MULTILINE)[1]
        text = path.read_text(encoding="utf-8")
        for hunk in hunks:
            lines = hunk.splitlines()
            old, new = (
                "".join(f"{line[1:]}\n" for line in lines if line[0] in kept) for kept in (" -", " +")
            )
            assert text.count(old) == 1, old
            text = text.replace(old, new)
        path.write_text(text, encoding="utf-8")

    def talk(self, _, __, body):
        for part in re.split(r"^\$ ", body, flags=re.MULTILINE)[1:]:
            command, _, expected = part.partition("\n")
            output = self.run(command)
            if output is not None:
                shown = f"$ {command}\n{output}"
                assert doctest.OutputChecker().check_output(expected, output, ALIKE), shown

    def do(self, _, __, body):
        for command in body.replace("\\\n", "").splitlines():
            self.run(command)
            assert self.status in MAY_END, command
            self.status = 0

    def run(self, command):
        """Run a command and return its output; None if it is left out."""
        command = command.strip().replace(".venv/bin/", "")
        if not command or any(re.search(pattern, command) for pattern in NOT_RUN):
            return None
        if command != "echo $?":
            assert self.status == 0, command
        done = subprocess.run(
            ["bash", "-c", f"(exit {self.status})\n{command}"],
            cwd=self.folder,
            env=self.env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            timeout=300,
            check=False,
        )
        self.status = done.returncode
        return done.stdout


STEPS = {
    "{literalinclude}": Reader.include,
    "{code-block}": Reader.write,
    "diff": Reader.patch,
    "console": Reader.talk,
    "sh": Reader.do,
}


@pytest.mark.skipif(shutil.which("bash") is None or os.name == "nt", reason="the pages are for a POSIX shell")
@pytest.mark.parametrize("page", [page for page in PAGES if is_run(page)], ids=named)
def test_a_page_is_so(page, tmp_path):
    for name in ("server.py", "my_server.py"):
        shutil.copyfile(SERVER, tmp_path / name)
    if page.name == "CONTRIBUTING.md":
        for name in LINKED:
            (tmp_path / name).symlink_to(ROOT / name)
        (tmp_path / "docs").mkdir()
    Reader(page, tmp_path).read()


@pytest.mark.parametrize("pattern", NOT_RUN)
def test_what_is_left_out_is_there(pattern):
    bodies = [body for page in PAGES for kind, _, _, body in blocks(page) if kind == "sh"]
    lines = [line.removeprefix(".venv/bin/") for body in bodies for line in body.splitlines()]
    assert any(re.search(pattern, line) for line in lines)


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_an_option_that_is_named_is_there(page):
    told = page.read_text(encoding="utf-8").replace("\\\n", "")
    commands = [line.partition(" -- ")[0] for line in told.splitlines() if "mcp-conformance " in line]
    named = {name for command in commands for name in OPTION.findall(command)}
    assert named <= {*options_of(_parser()), "--junitxml", "--hypothesis-seed"}


def options_of(parser):
    """All options of a parser and of the commands in it."""
    for action in parser._actions:
        yield from action.option_strings
        for command in (action.choices or {}).values() if isinstance(action.choices, dict) else ():
            yield from options_of(command)


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_a_configuration_that_is_shown_can_be_read(page, pytestconfig):
    for kind, rest, _, body in blocks(page):
        if "toml" in (kind, rest):
            told = tomllib.loads(body)
            for name in told.get("tool", {}).get("pytest", {}).get("ini_options", {}):
                pytestconfig.getini(name)
            for entry in baseline.parse(body, page.name).entries if "known" in told else ():
                cited = {f"{check.suite}::{check.name}" for check in checked()[entry.requirement]}
                assert set(entry.checks) <= cited


def test_the_example_of_the_readme_is_one_that_is_run():
    (example,) = [body for kind, _, _, body in blocks(ROOT / "README.md") if kind == "python"]
    assert example in (ROOT / "tests" / "test_own_tests.py").read_text(encoding="utf-8")
