"""What is kept of logins on disk: who may read it, and files that something else has made."""

import json
import os
import stat
import string
import sys
from dataclasses import replace

import pytest

from mcp_conformance.cli.main import main
from mcp_conformance.login import store
from mcp_conformance.login.login import Login, OAuthClient
from mcp_conformance.login.web import LoginFailed, Step

pytestmark = pytest.mark.usefixtures("place")
URL = "http://127.0.0.1:9/mcp"
STEP = Step("token", "POST", "HTTP 200", 200, {"cache-control": "no-store"}, {"a": 1})
LOGIN = Login(URL, URL, URL, f"{URL}/token", "", OAuthClient("x"), "", "token", steps=(STEP,))
posix = pytest.mark.skipif(sys.platform == "win32", reason="a kind of file that Windows lacks")


def listed(capfd):
    capfd.readouterr()
    status = main(["login", "--list"])
    out, err = capfd.readouterr()
    return status, [*out.splitlines(), *err.splitlines()]


def test_a_login_is_read_as_it_was_kept():
    store.keep(LOGIN)
    assert store.kept(URL) == LOGIN


B64TOKEN = {*string.ascii_letters, *string.digits, *"-._~+/"}
"""The characters of a bearer token but the last, which may be `=` (RFC 6750, section 2.1)."""


def test_a_token_has_the_characters_of_a_bearer_token_alone():
    def is_token(text):
        try:
            replace(LOGIN, access_token=text)
        except ValueError:
            return False
        return True

    every = [*map(chr, range(0x250)), "\u2028", "\u4e2d", "\ud800", "\udfff", "\U0001f600"]
    assert {one for one in every if is_token(f"a{one}b")} == B64TOKEN
    assert {one for one in every if is_token(f"a{one}")} == {*B64TOKEN, "="}
    assert not any(map(is_token, ("", "=", "=a", "a=b", "a\n", "t" * 17000)))


@pytest.mark.parametrize("name", ["refresh_token", "client_id", "client_secret"])
def test_other_credentials_have_visible_characters(name):
    def has(text):
        try:
            if name == "refresh_token":
                replace(LOGIN, refresh_token=text)
            else:
                OAuthClient(**{"id": "x", name.removeprefix("client_"): text})
        except ValueError:
            return False
        return True

    every = [*map(chr, range(0x250)), "\ud800", "\u4e2d"]
    assert {one for one in every if has(f"a{one}b")} == set(map(chr, range(0x20, 0x7F)))
    assert not any(map(has, (None, 5, {"a": 1}, ["a"], True, "t" * 17000)))


@posix
def test_only_the_user_reads_a_login(place):
    before = os.umask(0)
    try:
        path = store.keep(LOGIN)
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(place.stat().st_mode) == 0o700


@posix
def test_a_link_in_place_of_a_login_is_replaced(place, tmp_path):
    other = tmp_path / "other"
    other.write_text("mine")
    place.mkdir(parents=True)
    path = store.path_of(URL)
    path.symlink_to(other)
    path.with_suffix(f".{os.getpid()}").symlink_to(other)
    assert not store.keep(LOGIN).is_symlink()
    assert other.read_text() == "mine"
    assert store.kept(URL) == LOGIN


def test_what_cannot_be_kept_leaves_no_file(place):
    store.path_of(URL).mkdir(parents=True)
    with pytest.raises(OSError):  # noqa: PT011  (its words are those of the system)
        store.keep(LOGIN)
    assert list(place.iterdir()) == [store.path_of(URL)]


def test_a_login_that_could_not_be_read_is_not_kept(place):
    with pytest.raises(OSError, match="too large"):
        store.keep(replace(LOGIN, steps=(replace(STEP, document={"a": "x" * store.MAX_BYTES}),)))
    assert not place.exists()


def pipe(path):
    os.mkfifo(path)


def device(path):
    path.symlink_to("/dev/zero")


def folder(path):
    path.mkdir()


def loop(path):
    path.symlink_to(path)


@pytest.mark.parametrize(
    "make",
    [folder, *(pytest.param(one, marks=posix) for one in (pipe, device, loop))],
    ids=lambda one: one.__name__,
)
def test_a_login_that_is_no_file_is_a_line(make, place, capfd):
    store.keep(replace(LOGIN, url="http://127.0.0.1:8/mcp"))
    make(store.path_of(URL))
    status, lines = listed(capfd)
    assert status == 4
    assert len(lines) == 2
    assert sum(str(store.path_of(URL)) in line for line in lines) == 1
    assert main(["run", "--auth", "login", "--url", URL]) == 4
    assert len(capfd.readouterr().err.split("\n\n")) == 2


def test_a_login_that_cannot_be_removed_is_a_line(place, capfd):
    store.path_of(URL).mkdir(parents=True)
    assert main(["login", "--logout", "--url", URL]) == 4
    assert capfd.readouterr().err.count("\n") == 1


OTHERS = (None, True, 5, 1e300, "\x1b]0;x\x07", "a\r\nX-Evil: 1", "\ud800", [1], {"a": [1]}, "", -1.0)
"""Values of all kinds; some of them are right in some members."""


def test_a_file_with_any_value_in_a_member_is_read_or_named(place, capfd):
    path = store.keep(LOGIN)
    right = json.loads(path.read_text())
    changes = [{**right, name: other} for name in right for other in OTHERS]
    changes += [
        {**right, "client": {**right["client"], name: other}} for name in right["client"] for other in OTHERS
    ]
    (step,) = right["steps"]
    changes += [{**right, "steps": [{**step, name: other}]} for name in step for other in OTHERS]
    changes += [{name: one for name, one in right.items() if name != left} for left in right]
    for content in [*changes, {**right, "more": 1}, [], 5, [[["version", 1]]]]:
        path.write_text(json.dumps(content))
        read_or_named(path)
    for text in (
        "",
        "{",
        "NaN",
        "[" * 100_000,
        '{"version": 1',
        json.dumps(right).replace("0.0", "1e999"),
        "\0",
    ):
        path.write_text(text)
        read_or_named(path)
        status, (line,) = listed(capfd)
        assert status == 4
        assert str(path) in line
        assert "remove it and log in again" in line


def read_or_named(path):
    try:
        login = store.kept(URL)
    except LoginFailed as error:
        said = str(error)
    else:
        said = f"{login.header[1].decode('ascii')} {login.made} {login.is_expired}"
    assert said.isprintable()
