"""A server runs in a throwaway folder without secrets, unless options change that."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from mcp_conformance.transport import interrupts, process_tree
from mcp_conformance.transport.process_tree import Tree, no_process_left
from mcp_conformance.transport.throwaway import (
    Throwaway,
    importable,
    rooted,
    throwaway_folder,
    without_secrets,
)
from support import run_suite

REPORTER = """
import json, os, sys
seen = {"cwd": os.getcwd(), "argv": sys.argv[1:], "env": dict(os.environ)}
json.dump(seen, open(os.environ["REPORT"], "w"))
"""
SLEEPS = "import time; time.sleep(600)"


def reported_by_a_server(folder, monkeypatch, *options, words=()):
    """Return the directory, arguments and environment of a server run from ``folder / "here"``."""
    here = folder / "here"
    here.mkdir()
    (here / "data").mkdir()
    (here / "server.py").write_text(REPORTER)
    monkeypatch.setenv("GITHUB_TOKEN", "hush")
    monkeypatch.setenv("MY_API_KEY", "hush")
    monkeypatch.setenv("COLOUR", "green")
    report = folder / "report.json"
    run_suite((sys.executable, "server.py", *words), "--env", f"REPORT={report}", *options, cwd=here)
    return json.loads(report.read_text())


def test_a_server_runs_in_a_throwaway_folder(tmp_path, monkeypatch):
    seen = reported_by_a_server(tmp_path, monkeypatch)
    root = Path(seen["cwd"]).parent
    assert root.name.startswith("mcp-conformance-")
    assert not root.exists()
    for name in ("HOME", "TMPDIR", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"):
        assert Path(seen["env"][name]).is_relative_to(root)


def test_a_server_gets_no_secrets(tmp_path, monkeypatch):
    seen = reported_by_a_server(tmp_path, monkeypatch)["env"]
    assert "GITHUB_TOKEN" not in seen
    assert "MY_API_KEY" not in seen
    assert seen["COLOUR"] == "green"
    assert seen["PATH"] == os.environ["PATH"]


def test_a_named_secret_is_passed_on(tmp_path, monkeypatch):
    seen = reported_by_a_server(tmp_path, monkeypatch, "--env", "GITHUB_TOKEN")["env"]
    assert seen["GITHUB_TOKEN"] == "hush"
    assert "MY_API_KEY" not in seen


def test_home_and_directory_can_be_kept(tmp_path, monkeypatch):
    seen = reported_by_a_server(tmp_path, monkeypatch, "--cwd", ".", "--inherit-home")
    assert seen["cwd"] == str(tmp_path / "here")
    home = "USERPROFILE" if sys.platform == "win32" else "HOME"
    assert seen["env"][home] == os.environ[home]


def test_relative_paths_of_the_command_become_absolute(tmp_path, monkeypatch):
    seen = reported_by_a_server(tmp_path, monkeypatch, words=("data", "nothing", "--flag"))
    assert seen["argv"] == [str(tmp_path / "here" / "data"), "nothing", "--flag"]


def test_a_module_of_this_directory_still_runs(tmp_path, monkeypatch):
    monkeypatch.delenv("PYTHONSAFEPATH", raising=False)
    (tmp_path / "my_server.py").write_text("import pathlib; pathlib.Path(__file__).with_name('ran').touch()")
    run_suite((sys.executable, "-m", "my_server"), cwd=tmp_path)
    assert (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    ("command", "becomes"),
    [
        (("python", "server.py"), ("python", "{here}/server.py")),
        (("./server.py",), ("{here}/./server.py",)),
        (("python", "-m", "data"), ("python", "-m", "data")),
        (("server.py",), ("server.py",)),
        (("node", "missing.js", ""), ("node", "missing.js", "")),
        (("node", "-e", "x" * 5000), ("node", "-e", "x" * 5000)),
    ],
)
def test_files_of_a_command_become_absolute_paths(command, becomes, tmp_path):
    (tmp_path / "server.py").touch()
    (tmp_path / "data").mkdir()
    wanted = [Path(word.format(here=tmp_path)) if "{" in word else word for word in becomes]
    assert rooted(command, tmp_path) == tuple(map(str, wanted))


def test_importable_changes_the_path_of_python_modules_only(tmp_path):
    assert importable(["node", "-m", "x"], tmp_path, {}) == {}
    assert importable(["python3", "x.py"], tmp_path, {}) == {}
    assert importable(["python3", "-m", "x"], tmp_path, {"PYTHONSAFEPATH": "1"}) == {}
    path = {"PYTHONPATH": "elsewhere"}
    assert importable(["python3.12", "-m", "x"], tmp_path, path) == {
        "PYTHONPATH": f"{tmp_path}{os.pathsep}elsewhere"
    }


WITHHELD = {
    "AWS_SECRET_ACCESS_KEY": "x",
    "OPENAI_API_KEY": "x",
    "OPENAI_KEY_2": "x",
    "BILLSKEY": "x",
    "npm_config__authToken": "x",
    "githubToken": "x",
    "DB_PASSWORD": "x",
    "PGPASS": "x",
    "SMTP_PASS": "x",
    "DBPass": "x",
    "SSH_KEY_PASSPHRASE": "x",
    "GITLAB_PAT": "x",
    "MYSQL_PWD": "x",
    "SENTRY_DSN": "x",
    "SSH_AUTH_SOCK": "x",
    "OAuth2ClientSecret": "x",
    "AzureWebJobsConnectionString": "x",
    "SQL_CONN_STR": "x",
    "DB_CREDS": "x",
    "KUBECONFIG": "x",
    "PGPASSFILE": "x",
    "DATABASE_URL": "postgres://localhost/x",
    "databaseUrl": "x",
    "REDIS_URL": "redis://localhost:6379",
    "REDIS_TLS_URL": "x",
    "MONGODB_URI": "mongodb://localhost",
    "SQLALCHEMY_DATABASE_URI": "x",
    "CELERY_BROKER_URL": "x",
    "ACME": "https://me:some-word@localhost/x",
    "ACME_2": "https://ghp-some-word@localhost/x",
    "HTTPS_PROXY": "http://me:some-word@proxy:3128",
    "ACME_3": "Server=h;User Id=sa;Password=some-word;",
    "ACME_4": '{"private_key": "some-word"}',
    "ACME_5": "https://localhost/x?api_key=some-word",
    "ACME_6": "ghp_0123456789abcdefghij",
}
GIVEN = {
    "PATH": "/opt/npm-global-folder-of-mine:/nowhere",
    "LANG": "C",
    "VIRTUAL_ENV": "x",
    "CI": "true",
    "KEYBOARD": "x",
    "MONKEY": "x",
    "MONKEY_PATCH": "x",
    "HOTKEYS": "x",
    "COMPASS": "x",
    "BYPASS": "x",
    "PATTERN": "x",
    "SPIN": "x",
    "PWD": "/x",
    "OLDPWD": "/x",
    "PYTHONPATH": "x",
    "GIT_AUTHOR_NAME": "x",
    "AUTHORS": "x",
    "TOKENIZERS_PARALLELISM": "false",
    "MAX_TOKENS": "4096",
    "ACME_URL": "https://localhost/x?page=2",
    "HTTP_PROXY": "http://proxy:3128",
    "GIT_REMOTE": "ssh://git@localhost/x",
    "LS_COLORS": "di=01;34:*.key=01;31:*.pem=00;32",
    "SETTINGS": '{"colour": "green"}',
}


def test_a_server_gets_no_variables_with_credentials():
    assert list(without_secrets({**WITHHELD, **GIVEN})) == list(GIVEN)


def test_the_folder_is_removed():
    throwaway = Throwaway()
    (throwaway.work / "file").touch()
    throwaway.remove()
    assert not throwaway.root.exists()


@pytest.mark.skipif(os.name != "posix", reason="groups of processes")
def test_an_interrupt_leaves_no_process(tmp_path):
    """It comes after the start, when nothing else knows the process yet."""
    before = Tree([sys.executable, "-c", SLEEPS], None, None)
    with pytest.raises(KeyboardInterrupt), throwaway_folder() as throwaway:  # noqa: PT012
        lost = Tree([sys.executable, "-c", SLEEPS], None, throwaway.work)
        raise KeyboardInterrupt
    assert lost.wait(10) == -signal.SIGKILL
    assert before.exit_code is None
    for tree in (before, lost):
        tree.kill()
        with tree.child:
            pass  # closes its pipes


@pytest.mark.skipif(os.name != "posix", reason="groups of processes")
@pytest.mark.parametrize(
    "handler", [signal.default_int_handler, interrupts._interrupt], ids=["pytest's", "ours"]
)
def test_an_interrupt_during_a_start_leaves_no_process(handler, monkeypatch):
    """It comes when the process runs and nothing else knows it yet, and no other process of ours does."""
    monkeypatch.setattr(process_tree, "_RUN", process_tree._Run())
    start, started = subprocess.Popen, []

    def interrupted_start(*words, **more):
        started.append(start(*words, **more))
        signal.raise_signal(signal.SIGINT)
        return started[0]

    monkeypatch.setattr(subprocess, "Popen", interrupted_start)
    before = signal.signal(signal.SIGINT, handler)
    try:
        with pytest.raises(KeyboardInterrupt), no_process_left():  # noqa: PT012
            Tree([sys.executable, "-c", SLEEPS], None, None)
            time.sleep(600)  # until the interrupt comes
    finally:
        signal.signal(signal.SIGINT, before)
    with started[0] as child:
        try:
            status = child.wait(10)
        finally:
            child.kill()
    assert status == -signal.SIGKILL


@pytest.mark.skipif(os.name != "posix", reason="Windows has no such signals")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_a_run_in_order(number):
    def run():
        with interrupts.interruptible():
            os.kill(os.getpid(), number)
            signal.sigtimedwait([], 5)

    before = signal.signal(number, signal.SIG_DFL)  # nohup ignores one of them
    try:
        with pytest.raises(KeyboardInterrupt, match=number.name):
            run()
        assert signal.getsignal(number) is signal.SIG_DFL
    finally:
        signal.signal(number, before)
