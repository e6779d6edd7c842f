"""A tap in a server's place: bytes, ends and signals are those of the server, whatever is recorded."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from mcp_conformance.tap.sessions import Recorded
from mcp_conformance.tap.tape import Tape, What
from support.nightly import nightly, some_of
from support.session_rows import file_errors

TAP = [sys.executable, "-m", "mcp_conformance", "tap"]
ECHO = """
import os, sys
os.write(2, b"ready \\xff\\n")
while data := os.read(0, 65536):
    at = 0
    while at < len(data): at += os.write(1, data[at:])
os.write(2, b"over")
sys.exit(7)
"""


def tapped(folder: Path, code: str, *options: str) -> list[str]:
    return [*TAP, "--to", str(folder), *options, "--", sys.executable, "-c", code]


def the_file(folder: Path) -> Path:
    """Return the file of the session, which is whole when the tap has ended."""
    (path,) = folder.glob("*.jsonl")
    assert '{"status": ' in path.read_text()
    assert file_errors(path) == []
    return path


def the_session(folder: Path) -> Recorded:
    return Recorded.read(the_file(folder))


def exchange(command: list[str], sent: bytes, **env: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        command, input=sent, capture_output=True, timeout=60, check=False, env={**os.environ, **env}
    )


def test_every_byte_passes_and_is_recorded(tmp_path: Path) -> None:
    sent = (
        b'{"a": 1}\r\n\xff\xfe broken\n\n' + bytes(range(256)) * 400 + b"\n" + b"x" * 300_000 + b"\nunended"
    )
    passed = exchange(tapped(tmp_path / "sessions", ECHO), sent)
    assert (passed.stdout, passed.stderr, passed.returncode) == (sent, b"ready \xff\nover", 7)
    session = the_session(tmp_path / "sessions")
    for side in (True, False):
        lines = [row["raw"].encode("latin-1") for row in session.rows if row.get("sent") is side]
        assert b"\n".join(lines) == sent
    assert session.rows[-1]["status"] == 7


def test_the_two_dashes_may_be_left_out(tmp_path: Path) -> None:
    command = [one for one in tapped(tmp_path, "print('--', end='')") if one != "--"]
    assert exchange(command, b"").stdout == b"--"


@nightly
def test_a_client_may_close_its_side_first(tmp_path: Path) -> None:
    code = "import sys; said = sys.stdin.read(); print(said.upper())"
    passed = exchange(tapped(tmp_path, code), b"late")
    assert passed.stdout == b"LATE\n".replace(b"\n", os.linesep.encode())


@nightly
def test_a_server_that_closes_its_output_is_seen_to(tmp_path: Path) -> None:
    code = "import os, sys; os.close(1); sys.stdin.read()"
    with subprocess.Popen(tapped(tmp_path, code), stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.read() == b""
        assert process.poll() is None
        process.communicate(b"", timeout=60)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no signals")
@pytest.mark.parametrize("number", some_of([signal.SIGTERM, signal.SIGINT, signal.SIGUSR1], 2))
def test_a_signal_reaches_the_server_once(tmp_path: Path, number: int) -> None:
    code = f"""
import os, signal, sys
def handle(number, frame):
    os.write(1, b"got %d\\n" % number)  # the print below may be under way
signal.signal({number:d}, handle)
print("ready", flush=True)
sys.stdin.read()
"""
    command = tapped(tmp_path, code)
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(number)
        assert process.stdout.readline() == f"got {number:d}\n"
        assert process.communicate("", timeout=60)[0] == ""  # the end of stdin must not overtake it
    assert process.returncode == 0


@nightly
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no signals")
def test_a_server_that_dies_of_a_signal_takes_the_tap_along(tmp_path: Path) -> None:
    code = "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"
    assert exchange(tapped(tmp_path, code), b"").returncode == -signal.SIGKILL


@nightly
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no signals")
def test_a_client_that_reads_nothing_can_end_the_tap(tmp_path: Path) -> None:
    code = "import os, sys; os.write(2, b'ready')\nwhile True: os.write(1, b'x' * 65536)"
    command = tapped(tmp_path, code)
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stderr is not None
        assert process.stderr.read(5) == b"ready"
        process.terminate()
        assert process.wait(timeout=60) == -signal.SIGTERM


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no signals")
def test_a_server_does_not_outlive_a_tap_that_is_killed(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "alive")
    code = f"""
import signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
file = open({str(tmp_path / "alive")!r}, "w")
file.write("alive")
file.flush()
while True:
    time.sleep(9)
"""
    command = tapped(tmp_path / "file" / "no folder", code)  # nothing is recorded, and still it is ended
    (tmp_path / "file").write_text("")
    with subprocess.Popen(command, stdin=subprocess.PIPE) as process, (tmp_path / "alive").open() as file:
        assert file.read(5) == "alive"
        process.kill()
        assert file.read() == ""


def test_what_cannot_be_started_is_one_line(tmp_path: Path) -> None:
    passed = exchange([*TAP, "--to", str(tmp_path), "--", "no-such-server"], b"")
    assert passed.returncode == 4
    assert passed.stderr.decode().splitlines() == [
        "mcp-conformance: tap: no-such-server: No such file or directory"
    ]


def test_bytes_pass_when_nothing_can_be_recorded(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    passed = exchange(tapped(tmp_path / "file" / "sessions", ECHO), b"still\n")
    assert (passed.stdout, passed.returncode) == (b"still\n", 7)
    assert b"the session is not recorded" in passed.stderr
    assert passed.stderr.endswith(b"mcp-conformance: tap: nothing of the session is recorded\n")


def test_a_recorder_that_does_not_start_is_said(capfd: pytest.CaptureFixture[str]) -> None:
    for recorder in (["/no/such/program"], [sys.executable, "-c", "raise SystemExit(1)"]):
        tape = Tape(recorder)
        tape.add(What.STARTED, b"[]")
        tape.end(0, 60)
        assert capfd.readouterr().err == "mcp-conformance: tap: nothing of the session is recorded\n"


SHADOWED = ("json", "html", "typing", "base64", "uuid", "hashlib", "argparse", "pathlib", "secrets", "struct")


def test_a_module_of_the_working_directory_is_not_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is the server's: a server in Python has the same path and environment as without us."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PYTHONSAFEPATH", raising=False)  # tox sets it
    for name in SHADOWED:
        Path(f"{name}.py").write_text("import os; os.write(2, b'run'); raise SystemExit(0)")
    Path("server.py").write_text(
        "import os, sys; print('PYTHONSAFEPATH' in os.environ, sys.path[0] == os.getcwd())"
    )
    command = [*TAP, "--to", str(tmp_path / "sessions"), "--", sys.executable, "-m", "server"]
    passed = exchange(command, b"")
    assert (passed.stdout.split(), passed.stderr, passed.returncode) == ([b"False", b"True"], b"", 0)
    assert the_session(tmp_path / "sessions").rows[-1]["status"] == 0


TOKEN = "9f8e7d6c5b4a39281706f5e4d3c2b1a0"
PASSWORD = "Wonderland-17-Rabbit"


def test_no_credential_is_written_down(tmp_path: Path) -> None:
    def call(**arguments: Any) -> bytes:
        body = {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "tools/call",
            "params": {"name": "a", "arguments": arguments},
        }
        return json.dumps(body).encode() + b"\n"

    sent = call(text=f"I am {PASSWORD}") + call(login={"password": PASSWORD}) + call(text=TOKEN)
    sent += call(text=TOKEN[:20]) + call(text=TOKEN[20:]) + call(token=TOKEN[5:], progressToken="plain")
    passed = exchange(tapped(tmp_path, ECHO), sent, MY_API_TOKEN=TOKEN)
    assert passed.stdout == sent
    path = the_file(tmp_path)
    written = path.read_text()
    parts = [TOKEN[at : at + 12] for at in range(len(TOKEN) - 12)]
    assert not [one for one in (PASSWORD, *parts) if one in written]
    assert "plain" in written
    assert oct(path.stat().st_mode & 0o077) == "0o0"


def test_a_session_is_judged_while_it_runs(tmp_path: Path) -> None:
    sent = b'{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}\n'
    passed = exchange(tapped(tmp_path / "a", ECHO, "--judge"), sent)
    assert (
        b"mcp-conformance: client MUST fromclient.initialize-first: tools/list comes before" in passed.stderr
    )
    exchange(tapped(tmp_path / "b", ECHO, "--judge", str(tmp_path / "log")), sent)
    assert "fromclient.initialize-first" in (tmp_path / "log").read_text()


def test_a_session_is_recorded_though_the_log_cannot_be_written(tmp_path: Path) -> None:
    sent = b'{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}\n'
    passed = exchange(tapped(tmp_path / "a", ECHO, "--judge", str(tmp_path / "no folder" / "log")), sent)
    assert b"tap: --judge: [Errno 2]" in passed.stderr
    assert [*the_session(tmp_path / "a").lines]


@nightly
def test_ten_thousand_messages_pass_unchanged(tmp_path: Path) -> None:
    one = b'{"jsonrpc": "2.0", "id": %d, "method": "ping", "params": {"text": "%s"}}\n'
    sent = b"".join(one % (number, b"y" * (number % 997)) for number in range(10_000))
    assert exchange(tapped(tmp_path, ECHO), sent).stdout == sent
    lines = [row["raw"].encode() + b"\n" for row in the_session(tmp_path).rows if row.get("sent") is True]
    assert b"".join(lines) == sent
