"""Credentials that a session itself shows are in none of its rows, wherever they stand."""

import json
from base64 import b64encode
from typing import Any

import pytest

from mcp_conformance.tap.hiding import Hiding
from mcp_conformance.tap.judging import Judgement
from mcp_conformance.tap.learned import in_command, in_text
from mcp_conformance.tap.lines import line_of
from mcp_conformance.tap.live import sentence
from tap.test_judging import answers, asks

TOKEN = "Zq8fW2kLp0vXr5Tn7Bs3Hd9Yc1Mj6Ga4"
WORD = "tulip-Gorge7"
BASIC = b64encode(f"bob:{WORD}".encode()).decode()


def call(**arguments: Any) -> str:
    return json.dumps(asks(1, "tools/call", name="t", arguments=arguments))


def text(said: str) -> str:
    return json.dumps(answers(1, content=[{"type": "text", "text": said}]))


SHOWN = {
    "JSON in a text": text(json.dumps({"user": {"password": WORD}})),
    "a list": call(tokens=[TOKEN], passwords={"bob": WORD}),
    "a name and a value": call(env=[{"name": "API_KEY", "value": WORD}], headers=["X-Api-Key", TOKEN]),
    "words of a command": call(args=["--token", TOKEN], env=[f"DB_PASSWORD={WORD}"]),
    "an assignment": call(command=f"export DB_PASSWORD={WORD}"),
    "a sentence": text(f"Your password: {WORD}."),
    "an option of curl": call(command=f"curl -u bob:{WORD} https://h.example"),
    "a URL": call(url=f"https://h.example/?q=1&api_key={WORD}", store=f"postgres://bob:{TOKEN}@h/db"),
    "headers in JSON": call(headers={"Authorization": f"Basic {BASIC}", "Cookie": f"a=1; sid={TOKEN}"}),
    "a line that is not JSON": '{"method": "login", "params": {"password": "' + WORD + '"',
    "a member that is hidden by another": '{"password": "' + WORD + '", "password": "x"}',
    "depths": '{"a":' * 400 + '{"password": "' + WORD + '"}' + "}" * 400,
}


@pytest.mark.parametrize("raw", SHOWN.values(), ids=SHOWN.keys())
def test_what_a_line_shows_is_left_out_of_it_and_of_others(raw: str) -> None:
    hiding = Hiding(())
    shown = [one for one in (WORD, TOKEN) if one in raw or (one == WORD and BASIC in raw)]
    rows = [hiding.row({"sent": True, "at": 0.0, "raw": one}) for one in (raw, text(" ".join(shown)))]
    assert [one for one in (*shown, BASIC) if one in json.dumps(rows)] == []


@pytest.mark.parametrize(
    "headers",
    [
        [["Set-Cookie", f"a={TOKEN}; Path=/"], ["Set-Cookie", f"b={WORD}"]],
        [["Authorization", f"Basic {BASIC}"], ["X-Forwarded-Access", f"Bearer {TOKEN}"]],
        [["X-Api-Key", TOKEN], ["X-Auth", WORD]],
    ],
)
def test_what_headers_show_is_left_out_of_bodies(headers: list[list[str]]) -> None:
    hiding = Hiding(())
    rows = [{"sent": True, "http": {"headers": headers}}, {"sent": False, "raw": text(f"{WORD} {TOKEN}")}]
    written = json.dumps([hiding.row(row) for row in rows])
    assert WORD not in written
    assert TOKEN not in written


def test_a_url_in_a_header_has_no_query() -> None:
    row = {"sent": False, "http": {"headers": [["Location", f"http://h/back?code={TOKEN}"]]}}
    assert TOKEN not in json.dumps(Hiding(()).row(row))


def test_words_of_documentation_are_no_credentials() -> None:
    said = "token: string, the API key: required; sort_key=name; tokens: 123456; cursor=abc123def"
    raw = json.dumps(answers(1, nextCursor="abc123def456", usage={"total_tokens": 1234567}, text=said))
    hiding = Hiding(())
    assert hiding.row({"sent": False, "raw": raw})["raw"] == raw


def test_words_of_a_command_may_look_like_tokens() -> None:
    words = [
        "npx",
        "-y",
        "@scope/server-with-a-long-name@2026.8.31",
        TOKEN,
        f"https://h.example/s/{TOKEN}/mcp",
    ]
    assert {one.text for one in in_command(words)} == {TOKEN}


def test_a_sentence_about_a_line_does_not_have_the_line() -> None:
    line = line_of({"sent": True, "at": 1.5, "raw": '{"method": "' + WORD})
    assert line is not None
    told = [sentence(one) for one in Judgement().see(line)]
    assert told
    assert WORD not in "".join(told)
    assert "(at 1.500 s)" in told[0]


def test_a_text_of_names_is_read_in_a_moment() -> None:
    said = "token:" * 50_000 + "token=" * 50_000  # a text that is read again for each takes minutes
    assert [*in_text(said)] == []
