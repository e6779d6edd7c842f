"""Which recorded answer a request gets."""

import json

import pytest

from mcp_conformance.backend.exchange import Answered, Asked, Exchange
from mcp_conformance.backend.replay import Replayer

API = "https://api.example.com"
JSON = (("content-type", "application/json"),)


def asked(url, method="GET", **members):
    return Asked(method, API, url, JSON if members else (), json.dumps(members).encode() if members else b"")


def replay(*recorded):
    """Return the words that a request is answered with, for requests that are recorded in this order."""
    exchanges = [Exchange(one, Answered(status, (), name.encode())) for name, one, status in recorded]
    api = Replayer(exchanges, "tape.har")
    return lambda one: api.answer(one).body.decode() if api.knows(one) else None


def test_the_nearest_request_has_the_same_values():
    found = replay(
        ("oslo", asked("/v1/forecast?city=Oslo&days=2"), 200),
        ("rome", asked("/v1/forecast?city=Rome&days=2"), 200),
        ("now", asked("/v1/forecast?city=Oslo"), 200),
    )
    assert found(asked("/v1/forecast?days=2&city=Oslo")) == "oslo"
    assert found(asked("/v1/forecast?city=Oslo")) == "now"
    assert found(asked("/v1/forecast?city=Bergen&days=2")) == "rome"
    assert found(asked("/v1/forecast?city=Bergen")) == "now"
    assert found(asked("/v1/forecast?other=1")) == "now"


def test_a_failure_is_the_answer_to_its_own_request_only():
    found = replay(("none", asked("/v1/items/7"), 404), ("one", asked("/v1/items/8"), 200))
    assert found(asked("/v1/items/7")) == "none"
    assert found(asked("/v1/items/9")) == "one"
    found = replay(("one", asked("/v1/items/8"), 200), ("none", asked("/v1/items/7"), 404))
    assert found(asked("/v1/items/9")) == "one"


@pytest.mark.parametrize(
    "other",
    [
        *(asked("/v1/forecast", "POST"), asked("/v1/scrape"), asked("/v1/search/more"), asked("/")),
        *(
            asked("/scrape"),
            asked("/v2/users/octo/repos/tool"),
            Asked("GET", "https://b.example", "/v1/search"),
        ),
    ],
)
def test_a_request_of_another_kind_is_not_recorded(other):
    assert replay(("found", asked("/v1/search"), 200), ("x", asked("/search"), 200))(other) is None


def test_a_part_of_a_path_may_be_another_word():
    found = replay(("octocat", asked("/users/octocat"), 200), ("oslo", asked("/api/rest_v1/page/Oslo"), 200))
    assert found(asked("/users/torvalds")) == "octocat"
    assert found(asked("/api/rest_v1/page/Berlin")) == "oslo"


def test_bodies_are_compared_by_their_members():
    found = replay(
        ("user", asked("/graphql", "POST", query="user($id)", variables={"id": 1}), 200),
        ("team", asked("/graphql", "POST", query="team($key)", variables={"key": "a"}), 200),
        ("both", asked("/graphql", "POST", query="team($key)", variables={"key": "a", "id": 1}), 200),
    )
    assert found(asked("/graphql", "POST", query="user($id)", variables={"id": 2})) == "user"
    assert found(asked("/graphql", "POST", query="other", variables={"key": "b"})) == "team"
    assert found(asked("/graphql", "POST", query="other", variables={"key": "b", "id": 3})) == "both"


def test_what_was_removed_may_have_been_anything():
    removed = "removed-0a1b2c3d"
    found = replay(
        ("it", asked(f"/v1/items/{removed}?key=***"), 200), ("other", asked("/v1/items/12?key=x"), 200)
    )
    assert found(asked("/v1/items/abc?key=mine")) == "it"


def test_what_is_not_recorded_is_said_in_an_answer():
    api = Replayer([], "tape.har")
    found = api.answer(asked("/v1/users/1234?q=private"))
    assert found.status == 404
    text = "Nothing like GET https://api.example.com/v1/users/{}?q is recorded in tape.har."
    assert json.loads(found.body)["error"]["message"] == text
