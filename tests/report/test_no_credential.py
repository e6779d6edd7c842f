"""A server shows all credentials that it was given: no file and no stream of a run has one."""

import base64
import json
import sys
from pathlib import Path
from urllib.parse import quote

import pytest

from mcp_conformance.transport.redaction import MIN_HALVED
from support.nightly import nightly
from support.running import environment, forked, script, started

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


def parts():
    """Yield what may stand nowhere: the credentials, what they are encoded, and their parts."""
    for secret in (*SECRETS.values(), *FROM_HERE.values(), IN_COMMAND, *IN_FILE.values()):
        raw = secret.encode()
        yield from (secret, json.dumps(secret)[1:-1], quote(secret, safe=""), raw.hex())
        is_halved = len(secret) >= MIN_HALVED and secret not in (SECRETS["TELL_PLAIN"], *FROM_HERE.values())
        yield secret[: len(secret) // 2] if is_halved else secret
        yield base64.b64encode(raw).decode()[:-4]
    yield from ("dbword-99",)


def shown(folder, outputs, but=()):
    """Return the files and streams that have a credential."""
    files = [path for path in Path(folder).rglob("*") if path.is_file() and path not in but]
    texts = {str(path): path.read_bytes() + path.name.encode() for path in files}
    texts |= {f"output {number}": text.encode() for number, text in enumerate(outputs)}
    wanted = {part: part.encode() for part in parts()}
    wanted |= {
        f"{part} as Latin-1": json.dumps(raw.decode("latin-1"))[1:-1].encode() for part, raw in wanted.items()
    }
    return [(name, part) for name, text in texts.items() for part, raw in wanted.items() if raw in text]


def words_of(folder):
    given = [word for name, value in SECRETS.items() for word in ("--env", f"{name}={value}")]
    (folder / "env").write_text("".join(f"{name}={value}\n" for name, value in IN_FILE.items()))
    server = ("--", sys.executable, script("telling_server"), f"--token={IN_COMMAND}")
    return [*given, "--env", "TELL_FROM_HERE", "--env-file", str(folder / "env")], server


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
