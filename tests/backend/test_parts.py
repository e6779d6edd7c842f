"""Names, paths without values, variables, and the text of the option."""

import socket
import struct
import threading

import pytest

from mcp_conformance.backend.choice import Choice, backend, sicknesses
from mcp_conformance.backend.contact import BY_PROXY, HTTP2_ONLY, Contact, shape
from mcp_conformance.backend.line import Caller, take
from mcp_conformance.backend.names import Names
from mcp_conformance.backend.sickness import SICKNESSES
from mcp_conformance.backend.trust import VARIABLES, trusting
from mcp_conformance.sandbox.policy import Unavailable


def question(name, kind=1):
    labels = b"".join(bytes([len(one)]) + one.encode() for one in name.split("."))
    extra = b"\0\0\x29\x04\xd0\0\0\0\0\0\0"  # EDNS, as most resolvers add it
    return (
        b"\x12\x34\x01\0"
        + struct.pack("!HHHH", 1, 0, 0, 1)
        + labels
        + b"\0"
        + struct.pack("!HH", kind, 1)
        + extra
    )


def parts(answer):
    """Return the id, the code, the counts of records, and the last four bytes."""
    flags, *counts = struct.unpack_from("!HHHHH", answer, 2)
    return answer[:2], flags & 0xF, counts, ".".join(map(str, answer[-4:]))


def test_each_name_has_an_address_of_its_own():
    names = Names()
    one, other = (parts(names.answer(question(name))) for name in ("api.example.com", "b.example.com"))
    assert one == (b"\x12\x34", 0, [1, 1, 0, 0], "198.18.0.1")
    assert other[3] == "198.18.0.2"
    assert parts(names.answer(question("API.example.com")))[3] == "198.18.0.1"
    assert [names.name_of(f"198.18.0.{last}") for last in (1, 2, 3)] == [
        *("api.example.com", "b.example.com", "198.18.0.3"),
    ]
    assert names.name_of("10.0.0.1") == "10.0.0.1"


def test_no_name_has_another_record():
    answer = Names().answer(question("api.example.com", kind=28))
    assert parts(answer)[1:3] == (0, [1, 0, 0, 0])


def test_a_name_can_be_unknown():
    assert parts(Names().answer(question("api.example.com"), exists=False))[1:3] == (3, [1, 0, 0, 0])


@pytest.mark.parametrize("message", [b"", b"\0" * 11, question("a.b")[:14]])
def test_what_is_not_a_question_gets_no_answer(message):
    assert Names().answer(message) is None


@pytest.mark.parametrize(
    ("target", "shown"),
    [
        ("/v1/users/1234/items?q=private&key=abc", "/v1/users/{}/items?q&key"),
        ("/bot123:ABCdef/sendMessage", "/{}/sendMessage"),
        ("/repos/octo-cat/x9f8e7d6c5", "/repos/octo-cat/{}"),
        ("//twice//", "//twice//"),
        ("/?sk-1234567890=1", "/?{}"),
        ("/" + "a-long-word/" * 20, ("/" + "a-long-word/" * 20)[:77] + "..."),
        ("*", "{}"),
    ],
)
def test_a_path_is_shown_without_values(target, shown):
    assert shape(target) == shown


def test_a_contact_is_a_line():
    assert (
        str(Contact("api.example.com", 443, "POST", "/v1", 20, True))
        == "POST https://api.example.com/v1 (20 bytes)"
    )
    assert str(Contact("a.b", 443, is_encrypted=True, refusal="unknown ca")) == "https://a.b (unknown ca)"
    assert str(Contact("a.b", 8080, "GET", "/")) == "GET http://a.b:8080/"


def test_variables_of_the_user_stay(tmp_path):
    found = trusting(
        {"HTTPS_PROXY": "x", "PATH": "p", "SSL_CERT_FILE": "old"}, {"CURL_CA_BUNDLE": "own"}, tmp_path
    )
    assert found["CURL_CA_BUNDLE"] == "own"
    assert found["PATH"] == "p"
    assert "HTTPS_PROXY" not in found
    assert {found[name] for name in VARIABLES} == {"own", str(tmp_path)}


def test_the_option_names_sicknesses():
    assert sicknesses("inventory") == ()
    assert sicknesses("sick") == SICKNESSES
    assert [one.name for one in sicknesses("html, 503,html")] == ["html", "503"]


@pytest.mark.parametrize("text", ["", "504", "503,", "inventory,503", "slient"])
def test_another_word_is_refused(text):
    with pytest.raises(ValueError, match="is expected"):
        sicknesses(text)


def test_other_systems_have_no_such_network(monkeypatch):
    monkeypatch.setattr("sys.platform", "darwin")
    with pytest.raises(Unavailable, match="needs Linux, not darwin"):
        backend(Choice())


def test_missing_packages_are_named(monkeypatch):
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setattr("mcp_conformance.backend.choice.find_spec", lambda _: None)
    with pytest.raises(Unavailable, match=r"install 'pytest-mcp-conformance\[backend\]'"):
        backend(Choice())


@pytest.mark.parametrize(
    ("sent", "refusal"),
    [
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", HTTP2_ONLY),
        (b"CONNECT api.example.com:443 HTTP/1.1\r\nHost: api.example.com:443\r\n\r\n", BY_PROXY),
    ],
)
def test_what_is_not_a_request_to_a_host_is_named(sent, refusal):
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.sendall(sent)
        caller = Caller("api.example.com", 80, threading.Event())
        _, contact, _ = take(ours, caller, None, lambda _: False, lambda _: None)
    assert (contact.method, contact.refusal) == ("", refusal)
