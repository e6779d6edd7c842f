"""A new option is one row of the table: all that knows options reads them there."""

import json
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest

from mcp_conformance.cli.arguments import chosen_by, parser
from mcp_conformance.options.choosing import choose
from mcp_conformance.options.given import BadOption, Chosen, Given
from mcp_conformance.options.option import Kind, Option
from mcp_conformance.options.readers import OneOf
from mcp_conformance.options.run_options import RunOptions, read_options, read_settings
from mcp_conformance.options.schema import schema, schema_files
from mcp_conformance.options.table import BY_NAME, OPTIONS, SENDS
from mcp_conformance.plugin.options import add_options
from mcp_conformance.target.settings import Settings

sys.path.append(str(Path(__file__).parents[2] / "docs"))
import generating

SETTINGS, OTHERS = ({field.name: field for field in fields(kind)} for kind in (Settings, RunOptions))
PARTS = {
    "http_server": ("url", "http-path", "rate", "header", "header-env", "http"),
    "_login": ("auth",),
    "sandbox": ("sandbox", "allow-read", "allow-write", "allow-net"),
    "backend": ("backend",),
    "env": ("env-file", "env"),
    "call": ("call",),
    "contract": ("contract",),
    "choose": ("profile",),
    "other_headers": ("header-other", "header-other-env"),
}
"""The options that set no field alone, by what is made of them."""
IN_WORDS = {
    "cwd",
    "rules-as-of",
    "time",
    "within",
    "calls-per-tool",
    "max-examples",
    "baseline",
    "since",
    "database",
}
IN_WORDS |= {"require-exercised", "backend"}
IN_WORDS |= {"failing-call", "mutating-call"}
"""The options whose default is described in words, so that no reader can read it."""
ANY_TEXT = {*("url", "http-path", "sandbox", "allow-net", "call", "transcripts", "database")}
ANY_TEXT |= {"tool", "not-tool", "profile"}
ANY_TEXT |= {option.name for option in OPTIONS if option.kind is Kind.SWITCH}
"""The options whose readers take any text; of some, what is made of several judges it."""
each_option = pytest.mark.parametrize("option", OPTIONS, ids=lambda option: option.name)


class PytestParser:
    """A stand-in for pytest's parser, which keeps what is registered."""

    def __init__(self):
        self.flags, self.ini = {}, {}

    def getgroup(self, *_):
        return self

    def addoption(self, flag, **keywords):
        self.flags[flag] = keywords

    def addini(self, name, help, type="string", default=None):
        self.ini[name] = (help, type, default)


@pytest.fixture(scope="module")
def under_pytest():
    registered = PytestParser()
    add_options(registered)
    return registered


@pytest.fixture(scope="module")
def commands():
    return dict(generating.subcommands(parser()))


@each_option
def test_the_commands_of_an_option_and_no_others_have_it(option, commands):
    flag = f"--{option.name}"
    having = {name for name in SENDS if flag in commands[name]._option_string_actions}
    # lock has arguments of these names for the file that it writes
    assert having - ({"lock"} if option.name in ("contract", "update") else set()) == set(option.commands)
    action = commands[option.commands[0]]._option_string_actions[flag]
    assert (action.dest, action.help) == (option.dest, option.full_help)


@each_option
def test_pytest_has_a_flag_and_an_ini_value_for_it(option, under_pytest):
    flag = under_pytest.flags[f"--conformance-{option.name}"]
    help_, _, default = under_pytest.ini[option.ini_name]
    assert not default
    assert flag["help"].startswith(help_)
    assert " --" not in flag["help"].replace("--conformance-", "")


@each_option
def test_the_configuration_file_has_it(option):
    assert schema()["properties"][option.file_key]["description"] == option.full_help


@each_option
def test_the_reference_has_it(option):
    assert any(line.startswith(f"| `--{option.name}") for line in generating.option_lines())


@pytest.mark.parametrize(("path", "text"), schema_files().items(), ids=lambda path: getattr(path, "name", ""))
def test_a_schema_that_the_package_has_is_that_of_the_table(path, text):
    assert path.read_text(encoding="utf-8") == text, "run: python docs/generating.py schema"


def test_names_differ():
    for names in (
        [one.name for one in OPTIONS],
        [one.file_key for one in OPTIONS],
        [one.ini_name for one in OPTIONS],
    ):
        assert len(set(names)) == len(names)


@each_option
def test_its_value_goes_somewhere(option):
    of_several = {name for names in PARTS.values() for name in names}
    known = (option.sets in SETTINGS) + (option.sets in OTHERS) + (option.name in of_several)
    assert (known, not option.sets) == (1, option.name in of_several)


@each_option
def test_the_default_in_the_help_is_that_of_the_code(option):
    if not option.sets or option.kind is not Kind.VALUE or option.name in IN_WORDS:
        return
    field = SETTINGS.get(option.sets) or OTHERS[option.sets]
    assert option.read(Given(option.default, "")) == field.default


@pytest.mark.parametrize("name", sorted(BY_NAME.keys() - ANY_TEXT))
def test_what_it_cannot_read_is_an_error_with_its_name(name):
    wrong = Given("\0 {", "--it") if BY_NAME[name].kind is Kind.VALUE else Given(("\0 {",), "--it")
    with pytest.raises(BadOption, match=r"^--it: .+$"):
        BY_NAME[name].read(wrong)


def test_a_row_is_enough_for_a_new_option(monkeypatch, tmp_path):
    new = Option(
        *("pause", "SECONDS", "a pause"), commands=("run",), reader=BY_NAME["timeout"].reader, sets="time"
    )
    for name in (
        "options.table",
        "options.configuration",
        "options.schema",
        "options.run_options",
        "plugin.options",
    ):
        monkeypatch.setattr(f"mcp_conformance.{name}.OPTIONS", (*OPTIONS, new))
    monkeypatch.setitem(BY_NAME, "pause", new)
    monkeypatch.setattr(
        "mcp_conformance.options.configuration.BY_KEY", {one.file_key: one for one in (*OPTIONS, new)}
    )
    options = parser().parse_args(["run", "--pause", "2s"])
    assert read_settings(chosen_by(options, ["x"], "run")).time == 2
    registered = PytestParser()
    add_options(registered)
    assert "--conformance-pause" in registered.flags
    assert "pause" in schema()["properties"]
    (tmp_path / "mcp-conformance.toml").write_text("command = 'x'\npause = 3\n")
    assert read_settings(choose({}, None, "--", tmp_path)).time == 3


# What the user chose -----------------------------------------------------------------------------


def chosen(**options):
    given = {name.replace("_", "-"): Given(value, f"--{name}") for name, value in options.items()}
    return Chosen(given, Given((sys.executable,), ""), "--")


def test_what_the_user_chose_survives_the_way_to_a_worker(tmp_path):
    given = {
        "strict": Given(True, "conformance_strict", tmp_path),
        "call": Given(("a", "b"), "--conformance-call"),
        "cwd": Given(".", "conformance_cwd", tmp_path),
    }
    before = Chosen(
        given, Given("python x", "--conformance-server"), "--conformance-", ("x", "y"), is_configured=True
    )
    assert Chosen.from_json(before.to_json()) == before


def test_a_path_starts_from_the_place_where_it_is_written(tmp_path):
    (tmp_path / "mcp-conformance.toml").write_text(
        f"command = ['{Path(sys.executable).as_posix()}']\n"
        "transcripts = 'a'\nreport = ['b.json']\ncwd = '.'\n"
    )
    from_file = read_options(choose({}, None, "--", tmp_path))
    assert from_file.settings.transcripts == tmp_path / "a"
    assert (from_file.settings.cwd, from_file.reports) == (tmp_path, (tmp_path / "b.json",))
    from_words = read_options(choose({"transcripts": Given("c", "--transcripts")}, None, "--", tmp_path))
    assert from_words.settings.transcripts == Path("c")


def test_an_error_names_the_option_as_the_user_wrote_it(tmp_path):
    (tmp_path / "mcp-conformance.toml").write_text("command = 'x'\nrules = 'newest'\ntimeout = 'soon'\n")
    file = tmp_path / "mcp-conformance.toml"
    with pytest.raises(BadOption) as in_file:
        read_options(choose({}, None, "--", tmp_path))
    assert str(in_file.value) == f"{file}: timeout: a number of seconds above 0 is expected, not 'soon'"
    ini = {"timeout": Given("soon", "conformance_timeout", tmp_path)}
    with pytest.raises(BadOption, match=r"^conformance_timeout: a number"):
        read_options(choose(ini, None, "--conformance-", tmp_path))


def test_the_report_has_the_names_of_variables_and_headers_only():
    options = read_options(chosen(env=("KEY=secret",), seed="5", report=("a.json",)))
    assert options.given == {"seed": "5", "env": ["KEY"]}
    credentials = {name for name in BY_NAME if name in ("env", "header", "header-other")}
    assert {one.name for one in OPTIONS if one.public_until} == credentials


def test_a_word_of_several_is_completed_by_the_schema():
    words = {one.name for one in OPTIONS if isinstance(one.reader, OneOf)}
    assert {"auth", "fuzz", "fuzz-errors", "sdk-findings", "output-format"} == words
    assert schema()["properties"]["fuzz"]["enum"] == ["none", "quick", "thorough"]


# Imports -----------------------------------------------------------------------------------------

BACKEND = ("trustme", "h11", "mcp_conformance.backend.backend")
"""What only a run with ``--backend`` needs."""


@pytest.mark.parametrize(
    ("module", "slow"),
    [
        ("cli.arguments", ("pytest", "hypothesis", "jsonschema", "ctypes")),
        ("plugin", ("hypothesis", "jsonschema", "ctypes", "mcp_conformance.target.settings")),
        ("options.run_options", ("pytest", *BACKEND)),
        ("scenarios.sick_api", BACKEND),
    ],
)
def test_a_module_is_imported_without_those_that_few_runs_need(module, slow):
    code = f"import json, sys, mcp_conformance.{module}; print(json.dumps([*sys.modules]))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {*slow} & {*json.loads(done.stdout)}


@pytest.mark.parametrize("command", ["doctor", "lock", "soak", "replay"])
def test_a_command_without_checks_needs_no_pytest(command):
    code = f"import json, sys, mcp_conformance.cli.{command}; print(json.dumps([*sys.modules]))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "pytest" not in json.loads(done.stdout)
