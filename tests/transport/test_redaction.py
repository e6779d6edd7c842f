"""No text that is shown or written has a credential, however the server encodes it, and where it is cut."""

import base64
import html
import json
import string
import time
from collections.abc import Callable
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from mcp_conformance.client.message_log import CompressedLine
from mcp_conformance.protocol.jsonrpc import Line
from mcp_conformance.protocol.text import shorten
from mcp_conformance.transport.credentials import is_public, is_secret_name, redacted, secrets_of
from mcp_conformance.transport.redaction import Redaction

NAMES = (
    "BILLS_KEY",
    "OPENAI_KEY",
    "DB_PASS",
    "GITHUB_PAT",
    "SENTRY_DSN",
    "SSH_PASSPHRASE",
    "apiKey",
    "DB_PWD",
)
ENCODINGS: dict[str, Callable[[str], str]] = {
    "as it is": str,
    "Latin-1": lambda text: text.encode().decode("latin-1"),
    "JSON": json.dumps,
    "JSON without escapes": lambda text: json.dumps(text, ensure_ascii=False),
    "JSON in JSON": lambda text: json.dumps(json.dumps({"a": text})),
    "each letter in JSON": lambda text: "".join(f"\\u{ord(char):04x}" for char in text),
    "URL": lambda text: quote(text, safe=""),
    "query": quote_plus,
    "URL in JSON": lambda text: json.dumps({"url": f"https://h/?a={quote(text)}"}),
    "JSON in a URL": lambda text: quote(json.dumps({"a": text})),
    "HTML": html.escape,
    "Python": repr,
    "ASCII Python": ascii,
    "base64": lambda text: base64.b64encode(text.encode()).decode(),
    "base64 of more": lambda text: base64.urlsafe_b64encode(b"user:" + text.encode() + b"!").decode(),
    "hexadecimal": lambda text: text.encode().hex(),
}
PRINTABLE = string.ascii_letters + string.digits + "\"\\/'%&<>+=:;,.-_~!#$ @{}[]äß漢😀\n"
SECRETS = st.text(PRINTABLE, min_size=8, max_size=40)


@pytest.mark.parametrize("encoding", ENCODINGS)
@settings(max_examples=40)
@given(secret=SECRETS, name=st.sampled_from(NAMES))
def test_no_encoding_shows_a_credential(encoding, secret, name):
    assume(not is_public(name, secret) and len(secret.strip()) >= 8)
    assume(not (encoding == "each letter in JSON" and any(ord(char) > 0xFFFF for char in secret)))
    encoded = ENCODINGS[encoding](secret)
    redaction = Redaction(secrets_of(("server",), {name: secret}))
    shown = redaction.text(f"before {encoded} after")
    assert encoded.strip("\"'{}") not in shown
    assert secret not in shown
    assert shown.startswith("before")
    assert shown.endswith("after")
    raw = redaction(Line.received(f'{{"a":"{encoded}"}}'.encode())).raw
    assert secret not in raw.decode()


@given(secret=SECRETS, cut=st.integers(4, 40), before=st.integers(0, 300))
@settings(max_examples=100)
def test_a_cut_text_shows_no_part_of_a_credential(secret, cut, before):
    assume(len(set(secret)) > 5 and secret.strip() == secret and not is_public("BILLS_KEY", secret))
    text = "." * before + secret + "," * 300
    shown = Redaction(secrets_of((), {"BILLS_KEY": secret})).text(shorten(text, 2 * before + 2 * cut))
    assert secret[:4] not in shown


@pytest.mark.parametrize(
    ("command", "environment", "headers", "text"),
    [
        ((), {"URL": "https://u:urlsecret@host/x"}, (), "https://u:url [... 41 more ...] end"),
        ((), {"URL": "https://u:urlsecret@host/x"}, (), "login with urlsecret failed"),
        (("s", "--header", "Authorization: Bearer urlsecret"), {}, (), "token urlsecret is wrong"),
        ((), {}, [("Authorization", "Bearer urlsecret")], "token urlsecret is wrong"),
        ((), {}, [("Authorization", "Basic dTp1cmxzZWNyZXQ=")], "user u, password urlsecret"),
        ((), {}, [("X-Tenant", "urlsecret-9")], "tenant urlsecret-9"),
        (("https://h/mcp?api_key=urlsecret",), {}, (), "GET /mcp?api_key=urlsecret"),
        (("https://h/mcp?k=url%2Fsecret",), {}, (), "k is url/secret"),
        (("s", "--key", "urlsecret"), {}, (), "urlsecret"),
        (("env", "KEY=urlsecret", "s"), {}, (), "urlsecret"),
        ((), {"DB": "Server=h;User Id=sa;Password=urlsecret;"}, (), "cannot log in with urlsecret"),
        ((), {"GOOGLE": '{"private_key": "urlsecret"}'}, (), "urlsecret"),
        ((), {"A_KEY": "urlsecret-0123456789"}, (), "urlsecret-...6789"),
        ((), {"A_KEY": "urlsecret-0123456789"}, (), "the key begins with urlsecret-"),
        ((), {"BILLS": "urlsecret7"}, (), "urlsecret7"),
        ((), {}, (), "postgres://me:urlsecret@host/db"),
        ((), {}, (), "-----BEGIN RSA PRIVATE KEY-----\nurlsecret\n-----END RSA PRIVATE KEY-----"),
        ((), {}, (), '{"key":"-----BEGIN PRIVATE KEY-----\\nurlsecret'),
        ((), {}, (), "AKIAURLSECRET0000000"),
    ],
)
def test_no_part_of_a_credential_is_shown(command, environment, headers, text):
    shown = Redaction(secrets_of(command, environment, headers)).text(text)
    assert "***" in shown
    assert not [part for part in ("url [", "urlsecret", "url/secret", "URLSECRET", "6789") if part in shown]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("DEBUG", "1"), ("DEBUG", "true"), ("NODE_ENV", "production"), ("PORT", "8080"), ("LEVEL", "verbose"),
        ("API_AUTH", "oauth"), ("HOME", "/home/somebody"), ("ROOT", "/usr/bin"), ("TIMEOUT", "30000"),
        ("REGION", "europe"), ("DB_DSN", "sqlite:////x/t.db"), ("CREDENTIALS_FILE", __file__),
        ("AUTHOR", "a b"), ("MAX_TOKENS", "100000"),
    ],
)  # fmt: skip
def test_common_values_are_no_credentials(name, text):
    assert secrets_of((), {name: text}) == ()


def test_a_short_credential_is_left_out_as_a_whole_word():
    redaction = Redaction(secrets_of((), {"PIN": "4711"}))
    assert redaction.text("pin 4711, number 147110") == "pin ***, number 147110"
    assert redaction({"pin": 4711, "n": 4712}) == {"pin": "***", "n": 4712}


@pytest.mark.parametrize("name", NAMES)
def test_names_of_credentials(name):
    assert is_secret_name(name)


@pytest.mark.parametrize(
    "name", ["PATH", "KEYBOARD", "COMPASS", "PWD", "OLDPWD", "SSL_CERT_FILE", "PYTHONPATH", "max-tokens"]
)
def test_names_that_are_not_of_credentials(name):
    assert not is_secret_name(name)


def test_a_url_is_shown_without_its_values():
    (shown,) = redacted(["https://me:pw1234@h/x?api_key=abcdefg&page=2"])
    assert shown == "https://***@h/x?api_key=***&page=2"


def test_megabytes_are_redacted_in_seconds():
    """A megabyte takes a tenth of a second with twenty credentials."""
    environment = {f"A{number}_KEY": f"secret-{number}-0123456789" for number in range(20)}
    redaction = Redaction(secrets_of((), environment))
    text = json.dumps([{"a": 'a "quoted" text of ordinary words'}] * 40_000)
    begun = time.process_time()
    assert redaction.text(text) is text
    assert time.process_time() - begun < 5


def test_a_compressed_line_is_redacted_if_it_has_a_credential():
    """It is decompressed each time it is read, so that no two of its bytes are the same object."""
    redact = Redaction(secrets_of((), {"BILLS_KEY": "hidden-value-7"}))
    plain, telling = (
        CompressedLine(Line(sent=False, raw=b'{"a": "' + text + b'"}', at=1.0, is_lost=True))
        for text in (b"x" * 100, b"hidden-value-7")
    )
    assert redact([plain]) == [plain]
    (shown,) = redact([telling])
    assert (shown.raw, shown.at, shown.is_lost) == (b'{"a": "***"}', 1.0, True)
