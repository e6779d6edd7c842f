"""What a credential opens, tried with others than the user's: right servers pass, and no token is shown."""

import base64
import json
from dataclasses import replace

import pytest

from mcp_conformance.cli.main import main
from mcp_conformance.protocol.revisions import LATEST_MODERN
from mcp_conformance.transport.forged import AUDIENCE, EXPIRED, LAST, SIGNATURE, UNSIGNED, forged
from mcp_conformance_fixtures.http_mutants.http_auth_tokens import (
    a_session_serves_every_identity,
    a_signature_is_not_verified,
)
from mcp_conformance_fixtures.http_unusual import Late, Scoped, headers_of_another
from mcp_conformance_fixtures.reference_http_auth import Protected, token_in
from mcp_conformance_fixtures.reference_http_tokens import Signed, decoded
from support.bench import all_checks, run_checks, settings_on_process
from support.http_in_thread import served

SUITE = "test_http_auth_tokens"
SEEN_IF_BROKEN = {"http.auth.needed", "http.auth.forged-audience", "http.auth.forged-expiry"}
"""The rules whose checks skip on a right server: nothing shows that they hold."""


def test_right_servers_have_no_finding_and_each_check_passes_on_one(tmp_path):
    passed = set()
    for http, revision in [
        (Scoped, "2025-11-25"),
        (Scoped, LATEST_MODERN),
        (Signed, "2025-11-25"),
        (Late, "2025-11-25"),
    ]:
        with served(server := http()) as at, settings_on_process((), tmp_path) as settings:
            chosen = replace(settings, http=at, forge=True, other_identity=headers_of_another(server))
            found = run_checks(chosen, revision, lambda check: check.suite == SUITE, is_whole=False)
        assert [one.text for one in found.verdicts] == []
        passed |= found.passed
    assert passed == {one.name for one in all_checks() if one.suite == SUITE and not one.ids & SEEN_IF_BROKEN}


def test_no_variant_of_a_jwt_is_valid():
    server = Signed()
    variants = forged(server.token)
    assert server.is_valid(server.token)
    assert set(variants) == {SIGNATURE, UNSIGNED, AUDIENCE, EXPIRED}
    assert not any(map(server.is_valid, variants.values()))
    claims = {kind: decoded(one.split(".")[1]) for kind, one in variants.items()}
    own = decoded(server.token.split(".")[1])
    assert claims[SIGNATURE] == claims[UNSIGNED] == own
    assert claims[AUDIENCE] == own | {"aud": claims[AUDIENCE]["aud"]}
    assert claims[EXPIRED] == own | {"exp": 1_000_000_000}


@pytest.mark.parametrize(
    "token", ["reference-token-1", "0123456789abcdef", "c2VjcmV0IG9mIG15IG93bg==", "a.b.c" * 4]
)
def test_of_an_opaque_token_the_last_character_is_changed(token):
    (kind, variant) = next(iter(forged(token).items()))
    at = len(token.rstrip("=")) - 1
    assert kind == LAST
    assert [number for number, pair in enumerate(zip(token, variant, strict=True)) if len({*pair}) > 1] == [
        at
    ]


@pytest.mark.parametrize("end", ["A", "Q", "g", "w", "8", "4"])
def test_a_changed_character_of_base64_stands_for_other_bits(end):
    token = f"c2VjcmV0IG9mIG15IG93bi{end}"  # ends in two bits of one byte
    variant = forged(token)[LAST]
    assert base64.b64decode(token + "==") != base64.b64decode(variant + "==")


def test_a_short_token_is_not_changed():
    assert forged("short-token") == {}


def run(http, *options, folder=None):
    """Run the rules on a server; return the exit status."""
    with served(http) as server:
        words = ("--select", "http.auth", "--revision", "2025-11-25", *options, "--url", server.url)
        return main(["run", "--header", f"Authorization: Bearer {http.token}", *words])


def reasons(capfd, http, *options):
    run(http, "--output-format", "json", *options)
    report = json.loads(capfd.readouterr().out)
    return {one["requirement"]: one.get("reason", one["outcome"]) for one in report["results"]}


def test_what_is_not_tried_names_its_option(capfd):
    found = reasons(capfd, Protected())
    assert "--forge" in found["http.auth.forged"]
    assert "--header-other" in found["http.auth.session-owner"]


def test_a_second_identity_needs_http(capfd):
    assert main(["run", "--header-other", "X: abcdefgh", "--", "server"]) == 4
    assert "--header-other: it needs --url or --http" in capfd.readouterr().err


class Telling(a_signature_is_not_verified):
    """A server that shows each token it gets, whole, in parts and encoded, and keeps those that it got."""

    def __init__(self):
        super().__init__()
        self.seen = set()

    def answer(self, call):
        if token := token_in(call):
            self.seen.add(token)
        answer = super().answer(call)
        half = token[: len(token) // 2]
        shown = f"{token} {token[len(half) :]} {half} {base64.b64encode(token.encode()).decode()}"
        answer.headers.append(("X-Told", f"{shown} {' '.join(token.split('.')[1:])}"))
        return answer


def test_no_output_has_a_token_or_a_variant_of_one(tmp_path, capfd):
    http = Telling()
    reports = [tmp_path / f"report.{one}" for one in ("json", "html", "md", "sarif", "svg")]
    words = [word for one in reports for word in ("--report", str(one))]
    others = ("--header-other", f"Authorization: Bearer {http.other_token}")
    files = ("--transcripts", str(tmp_path / "kept"), "--junitxml", str(tmp_path / "junit.xml"))
    assert run(http, "-v", "--forge", *others, *words, *files) == 1
    texts = ["".join(capfd.readouterr()), *(one.read_text() for one in tmp_path.rglob("*") if one.is_file())]
    assert "the algorithm none and no signature" in texts[0]
    ours = {one for one in http.seen if one.startswith("eyJ") and "aXNzdWVyLmludmFsaWQ" not in one}
    assert {http.token, http.other_token, *forged(http.token).values()} <= ours
    own = decoded(http.token.split(".")[1])["sub"]
    for token in {*ours}:
        parts = [one for one in token.split(".")[1:] if one]
        encoded = base64.b64encode(token.encode()).decode()[:-4]
        for part in (token, *parts, token[: len(token) // 2], token[len(token) // 2 :], encoded):
            assert not [text for text in texts if part in text]
    assert not [text for text in texts if own in text]


def test_a_session_that_serves_another_is_a_warning(capfd):
    http = a_session_serves_every_identity()
    others = ("--header-other", f"Authorization: Bearer {http.other_token}")
    run(http, "--output-format", "json", *others)
    report = json.loads(capfd.readouterr().out)
    (found,) = (one for one in report["results"] if one["requirement"] == "http.auth.session-owner")
    assert found["outcome"] == "warned"
    assert found["got"].startswith("ping and GET and DELETE of the second identity served")
    assert any(
        "--header-other-env Authorization=HEADER_OTHER_AUTHORIZATION" in str(value)
        for value in found.values()
    )
