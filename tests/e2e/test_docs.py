"""The documentation: every command of every page is run, and its output compared.

A page is read from top to bottom, in a folder of its own:

- ``literalinclude`` and ``code-block`` with a caption write a file of that name;
- ``diff`` changes the file it names;
- ``console`` runs the command behind ``$`` and compares its output; ``...`` matches anything. The exit status
  has to be 0, unless ``echo $?`` comes next;
- ``sh`` runs each line, and fuzzes nothing; the output is not compared, and findings are allowed, but no
  usage error.

Each page starts with the server of the tutorial, as ``server.py`` and as the module ``my_server``.
"""

import doctest
import os
import re
import shlex
import shutil
import subprocess
import sys
import textwrap
import tomllib
from importlib.metadata import version
from pathlib import Path

import pytest
from packaging.version import Version

from mcp_conformance.cli.arguments import parser
from mcp_conformance.report import baseline
from mcp_conformance.requirements.checks import checked
from mcp_conformance.sandbox.sandbox import UNCONFINED_ROOT
from support import environment, forked
from support.nightly import some_of

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PACKAGE = ROOT / "conformance" / "mcp_conformance"
SERVER = DOCS / "examples" / "server.py"
MADE = DOCS / "reference" / "made"
PAGES = [path for path in sorted(ROOT.glob("*.md")) if path.name != "CHANGELOG.md"]
PAGES += [path for path in sorted(DOCS.rglob("*.md")) if MADE not in path.parents]
BLOCK = re.compile(r"^( *)```(?P<kind>\S*) ?(?P<rest>.*)\n(?P<body>(?:.*\n)*?)\1```$", re.MULTILINE)
FENCED = re.compile(r"^( *)```.*?^\1```$|`[^`\n]+`", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)\s]+)\)")
FILE_NAME = re.compile(
    r"(?<![\w/.-])((?:conformance|suites|fixtures|tests|docs|benchmarks|options|plugin|report)/[\w./-]*\w)(?![\w/*])"
)
MAX_README_LINES = 90
OPTION = re.compile(r"(?<![\w-])--(?!conformance)[a-z][a-z-]+")
ALIKE = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE

NOT_RUN = {
    r"^python3 -m venv": "CI does it, as users and contributors do",
    r"^(pytest tests/|tox)": "would run these tests again",
    r"^ruff": "is not installed beside these tests; CI runs it",
    r" -- npx ": "needs npm's registry",
}
"""Commands that are not run, and why."""
SHELL = re.compile(r"[|&;<>$`*]")
"""Matches a command that only a shell can run."""
PROGRESS = re.compile(r"^\d+ of \d+, \d+ s: .*\n", re.MULTILINE)
"""A line that a run prints of itself every 30 s, which it takes on a busy machine only."""
TIMEOUT = 300
ALLOWED_STATUSES = (0, 1)
"""The exit statuses of a command without a usage error: no findings, and findings."""
SOURCES = ("conformance/mcp_conformance/requirements", "suites", "fixtures", "docs/generating.py")
"""The parts of the repository that the commands for contributors read and change."""


def blocks(page):
    """Yield every fenced block of a page: its kind, the rest of that line, its options, its lines."""
    for found in BLOCK.finditer(page.read_text(encoding="utf-8")):
        body = textwrap.dedent(found["body"])
        given = dict(re.findall(r"^:(\S+):[ ]*(.*)\n", body, re.MULTILINE))
        yield found["kind"], found["rest"], given, re.sub(r"^:\S+:.*\n", "", body, flags=re.MULTILINE)


def named(page):
    return page.relative_to(ROOT).as_posix()


def is_run(page):
    return any(kind in STEPS for kind, *_ in blocks(page))


class Reader:
    """A reader who follows a page."""

    def __init__(self, page, folder):
        self.page = page
        self.folder = folder
        self.status = 0
        self.shown = ""
        path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
        self.env = environment(PATH=path, PYTHONPATH=str(folder), COLUMNS="100", LC_ALL="C.UTF-8")

    def read(self):
        for kind, rest, given, body in blocks(self.page):
            if kind in STEPS:
                STEPS[kind](self, rest, given, body)
        assert self.status == 0, self.shown

    def include(self, rest, given, _):
        if "caption" in given:
            shutil.copyfile(self.page.parent / rest, self.folder / given["caption"])

    def write(self, _, given, body):
        if "caption" in given:
            path = self.folder / given["caption"]
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

    def check_session(self, _, __, body):
        for part in re.split(r"^\$ ", body, flags=re.MULTILINE)[1:]:
            command, _, expected = part.partition("\n")
            output = self.run(command)
            if output is not None:
                # The pages are those of a user who is not root.
                output = PROGRESS.sub("", output.replace(f"{UNCONFINED_ROOT}\n", ""))
                shown = f"$ {command}\n{output}"
                assert doctest.OutputChecker().check_output(expected, output.removeprefix("\n"), ALIKE), shown

    def run_lines(self, _, __, body):
        for command in body.replace("\\\n", "").splitlines():
            self.run(command, unfuzzed)
            assert self.status in ALLOWED_STATUSES, command
            self.status = 0

    def run(self, command, changed=lambda _, words: words):
        """Run a command, with its words ``changed``, and return its output; None if it is not to be run."""
        command = command.strip().replace(".venv/bin/", "")
        if not command or any(re.search(pattern, command) for pattern in NOT_RUN):
            return None
        if command != "echo $?":
            assert self.status == 0, f"{self.shown}\n$ {command}"
        if not command.startswith(("mcp-conformance ", "pytest ")) or SHELL.search(command):
            return self.run_in_bash(command)
        program, *words = shlex.split(command, comments=True)
        self.status, output = forked(changed(program, words), self.folder, TIMEOUT, self.env, program)
        self.shown = f"$ {command}\n{output}"
        return output

    def run_in_bash(self, command):
        """Run a command as a shell does, and return its output."""
        done = subprocess.run(
            ["bash", "-c", f"(exit {self.status})\n{command}"],
            cwd=self.folder,
            env=self.env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            timeout=TIMEOUT,
            check=False,
        )
        self.status = done.returncode
        return done.stdout


def unfuzzed(program, words):
    """Return the words of a command that fuzzes nothing: what it would find is seen by nobody."""
    if (program, words[0]) == ("mcp-conformance", "run"):
        return ["run", "--fuzz", "none", *words[1:]]
    return [*words, "--conformance-fuzz=none"] if "--conformance" in words else words


STEPS = {
    "{literalinclude}": Reader.include,
    "{code-block}": Reader.write,
    "diff": Reader.patch,
    "console": Reader.check_session,
    "sh": Reader.run_lines,
}


def copy(source, target):
    if source.is_dir():
        shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
    else:
        target.parent.mkdir(exist_ok=True)
        shutil.copyfile(source, target)


# What a new user types first runs in each push, and one in twelve of the other pages.
FIRST = [page for page in PAGES if page.name in ("README.md", "tutorial.md", "start.md")]
RUN = [*FIRST, *some_of([page for page in PAGES if page not in FIRST], 24, name=named)]


@pytest.mark.skipif(shutil.which("bash") is None or os.name == "nt", reason="the pages are for a POSIX shell")
@pytest.mark.parametrize("page", [page for page in RUN if is_run(page)], ids=named)
def test_commands_of_a_page_print_its_output(page, tmp_path):
    for name in ("server.py", "my_server.py"):
        shutil.copyfile(SERVER, tmp_path / name)
    if page.name == "CONTRIBUTING.md":
        for name in SOURCES:
            copy(ROOT / name, tmp_path / name)
    Reader(page, tmp_path).read()


@pytest.mark.parametrize("pattern", NOT_RUN)
def test_commands_that_are_not_run_exist(pattern):
    bodies = [body for page in PAGES for kind, _, _, body in blocks(page) if kind == "sh"]
    lines = [line.removeprefix(".venv/bin/") for body in bodies for line in body.splitlines()]
    assert any(re.search(pattern, line) for line in lines)


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_options_of_commands_exist(page):
    text = page.read_text(encoding="utf-8").replace("\\\n", "")
    commands = [line.partition(" -- ")[0] for line in text.splitlines() if "mcp-conformance " in line]
    named = {name for command in commands for name in OPTION.findall(command)}
    assert named <= {*options_of(parser()), "--junitxml", "--hypothesis-seed"}


def options_of(parser):
    """Yield all options of a parser and of its commands."""
    for action in parser._actions:
        yield from action.option_strings
        for command in (action.choices or {}).values() if isinstance(action.choices, dict) else ():
            yield from options_of(command)


def configurations(page):
    return [body for kind, rest, _, body in blocks(page) if "toml" in (kind, rest)]


@pytest.mark.parametrize("page", [page for page in PAGES if configurations(page)], ids=named)
def test_configurations_are_valid(page, pytestconfig):
    for body in configurations(page):
        for name in tomllib.loads(body).get("tool", {}).get("pytest", {}).get("ini_options", {}):
            pytestconfig.getini(name)


def test_entries_of_baselines_name_checks_of_their_rule():
    pages = {page.name: body for page in PAGES for body in configurations(page) if "[[expected]]" in body}
    entries = [entry for name, body in pages.items() for entry in baseline.parse(body, name).entries]
    assert entries
    for entry in entries:
        cited = {f"{check.suite}::{check.name}" for check in checked()[entry.requirement]}
        assert set(entry.checks) <= cited


def test_links_between_pages_have_targets():
    broken = []
    for page in PAGES:
        text = FENCED.sub("", page.read_text(encoding="utf-8"))
        for target in LINK.findall(text):
            path = page.parent / target.partition("#")[0]
            if target.startswith(("http:", "https:", "#")) or MADE in path.resolve().parents:
                continue
            if not path.exists():
                broken.append(f"{named(page)}: {target}")
    assert broken == []


def test_the_example_for_contributors_is_in_the_repository():
    files = (
        "conformance/mcp_conformance/requirements/ping.toml",
        "suites/mcp_conformance_suites/test_ping.py",
        "fixtures/mcp_conformance_fixtures/mutants/ping.py",
    )
    examples = [body for kind, _, _, body in blocks(ROOT / "CONTRIBUTING.md") if kind in ("toml", "python")]
    assert len(examples) == len(files)
    for body, name in zip(examples, files, strict=True):
        assert f"{body}\n" in (ROOT / name).read_text(encoding="utf-8"), name


def test_files_that_pages_name_exist():
    missing = []
    for page in [*PAGES, ROOT / "benchmarks" / "RESULTS.md"]:
        for name in FILE_NAME.findall(page.read_text(encoding="utf-8")):
            if "FAMILY" not in name and not any((place / name).exists() for place in (ROOT, PACKAGE)):
                missing.append(f"{named(page)}: {name}")
    assert missing == []


def test_the_changelog_has_a_section_for_the_version():
    """The version is that of the last tag, or of the release that the changelog prepares."""
    sections = re.findall(r"^## (\S+) \(", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    installed = Version(version("pytest-mcp-conformance"))
    assert Version(sections[0]) >= Version(installed.base_version)
    assert installed.base_version in sections
    assert len(set(sections)) == len(sections)


def test_fragments_of_the_changelog_have_a_name_that_towncrier_reads():
    kinds = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["towncrier"]["type"]
    name = re.compile(rf"(\d+|\+[\w-]+)\.({'|'.join(kind['directory'] for kind in kinds)})\.md")
    files = [path.name for path in (ROOT / "changelog.d").iterdir() if path.name != "README.md"]
    assert [file for file in files if not name.fullmatch(file)] == []


def test_the_readme_is_short():
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= MAX_README_LINES
