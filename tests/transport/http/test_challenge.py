"""The challenges in WWW-Authenticate (RFC 9110, section 11.6.1)."""

import pytest

from mcp_conformance.transport.http.challenge import Challenge, challenges

URL = "https://mcp.example.com/.well-known/oauth-protected-resource"


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([], []),
        (["Bearer"], [Challenge("bearer")]),
        ([f'Bearer resource_metadata="{URL}"'], [Challenge("bearer", {"resource_metadata": URL})]),
        (['BEARER Realm = "a, b" ,scope=x'], [Challenge("bearer", {"realm": "a, b", "scope": "x"})]),
        ([r'Bearer realm="say \"hi\""'], [Challenge("bearer", {"realm": 'say "hi"'})]),
        (
            ['Basic realm="x", Bearer scope="a b", error=invalid_token'],
            [
                Challenge("basic", {"realm": "x"}),
                Challenge("bearer", {"scope": "a b", "error": "invalid_token"}),
            ],
        ),
        (["Negotiate YWJj==, Bearer"], [Challenge("negotiate"), Challenge("bearer")]),
        (
            ["Basic realm=x", "Bearer scope=y"],
            [Challenge("basic", {"realm": "x"}), Challenge("bearer", {"scope": "y"})],
        ),
        ([", Bearer,, realm=x,"], [Challenge("bearer", {"realm": "x"})]),
    ],
)
def test_challenges_are_parsed(values, expected):
    assert challenges(values) == expected


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ('Bearer realm="x', "a quoted string has no end"),
        ('realm="x"', "comes before any scheme"),
        ('Bearer realm="x" scope="y"', "neither a scheme nor a parameter"),
        ("Bearer realm=x, Realm=y", "the parameter Realm comes twice"),
        ("Bearer resource_metadata=https://mcp.example.com", "neither a scheme nor a parameter"),
    ],
)
def test_a_malformed_challenge_has_a_reason(value, words):
    with pytest.raises(ValueError, match=words):
        challenges([value])
