"""The commands that show a finding again: they have what the user chose, and no credential."""

from pathlib import Path

import pytest

from mcp_conformance.backend.har import Tape
from mcp_conformance.cli.arguments import chosen_by, parser
from mcp_conformance.options.again import again_words, replay_words, selection
from mcp_conformance.options.choosing import choose
from mcp_conformance.options.given import BadOption, Given
from mcp_conformance.options.run_options import read_options
from mcp_conformance.options.table import OPTIONS
from mcp_conformance.requirements.catalogue import all_requirements
from mcp_conformance.requirements.checks import checked, checks
from support.again import read
from support.networks import require_network

NOW = "2025-11-25"
SERVER = ("python3", "server.py")


def chosen(*words, server=SERVER):
    options, rest = parser().parse_known_args(["run", *words])
    assert rest == []
    return read_options(chosen_by(options, server, "run"))


def again(*words, rule="ping.responds", **given):
    return again_words(chosen(*words, **given), [rule], NOW)


@pytest.mark.parametrize(
    "words",
    [
        ("--fuzz-errors", "fail"),
        ("--pedantic",),
        ("--strict",),
        ("--found-values",),
        ("--failing-call", 'fail {"reason": "x"}'),
        ("--mutating-call", "grow {}"),
        ("--timeout", "3"),
        ("--calls-per-tool", "7"),
        ("--max-line", "2"),
        ("--call", "all", "--call", "none"),
        ("--example", 'read {"path": "{folder}/example.txt"}'),
        ("--env", "LEVEL=3"),
        ("--seed", "7", "--fuzz", "thorough"),
    ],
)
def test_the_command_has_the_options_that_made_the_finding(words):
    found = again(*words)
    assert set(words) <= set(found)
    assert found[-3:] == ("--", *SERVER)
    assert again_words(read(found), ["ping.responds"], NOW) == found


def test_the_command_has_its_own_selection():
    words = again("--select", "tools", "--skip", "resources", "--revision", "all", "--report", "a.html")
    start = ("mcp-conformance", "run", "--select", "ping.responds", "--revision", NOW)
    assert words == (*start, "--", *SERVER)


@pytest.mark.parametrize(
    ("words", "family"),
    [
        (("--client", "cursor"), "client.keyword"),
        (("--surroundings",), "surroundings.locale"),
        (("--budget", "start=2s"), "budget.start"),
    ],
)
def test_an_option_for_one_family_is_named_for_its_rules(words, family):
    assert set(words) <= set(again(*words, rule=family))
    assert words[0] not in again(*words)
    assert set(words) <= set(again_words(chosen(*words), [], NOW))


def test_the_command_has_no_credential(monkeypatch):
    monkeypatch.setenv("HEADER", "Bearer abcdefgh")
    words = again("--env", "API_TOKEN=abcdefgh", server=("python3", "--api-key", "abcdefgh"))
    assert words[-5:] == ("API_TOKEN", "--", "python3", "--api-key", "***")
    given = ("--url", "http://127.0.0.1:1/mcp", "--header", "X-A: abcdefgh", "--header-env", "X-B=HEADER")
    found = again(*given, server="")
    assert set(found) >= {"--url", given[1], "X-A=HEADER_X_A", "X-B=HEADER"}
    assert "abcdefgh" not in str(found)


def test_a_header_is_taken_from_a_variable(monkeypatch):
    given = ("--url", "http://127.0.0.1:1/mcp", "--header", "X-Api-Key: abcdefgh", "--header", "x-api-key: 2")
    found = again(*given, server="")
    assert "--header-env x-api-key=HEADER_X_API_KEY_2" in " ".join(found)
    with pytest.raises(BadOption, match="no variable 'HEADER_X_API_KEY' is set here"):
        chosen(*found[2:], server="")
    monkeypatch.setenv("HEADER_X_API_KEY", "abcdefgh")
    monkeypatch.setenv("HEADER_X_API_KEY_2", "2")
    headers = chosen(*found[2:], server="").settings.http.headers
    assert headers == ((b"X-Api-Key", b"abcdefgh"), (b"x-api-key", b"2"))


@pytest.mark.parametrize(
    ("words", "server"),
    [
        ((), ("python3", "--api-key", "***")),
        ((), ("python3", "TOKEN=***")),
        (("--url", "http://127.0.0.1:1/mcp?key=***"), ""),
        (("--example", 'login {"password": "***"}'), SERVER),
    ],
)
def test_a_gap_where_a_credential_was_is_one_line(words, server):
    with pytest.raises(BadOption, match=r"\*\*\* stands for a credential that was left out"):
        chosen(*words, server=server)


def test_markdown_is_not_a_gap():
    assert chosen("--example", 'say {"text": "***loud***"}')


@pytest.mark.parametrize("more", ['env = {A = "3"}', 'header = ["X-A: abcdefgh"]\nhttp = true'])
def test_a_server_of_a_file_with_credentials_is_named(more, tmp_path):
    command = '["python3", "server.py", "{port}"]'
    Path(tmp_path, "mcp-conformance.toml").write_text(f"[servers.here]\ncommand = {command}\n{more}\n")
    options = read_options(choose({}, Given("here", ""), "--", tmp_path))
    words = again_words(options, [], NOW)
    assert words[-2:] == ("--server", "here")


def test_paths_of_a_configuration_start_from_its_folder(tmp_path):
    Path(tmp_path, "data").mkdir()
    Path(tmp_path, "mcp-conformance.toml").write_text(
        'command = ["python3", "server.py"]\ncwd = "data"\ncall = "all"\n'
    )
    options = read_options(choose({}, None, "--", tmp_path))
    words = again_words(options, [], NOW)
    assert words[words.index("--cwd") + 1] == str(tmp_path / "data")


def test_the_file_of_a_recorded_api_is_in_the_folder_of_its_configuration(tmp_path):
    require_network()
    Path(tmp_path, "tape.har").write_text(Tape().to_har(), encoding="ascii")
    Path(tmp_path, "mcp-conformance.toml").write_text(
        'command = ["python3", "server.py"]\nbackend = "replay=tape.har,503"\n'
    )
    words = again_words(read_options(choose({}, None, "--", tmp_path)), [], NOW)
    assert words[words.index("--backend") + 1] == f"replay={tmp_path / 'tape.har'},503"


def test_a_replay_has_the_options_that_it_takes():
    options = chosen("--env", "LEVEL=3", "--call", "all", "--timeout", "3")
    words = replay_words(options, ".mcp-conformance/a.jsonl")
    assert words == (
        *("mcp-conformance", "replay", "--timeout", "3", "--env", "LEVEL=3", ".mcp-conformance/a.jsonl"),
    )
    hidden = replay_words(chosen(server=("python3", "--api-key", "abcdefgh")), "a.jsonl")
    assert hidden[-4:] == ("--", "python3", "--api-key", "***")


@pytest.mark.parametrize(
    ("cited", "broken", "tool", "wanted"),
    [
        (["ping.responds", "ping.empty-result"], "ping.empty-result", "", ("ping.empty-result",)),
        (["ping.responds"], "stdio.stdout-purity", "", ("stdio.stdout-purity", "ping.responds")),
        (["tools.def.name-string"], "tools.def.name-string", "add", ("tools.def.name-string[add]",)),
        (["tools.def.name-string"], "tools.def.name-string", "a]b", ("tools.def.name-string",)),
        (["tools.def.name-string"], "tools.def.name-string", "a\nb", ("tools.def.name-string",)),
    ],
)
def test_the_selection_names_the_broken_rule_first(cited, broken, tool, wanted):
    assert selection(cited, broken, tool) == wanted


def test_no_command_selects_another_rule_than_its_finding():
    """A finding may be of any rule, whichever check raises it; one without a check is not selected."""
    for check in checks():
        for id in all_requirements():
            first = [one.partition("[")[0] for one in selection(check.requirements, id, "add")[:1]]
            assert first == ([id] if id in checked() else []), (check.name, id)


def test_a_command_that_runs_all_checks_has_the_selection_of_the_user():
    given = ("--select", "tools", "--skip", "tools.def")
    assert again_words(chosen(*given), [], NOW)[4:8] == (*given[2:], *given[:2])


def test_each_option_of_a_path_is_marked():
    named = {one.name for one in OPTIONS if one.metavar in ("DIR", "FILE", "PATH") and one.judges}
    assert named - {"http-path"} <= {one.name for one in OPTIONS if one.is_path}
