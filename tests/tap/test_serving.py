"""A recorded session played back: the same requests get the same answers, another one an error that helps."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest

from mcp_conformance.protocol.jsonrpc import Line
from mcp_conformance.tap.judging import Judgement
from mcp_conformance.tap.serving import Player, exchanges
from mcp_conformance.tap.spoiling import SPOILS, spoiled
from tap.test_judging import CLIENT, SERVER, answers, asks, right, tells

SERVE = [sys.executable, "-m", "mcp_conformance", "serve"]


def line(sent: bool, raw: bytes, at: float = 0.0) -> Line:
    read = Line.received(raw, at)
    return Line(sent, raw, at, read.message, read.fault, read.oddities)


def lines(rows: Any) -> list[Line]:
    return [line(sent, json.dumps(message).encode(), float(at)) for at, (sent, message) in enumerate(rows)]


def player() -> Player:
    return Player(exchanges(lines(right())))


def test_a_request_gets_the_answer_that_it_got() -> None:
    said = list(
        player().said(asks("new", "tools/call", name="add", arguments={}, _meta={"progressToken": "t"}))
    )
    kept = {"content": [], "structuredContent": {"name": "sum"}}
    assert said == [
        tells("notifications/progress", progressToken="t", progress=1),
        tells("notifications/message", level="info", data="adding"),
        tells("notifications/progress", progressToken="t", progress=2),
        answers("new", **kept),
    ]


def test_progress_that_nobody_asks_for_is_left_out() -> None:
    said = list(player().said(asks(1, "tools/call", name="add", arguments={})))
    assert [one.get("method") for one in said] == ["notifications/message", None]


def test_what_was_asked_again_gets_its_answers_in_their_order() -> None:
    rows: list[Any] = [(CLIENT, asks(0, "tools/list")), (SERVER, answers(0, tools=[]))]
    rows += [(CLIENT, asks(1, "tools/list")), (SERVER, answers(1, tools=[{"name": "new"}]))]
    played = Player(exchanges(lines(rows)))
    said = [next(played.said(asks(id, "tools/list")))["result"]["tools"] for id in range(3)]
    assert said == [[], [{"name": "new"}], [{"name": "new"}]]


def test_a_request_that_was_not_recorded_is_shown_the_nearest() -> None:
    (said,) = player().said(asks(9, "tools/call", name="add", arguments={"a": 1}))
    assert said["error"]["code"] == -32000
    assert said["error"]["message"].startswith('no such tools/call was recorded; the nearest: {"name": "add"')
    (said,) = player().said(asks(9, "prompts/list"))
    assert said["error"]["code"] == -32601
    (said,) = player().said(asks(9, "ping"))
    assert said["result"] == {}


@pytest.mark.parametrize("rule", SPOILS)
def test_a_spoiled_answer_breaks_its_rule(rule: str) -> None:
    played, judgement, at = player(), Judgement(), 0.0
    rows = [
        message for sent, message in right() if sent and message.get("method") != "notifications/cancelled"
    ]
    for message in [*rows, asks("last", "ping")]:
        at += 1
        judgement.see(line(CLIENT, json.dumps(message).encode(), at))
        for said in played.said(message):
            is_last = message.get("id") == "last"  # what was asked before it is overtaken
            for one in spoiled("" if is_last else rule, said, message["method"]):
                raw = one if isinstance(one, bytes) else json.dumps(one).encode()
                for part in raw.split(b"\n"):
                    judgement.see(line(SERVER, part, at))
    judgement.end(at + 20)
    found = {one.rule for one in judgement.breaches if one.side == "server"}
    alike = {"stdio.no-embedded-newline": "stdio.stdout-purity", "stdio.utf8-output": "stdio.stdout-purity"}
    assert alike.get(rule, rule) in found


@pytest.fixture
def recorded(tmp_path: Path) -> Path:
    header = {"format": 1, "command": ["server"], "revision": "2025-11-25", "about": "a test"}
    rows = [{"sent": sent, "at": at, "raw": json.dumps(one)} for at, (sent, one) in enumerate(right())]
    path = tmp_path / "session.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in (header, *rows)))
    return path


def test_sessions_are_served_on_stdio(recorded: Path) -> None:
    said = [message for sent, message in right() if sent and "method" in message]
    said[4:4] = [answers(f"served-{number}") for number in (1, 2, 3)]
    process = subprocess.run(
        [*SERVE, str(recorded.parent)],
        input="".join(json.dumps(one) + "\n" for one in said),
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    results = [json.loads(one) for one in process.stdout.splitlines()]
    assert [one["id"] for one in results if "result" in one] == [0, 1, 2, 3, 4, 5]


def test_sessions_are_served_over_http(recorded: Path) -> None:
    with subprocess.Popen(
        [*SERVE, "--http", "0", str(recorded)], stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        url = process.stderr.readline().split()[-1]
        for message in (asks(7, "initialize"), asks(8, "tools/call", name="add", arguments={})):
            with urlopen(Request(url, json.dumps(message).encode())) as response:
                body = response.read().decode()
        process.terminate()
    assert '"id":8' in body.replace(" ", "")
    assert body.startswith("event: message\ndata: ")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--spoil", "jsonrpc.response-id-eco"], "did you mean jsonrpc.response-id-echo"),
        (["nowhere.jsonl"], "nowhere.jsonl"),
    ],
)
def test_a_mistake_is_one_line(recorded: Path, words: list[str], told: str) -> None:
    process = subprocess.run([*SERVE, str(recorded), *words], capture_output=True, text=True, check=False)
    assert process.returncode == 4
    assert told in process.stderr
    assert len(process.stderr.splitlines()) == 1
