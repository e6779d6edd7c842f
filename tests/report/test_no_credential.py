"""A server shows all credentials that it was given: no file and no stream of a run has one."""

import base64
import json
import re
import shlex
import sys
from pathlib import Path
from random import Random
from urllib.parse import quote

import pytest

from mcp_conformance.transport.redaction import MIN_HALVED
from support.nightly import nightly
from support.running import environment, forked, script, started
from support.telling_http import telling_over_http

SECRETS = {
    "TELL_BILLS_KEY": 'qu"ote\\d-ümläut-7',
    "TELL_PLAIN": "plainvalue-0815-xyz",
    "TELL_WEB": "postgres://tester:dbword-99%2F1@localhost/x",
    "TELL_NUMBER_PIN": "86420975",
}
FROM_HERE = {"TELL_FROM_HERE": "from-the-shell-31", "ACME": "expanded-word-555"}
IN_COMMAND = "command-word-4242"
IN_FILE = {"TELL_IN_FILE_DSN": "in-a-file-8866"}
FORMATS = ("r.json", "r.html", "r.md", "r.sarif", "r.svg")


def given():
    """Yield the credentials of the runs over stdio, and whether each half of one is to be hidden."""
    for secret in (*SECRETS.values(), *FROM_HERE.values(), IN_COMMAND, *IN_FILE.values()):
        yield (
            secret,
            len(secret) >= MIN_HALVED and secret not in (SECRETS["TELL_PLAIN"], *FROM_HERE.values()),
        )
    yield "dbword-99", False


def parts(secrets):
    """Yield what may stand nowhere: the credentials, what they are encoded, and their parts."""
    for secret, is_halved in secrets:
        raw = secret.encode()
        yield from (secret, json.dumps(secret)[1:-1], quote(secret, safe=""), raw.hex())
        yield secret[: len(secret) // 2] if is_halved and not re.search(r"\s", secret) else secret
        yield base64.b64encode(raw).decode()[:-4] if len(raw) > 5 else secret


def shown(folder, outputs, but=(), secrets=()):
    """Return the files and streams that have a credential."""
    files = [path for path in Path(folder).rglob("*") if path.is_file() and path not in but]
    texts = {str(path): path.read_bytes() + path.name.encode() for path in files}
    texts |= {f"output {number}": text.encode() for number, text in enumerate(outputs)}
    wanted = {part: part.encode() for part in parts(secrets or given())}
    wanted |= {
        f"{part} as Latin-1": json.dumps(raw.decode("latin-1"))[1:-1].encode() for part, raw in wanted.items()
    }
    return [(name, part) for name, text in texts.items() for part, raw in wanted.items() if raw in text]


def words_of(folder):
    words = [word for name, value in SECRETS.items() for word in ("--env", f"{name}={value}")]
    (folder / "env").write_text("".join(f"{name}={value}\n" for name, value in IN_FILE.items()))
    server = ("--", sys.executable, script("telling_server"), f"--token={IN_COMMAND}")
    return [*words, "--env", "TELL_FROM_HERE", "--env-file", str(folder / "env")], server


@nightly
@pytest.mark.parametrize("command", ["run", "doctor", "learn", "lock", "soak"])
def test_no_command_writes_a_credential(command, tmp_path):
    options, server = words_of(tmp_path)
    more = {
        "run": [
            *("-v", "--call", "all", "--junitxml", str(tmp_path / "junit.xml")),
            *(word for name in FORMATS for word in ("--report", str(tmp_path / name))),
        ],
        "learn": ["--call", "all"],
        "soak": ["--for", "2s", "--call", "all", "--report", str(tmp_path / "r.json")],
    }
    env = environment(**FROM_HERE)
    # A fork of pytest has a warning of Hypothesis's plugin, with values; a soak of a user's has none.
    ran = started if command == "soak" else forked
    _, output = ran([command, *options, *more.get(command, []), *server], tmp_path, 120, env)
    outputs = [output]
    for transcript in sorted(tmp_path.rglob("*.jsonl"))[:2]:
        outputs.append(forked(["replay", *options, str(transcript), *server], tmp_path, 60, env)[1])
    assert shown(tmp_path, outputs, [tmp_path / "env"]) == []
    if command == "run":
        assert len(outputs) > 1
        assert "--env TELL_BILLS_KEY" in output


@nightly
def test_a_run_of_a_configuration_writes_no_credential(tmp_path):
    about = {
        "command": sys.executable,
        "args": [script("telling_server"), f"--token={IN_COMMAND}", "${ACME}"],
        "env": {**SECRETS, **IN_FILE, "TELL_FROM_HERE": "${TELL_FROM_HERE}"},
    }
    config = tmp_path / "mcp.json"
    config.write_text(json.dumps({"mcpServers": {"telling": about}}))
    reports = [word for name in FORMATS for word in ("--report", str(tmp_path / name))]
    env = environment(**FROM_HERE)
    _, output = forked(["run", "--config", str(config), "--call", "all", *reports], tmp_path, 120, env)
    _, targets = forked(["survey", "targets", "--from-config", str(config)], tmp_path, 60, env)
    assert shown(tmp_path, [output, targets], [config]) == []
    assert f"--config {config} --server telling" in output


# Over HTTP, and with any text

LETTERS = "abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789"
SIGNS = "-_.~+/=\"\\'<>&%{}|; ,"
OTHERS = "\u00fc\u00e9\u4e2d\u20ac\U0001f600\t"


def any_text(random, more=""):
    """Return a credential: letters with signs between them, so that no ordinary text has it."""
    middle = "".join(random.choices(LETTERS + SIGNS + more, k=random.randrange(8, 40)))
    ends = ("".join(random.choices(LETTERS, k=6)) for _ in range(2))
    return middle.join(ends)


def in_reports(folder):
    reports = [word for name in FORMATS for word in ("--report", str(folder / name))]
    return [*reports, "--junitxml", str(folder / "junit.xml")]


def run_over_http(folder, seed, *more):
    """Run on a server that shows what it gets; return the places with credentials, and the output."""
    random = Random(seed)
    token, header, key = any_text(random).replace(" ", ""), any_text(random), any_text(random, OTHERS)
    with telling_over_http() as url:
        words = ["run", *more, "--call", "all", "--timeout", "5", *in_reports(folder)]
        words += ["--url", f"{url}?api_key={quote(key, safe='')}", "--header", f"X-Tell-Key: {header}"]
        words += ["--header-env", "Authorization=TELL_TOKEN", "--revision", "2025-11-25"]
        env = environment(TELL_TOKEN=f"Bearer {token}")
        _, output = forked(words, folder, 240, env)
        outputs = [output]
        for transcript in sorted(folder.rglob("*.jsonl"))[:2]:
            words = ["replay", "--header-env", "Authorization=TELL_TOKEN", str(transcript)]
            outputs.append(forked(words, folder, 60, env)[1])
    return shown(folder, outputs, (), [(token, True), (header, True), (key, True)]), output


def test_a_run_over_http_writes_no_credential(tmp_path):
    found, output = run_over_http(tmp_path, 1, "--fuzz", "none", "--select", "ping.empty-result")
    assert found == []
    assert "--header-env X-Tell-Key=HEADER_X_TELL_KEY" in output


@nightly
@pytest.mark.parametrize("seed", range(2, 6))
def test_whole_runs_over_http_write_no_credential(seed, tmp_path):
    found, output = run_over_http(tmp_path, seed, "-v")
    assert found == []
    assert "content.no-credentials" in output


@nightly
@pytest.mark.parametrize("seed", range(4))
def test_no_credential_of_any_text_is_written(seed, tmp_path):
    """Under names of credentials and others, in each place of a configuration of our own."""
    random = Random(seed)
    named, plain, in_file, word = (any_text(random, more) for more in (OTHERS, OTHERS, OTHERS[:3], ""))
    toml = {"TELL_DB_PASS": named, "TELL_OTHER": plain}
    env = ", ".join(f"{name} = {json.dumps(value, ensure_ascii=False)}" for name, value in toml.items())
    command = json.dumps([sys.executable, script("telling_server"), f"--token={word}"])
    config = tmp_path / "mcp-conformance.toml"
    config.write_text(f'[servers.telling]\ncommand = {command}\nenv = {{ {env} }}\ncall = "all"\n')
    (tmp_path / "env").write_text(f"TELL_FILE_PAT={json.dumps(in_file, ensure_ascii=False)}\n")
    more = ["--env-file", str(tmp_path / "env"), "--server", "telling", *in_reports(tmp_path)]
    _, output = forked(["run", *more], tmp_path, 240)
    secrets = [(named, True), (plain, False), (in_file, True), (word, True)]
    assert shown(tmp_path, [output], [config, tmp_path / "env"], secrets) == []
    assert "--server telling" in output


@nightly
def test_pytest_writes_no_credential(tmp_path):
    """The cache of pytest, its JUnit report and its terminal."""
    words, server = words_of(tmp_path)
    words = [
        word.replace("--env", "--conformance-env", 1) if word.startswith("--") else word for word in words
    ]
    ours = ["--conformance", shlex.join(server[1:]), "--conformance-call", "all", "-v", "-rA"]
    env = environment(**FROM_HERE)
    _, output = forked([*ours, *words, *in_reports(tmp_path)[-2:]], tmp_path, 240, env, program="pytest")
    assert "conformance" in output
    assert shown(tmp_path, [output], [tmp_path / "env"]) == []


@nightly
@pytest.mark.parametrize("seed", range(2))
def test_a_survey_writes_no_credential(seed, tmp_path):
    """Credentials of any text, in each place of a target and in the options for all."""
    random = Random(seed)
    named, plain, word, option, header, of_all, password = (
        any_text(random, more) for more in (OTHERS, OTHERS, "", "", "", OTHERS, "")
    )
    about = {
        "name": "telling",
        "command": [sys.executable, script("telling_server"), f"--token={word}"],
        "env": {"TELL_DB_PASS": named, "TELL_OTHER": plain},
        "options": ["--env", f"TELL_OPTION={option}", "--call", "all"],
        "setup": [f"true {shlex.quote(f'--password={password}')}"],
    }
    missing = {**about, "name": "missing", "command": ["no-such-program", f"--token={word}"]}
    remote = {
        "name": "remote",
        "url": f"https://me:{quote(password, safe='')}@localhost/mcp",
        "options": ["--header", f"X-Key: {header}"],
    }
    targets = tmp_path / "targets.jsonl"
    targets.write_text("".join(json.dumps(one) + "\n" for one in (about, missing, remote)))
    results, site = str(tmp_path / "results"), str(tmp_path / "site")
    how = ["--workers", "1", "--results", results, "--installations", str(tmp_path / "installed")]
    for_all = ["--", "--env", f"TELL_OF_ALL={of_all}", "--timeout", "5"]
    outputs = [forked(["survey", "run", str(targets), *how, *for_all], tmp_path, 500)[1]]
    outputs += [
        forked(["survey", *words], tmp_path, 60)[1]
        for words in (["site", results, site], ["table", results], ["diff", results, results])
    ]
    secrets = [(one, True) for one in (named, word, header, password)]
    secrets += [(one, False) for one in (plain, option, of_all)]
    assert shown(tmp_path, outputs, [targets], secrets) == []
    (result,) = Path(results).glob("*/telling-*.json")
    assert json.loads(result.read_text())["findings"], outputs[0]
