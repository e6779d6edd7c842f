"""Credentials are removed from exchanges before they are kept, wherever they are."""

import json
import string
from base64 import b64encode, urlsafe_b64encode
from random import Random
from urllib.parse import quote, unquote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcp_conformance.backend.cleaning import STAND_IN, Cleaner, is_random
from mcp_conformance.backend.exchange import Answered, Asked, Exchange
from mcp_conformance.backend.har import Tape
from mcp_conformance.transport.credentials import secrets_of
from mcp_conformance.transport.redaction import Redaction
from support.nightly import IS_NIGHTLY

EXAMPLES = 600 if IS_NIGHTLY else 10
JSON, FORM = (("content-type", kind) for kind in ("application/json", "application/x-www-form-urlencoded"))
API = "https://api.example.com"
SHAPES = {
    "letters and digits": string.ascii_letters + string.digits,
    "base64": string.ascii_letters + string.digits + "+/",
    "for URLs": string.ascii_letters + string.digits + "-_",
    "hexadecimal": "0123456789abcdef",
    "lower case": string.ascii_lowercase + string.digits,
    "upper case": string.ascii_uppercase + "234567",
}
KEYS = st.builds(
    lambda shape, seed: "".join(Random(seed).choices(SHAPES[shape], k=40)),
    st.sampled_from(sorted(SHAPES)),
    st.integers(0, 2**32),
)
"""Keys as machines make them, of many shapes."""
PASSWORDS = st.text(string.ascii_lowercase, min_size=12, max_size=20).map("qu{}".format)
"""Credentials that look like words, and like no name in a file: only their names or the user tell of them."""


def body(**members):
    return json.dumps(members).encode()


# Where a request or an answer has a credential whose look says nothing: its name does.
NAMED = {
    "a header": lambda key: Asked("GET", API, "/", (("x-api-key", key),)),
    "a header of its own": lambda key: Asked("GET", API, "/", (("x-made-up", key),)),
    "Authorization": lambda key: Asked("GET", API, "/", (("authorization", f"Bearer {key}"),)),
    "Basic": lambda key: Asked(
        "GET", API, "/", (("authorization", f"Basic {b64encode(f'me:{key}'.encode()).decode()}"),)
    ),
    "a cookie": lambda key: Asked("GET", API, "/", (("cookie", f"a=b; sid={key}"),)),
    "the query": lambda key: Asked("GET", API, f"/v1?q=x&api_key={quote(key)}&z"),
    "JSON": lambda key: Asked("POST", API, "/", (JSON,), body(auth={"password": key})),
    "JSON in JSON": lambda key: Asked("POST", API, "/", (JSON,), body(a=json.dumps({"secret": key}))),
    "a form": lambda key: Asked("POST", API, "/", (FORM,), f"a=b&client_secret={quote(key)}".encode()),
    "a text": lambda key: Asked("POST", API, "/", (), f"grant\npassword: {key}\n".encode()),
    "XML": lambda key: Asked("POST", API, "/", (), f"<a><apiKey>{key}</apiKey></a>".encode()),
    "parts": lambda key: Asked(
        "POST", API, "/", (("content-type", "multipart/form-data; boundary=x"),), f"--x\r\n{key}".encode()
    ),
}
# Where it has one under no name that says so.
ANYWHERE = {
    "the path": lambda key: Asked("GET", API, f"/bot{quote(key, safe='')}/send"),
    "the query": lambda key: Asked("GET", API, f"/v1?q={quote(key, safe='')}"),
    "JSON": lambda key: Asked("POST", API, "/", (JSON,), body(items=[{"value": f"at {key}."}])),
    "a member's name": lambda key: Asked("POST", API, "/", (JSON,), json.dumps({key: 1}).encode()),
    "a text": lambda key: Asked("POST", API, "/", (), f"see {key}, or not".encode()),
    "a URL in a text": lambda key: Asked("POST", API, "/", (), f"https://a.b/?x={key}".encode()),
}


def as_answer(asked):
    """Return the same in an answer; the target of a request is a link there."""
    headers = (*asked.headers, ("location", asked.origin + asked.target))
    return Exchange(Asked("GET", API, "/"), Answered(200, headers, asked.body))


def as_request(asked):
    return Exchange(asked, Answered(200, (JSON,), b"{}"))


def kept(*exchanges, user=(), cleaner=None):
    """Return what a file has of exchanges."""
    clean = cleaner or Cleaner(Redaction(secrets_of((), dict(user))))
    for one in exchanges:
        clean.learn(one)
    return Tape(tuple(map(clean, exchanges)), tuple(sorted(clean.removed))).to_har()


def forms(key):
    """Return what a key is in other codings."""
    yield from (key, quote(key, safe=""), json.dumps(key)[1:-1], key.encode().hex())
    yield from (code(key.encode()).decode().rstrip("=") for code in (b64encode, urlsafe_b64encode))


@settings(max_examples=EXAMPLES, deadline=None)
@given(KEYS | PASSWORDS)
def test_a_credential_under_its_name_is_removed_there_and_elsewhere(key):
    elsewhere = Asked(
        "POST", API, "/", (JSON,), body(said=f"you sent {key}", code=b64encode(key.encode()).decode())
    )
    for place, asked in NAMED.items():
        for made in (as_request, as_answer):
            if place == "a header of its own" and made is as_answer:
                continue  # the headers of an answer are kept unless their names or values tell
            text = kept(made(asked(key)))
            assert key not in text, (place, made)
            assert '"_removed": []' not in text
    for place in ("a header", "Authorization", "Basic", "a cookie", "the query", "JSON", "a form"):
        assert not any(
            form in kept(as_request(NAMED[place](key)), as_answer(elsewhere)) for form in forms(key)
        ), place


@settings(max_examples=EXAMPLES, deadline=None)
@given(KEYS | PASSWORDS)
def test_a_given_credential_is_removed_wherever_it_is(key):
    for place, asked in {**NAMED, **ANYWHERE}.items():
        for made in (as_request, as_answer):
            text = kept(made(asked(key)), user={"WEATHER_KEY": key})
            assert not any(form in text for form in forms(key)), (place, made)


@settings(max_examples=EXAMPLES, deadline=None)
@given(KEYS)
def test_what_looks_random_is_removed_wherever_it_is(key):
    for place, asked in ANYWHERE.items():
        for made in (as_request, as_answer):
            text = kept(made(asked(key)))
            assert key not in unquote(text), (place, made)
            assert "text that looks random" in text


@pytest.mark.parametrize("shape", sorted(SHAPES))
def test_few_keys_of_machines_read_like_words(shape):
    keys = [
        "".join(Random(seed).choices(SHAPES[shape], k=size)) for seed in range(250) for size in (24, 32, 40)
    ]
    assert sum(map(is_random, keys)) >= 0.97 * len(keys)


@pytest.mark.parametrize(
    "text",
    [
        *(
            "getUserByNameAndEmail",
            "api/rest_v1/page/summary",
            "com/v1/users/12/repos",
            "2026-11-26T16-28-17.000Z",
            "get-items-by-id-v2",
        ),
        *(
            "application/vnd.github+json",
            "internationalization",
            "1764174497123456",
            "some-long-name-of-a-thing",
        ),
        *(
            "X_RateLimit_Remaining",
            "/wiki/Special/Search/Some_Article",
            "chrome-extension",
            "==================",
        ),
    ],
)
def test_words_are_kept(text):
    assert not is_random(text)
    assert text in kept(as_request(Asked("POST", API, "/", (), f"a {text} b".encode())))


def test_an_id_has_the_same_stand_in_of_its_shape_in_all_exchanges():
    uuid = "550e8400-e29b-41d4-a716-446655440000"
    listed = Exchange(Asked("GET", API, "/v1/items"), Answered(200, (JSON,), body(id=uuid, sha="ab12" * 10)))
    clean = Cleaner(Redaction(()))
    asked = clean(as_request(Asked("GET", API, f"/v1/items/{uuid}"))).asked
    found = json.loads(clean(listed).answered.body)
    assert asked.target == f"/v1/items/{found['id']}"
    assert STAND_IN.fullmatch(found["id"])
    assert (len(found["id"]), len(found["sha"])) == (36, 40)
    other = Cleaner(Redaction(()))(listed)
    assert json.loads(other.answered.body)["id"] != found["id"]  # nobody can compute it


def test_the_file_says_what_was_removed_but_no_value():
    key = "a-key-of-ours-01"
    clean = Cleaner(
        Redaction(secrets_of((), {"API_KEY": key})), {"API_KEY": Redaction(secrets_of((), {"API_KEY": key}))}
    )
    asked = Asked("GET", API, f"/?q={key}&token=abcdefgh", (("x-own", "v"), ("accept", "*/*")))
    text = kept(Exchange(asked, Answered(200, (("set-cookie", "a=bcdefghijkl"),), b"")), cleaner=clean)
    assert json.loads(text)["log"]["_removed"] == [
        *("header set-cookie", "header x-own", "query token", "value of API_KEY")
    ]
    assert '"value": "*/*"' in text


def test_what_is_no_credential_is_kept():
    members = {"token_type": "bearer", "total_tokens": 12, "token": None, "is_secret": True, "city": "Oslo"}
    found = Cleaner(Redaction(()))(
        as_request(Asked("POST", API, "/a%20b?q=x+y", (JSON,), body(**members)))
    ).asked
    assert json.loads(found.body) == members
    assert found.target == "/a%20b?q=x+y"
    picture = as_answer(Asked("GET", API, "/", (("content-type", "image/png"),), b"\x89PNG\xff\0"))
    assert Cleaner(Redaction(()))(picture).answered.body == picture.answered.body
