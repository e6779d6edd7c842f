"""What looks like a credential is found, and what stands for one in documentation is not."""

import pytest

from mcp_conformance.transport.looks import credentials_in
from mcp_conformance.transport.redaction import Redaction
from mcp_conformance_fixtures.awkward.example_credentials import EXAMPLES
from mcp_conformance_fixtures.mutants.content import KEY, TOKEN, URL

RANDOM = "k3Jq8ZtR5vWx2Ns7Bd9Fm4Hc6Lp1Ty0Ga8Ue"
ALL = [
    ("a password in a URL", URL),
    ("a password in a URL", URL.replace("/", "\\/")),
    ("a private key", KEY),
    ("a private key", KEY.replace("\n", "\\n")),
    ("a token of GitHub", TOKEN),
    ("a token of GitLab", f"glpat-{RANDOM[:20]}"),
    ("a token of npm", f"npm_{RANDOM}"),
    ("a token of Hugging Face", f"hf_{RANDOM}"),
    ("a token of Slack", f"xoxb-{RANDOM}"),
    ("an API key", f"sk-ant-{RANDOM}"),
    ("a key of Stripe", f"sk_live_{RANDOM}"),
    ("a key of Google", f"AIza{RANDOM[:35]}"),
    ("a key of AWS", "AKIA" + "J7Q2ZT5RWX4N3SBD"),
    ("a key of SendGrid", f"SG.{RANDOM[:22]}.{RANDOM}"),
]


@pytest.mark.parametrize(("kind", "text"), ALL, ids=[kind for kind, _ in ALL])
def test_a_credential_is_found_and_hidden(kind, text):
    said = f'cannot log in: "{text}"'
    assert [one for one, _ in credentials_in(said)] == [kind]
    shown = Redaction(()).text(said)
    assert "***" in shown
    assert RANDOM[:12] not in shown
    assert "Kx7-" not in shown


@pytest.mark.parametrize("text", EXAMPLES.split(", "))
def test_an_example_is_none(text):
    assert list(credentials_in(text)) == []


@pytest.mark.parametrize(
    "text",
    [
        "http://127.0.0.1:8080/mcp",
        "ssh://git@example.org:22/a.git",
        "see https://a.b/c:d@e",
        "npm_config_registry_of_the_whole_project_is_set",
        "sk-learn-and-other-packages-of-python",
        "-----BEGIN PUBLIC KEY-----",
        "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNoAAAAggCBd81ytg"
        * 3,
    ],
)
def test_other_text_is_none(text):
    assert list(credentials_in(text)) == []


def test_a_token_inside_of_base64_is_none():
    assert list(credentials_in(f"QUJD-sk-{RANDOM}")) == []
