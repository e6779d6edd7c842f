"""A recorded session played back: the same requests get the same answers, another one an error that helps."""

import json
import subprocess
import sys
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest

from mcp_conformance.cli import serve
from mcp_conformance.cli.arguments import UsageError, parser
from mcp_conformance.protocol.jsonrpc import Line
from mcp_conformance.tap import spoiling
from mcp_conformance.tap.exchanges import PROGRESS, Exchange, exchanges
from mcp_conformance.tap.judging import Judgement
from mcp_conformance.tap.matching import learn
from mcp_conformance.tap.serving import Player
from mcp_conformance.tap.spoiling import FAULTS, OVER_HTTP, spoiled
from mcp_conformance.transport.credentials import HIDDEN
from mcp_conformance.transport.files import BadFile
from tap.test_judging import CLIENT, SERVER, answers, asks, right, tells

SERVE = [sys.executable, "-m", "mcp_conformance", "serve"]


def line(sent: bool, raw: bytes, at: float = 0.0) -> Line:
    read = Line.received(raw, at)
    return Line(sent, raw, at, read.message, read.fault, read.oddities)


def lines(rows: Any) -> list[Line]:
    return [line(sent, json.dumps(message).encode(), float(at)) for at, (sent, message) in enumerate(rows)]


def player() -> Player:
    return Player([exchanges(lines(right()))])


def said_by(played: Player, message: Any) -> list[Any]:
    return [one.message for one in played.said(message)]


def test_a_request_gets_the_answer_that_it_got() -> None:
    asked = asks("new", "tools/call", name="add", arguments={}, _meta={"progressToken": "t"})
    said = said_by(player(), asked)
    kept = {"content": [], "structuredContent": {"name": "sum"}}
    assert said == [
        tells("notifications/progress", progressToken="t", progress=1),
        tells("notifications/message", level="info", data="adding"),
        tells("notifications/progress", progressToken="t", progress=2),
        answers("new", **kept),
    ]


def test_a_client_can_read_progress_before_the_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    waited: list[float] = []
    monkeypatch.setattr("mcp_conformance.tap.serving.time.sleep", waited.append)
    call = asks(3, "tools/call", name="add", arguments={}, _meta={"progressToken": 7})
    methods = [(said.message.get("method"), len(waited)) for said in player().said(call)]
    assert methods == [(PROGRESS, 0), ("notifications/message", 1), (PROGRESS, 1), (None, 2)]


def test_progress_that_nobody_asks_for_is_left_out() -> None:
    said = said_by(player(), asks(1, "tools/call", name="add", arguments={}))
    assert [one.get("method") for one in said] == ["notifications/message", None]


def test_what_was_asked_again_gets_its_answers_in_their_order() -> None:
    rows: list[Any] = [(CLIENT, asks(0, "tools/list")), (SERVER, answers(0, tools=[]))]
    rows += [(CLIENT, asks(1, "tools/list")), (SERVER, answers(1, tools=[{"name": "new"}]))]
    played = Player([exchanges(lines(rows))])
    said = [said_by(played, asks(id, "tools/list"))[0]["result"]["tools"] for id in range(3)]
    assert said == [[], [{"name": "new"}], [{"name": "new"}]]


def notes(text: str) -> list[Any]:
    """Return a session that adds a note, and lists the notes before and after."""
    return [
        (CLIENT, asks(0, "tools/call", name="list")),
        (SERVER, answers(0, notes=[])),
        (CLIENT, asks(1, "resources/read", uri="who:me")),
        (SERVER, answers(1, contents=["Ada"])),
        (CLIENT, asks(2, "tools/call", name="add", arguments={"text": text})),
        (SERVER, answers(2, made=text * 2)),
        (CLIENT, asks(3, "tools/call", name="list")),
        (SERVER, answers(3, notes=[text])),
    ]


def called(played: Player, tool: str, **arguments: Any) -> Any:
    return said_by(played, asks(1, "tools/call", name=tool, arguments=arguments))[-1].get("result")


def test_an_answer_is_the_one_of_its_place_in_the_session() -> None:
    played = Player([exchanges(lines(notes("a")))])
    assert called(played, "add", text="a") == {"made": "aa"}
    assert called(played, "list") == {"notes": ["a"]}
    assert called(played, "list") == {"notes": ["a"]}
    played = Player([exchanges(lines(notes("a")))])
    assert said_by(played, asks(1, "resources/read", uri="who:me")) == [answers(1, contents=["Ada"])]
    assert called(played, "list") == {"notes": []}
    assert called(played, "list") == {"notes": ["a"]}


def test_answers_come_from_the_session_that_the_client_follows() -> None:
    played = Player([exchanges(lines(notes(text))) for text in "ab"])
    assert called(played, "list") == {"notes": []}
    assert called(played, "add", text="b") == {"made": "bb"}
    assert called(played, "list") == {"notes": ["b"]}


def run(at: float, run_id: str, answer: str, since: str, key: str) -> list[Exchange]:
    """Return a session that began at a time and uses values of its own."""
    rows = [
        (CLIENT, asks(0, "tools/call", name="begin", arguments={"run": run_id})),
        (SERVER, answers(0, content=f"began {run_id}, job {answer}")),
        (CLIENT, asks(1, "tools/call", name="add", arguments={"a": len(run_id), "key": key})),
        (SERVER, answers(1, content=str(len(run_id)))),
        (CLIENT, asks(2, "tools/call", name="since", arguments={"time": since, "job": answer})),
        (SERVER, answers(2, content="all")),
    ]
    return exchanges(lines(rows), at)


KEYS = [f"{digit * 8}-1234-4123-8123-123456789abc" for digit in "123"]
MAY = 1_778_000_000.0  # 2026-05-05


def varied() -> list[list[Exchange]]:
    """Return two sessions: what the client chose is other, and the server's job too."""
    found = [
        run(MAY, "run-a1", "job-x", "2026-05-05T16:00:00Z", KEYS[0]),
        run(MAY + 86400, "run-b12", "job-y", "2026-05-06T16:00:00Z", KEYS[1]),
    ]
    learn(found)
    return found


def test_what_varies_between_two_sessions_is_another_value_again() -> None:
    played = Player(varied())
    assert called(played, "begin", run="run-c1") == {"content": "began run-a1, job job-x"}
    assert called(Player(varied()), "begin", run="run-b12") == {"content": "began run-b12, job job-y"}
    assert called(Player(varied()[:1]), "begin", run=7) is None


def test_what_answers_depend_on_is_not_learned() -> None:
    played = Player(varied())
    assert called(played, "add", a=9, key=KEYS[0]) is None
    assert called(played, "since", time="2026-05-05T16:00:00Z", job="job-z") is None  # the server named it


def test_one_session_shows_uuids_and_times_of_a_client() -> None:
    now = datetime.now(UTC).isoformat()
    session = varied()[0]
    learn([session])
    played = Player([session])
    assert called(played, "add", a=6, key=KEYS[2]) == {"content": "6"}
    assert called(played, "add", a=6, key="no-uuid") is None
    assert called(played, "since", time=now, job="job-x") == {"content": "all"}
    assert called(played, "since", time="2020-01-01T00:00:00Z", job="job-x") is None
    assert called(played, "begin", run="run-c1") is None


def test_a_uuid_that_the_server_made_is_another_request() -> None:
    rows = [
        (CLIENT, asks(0, "tools/call", name="make")),
        (SERVER, answers(0, content=KEYS[0])),
        (CLIENT, asks(1, "tools/call", name="get", arguments={"key": KEYS[0]})),
        (SERVER, answers(1, content="it")),
    ]
    session = exchanges(lines(rows))
    learn([session])
    assert called(Player([session]), "get", key=KEYS[1]) is None
    assert called(Player([session]), "get", key=KEYS[0]) == {"content": "it"}


def test_a_credential_that_was_left_out_is_any_text() -> None:
    rows = [
        (CLIENT, asks(0, "tools/call", name="log-in", arguments={"header": f"Bearer {HIDDEN}"})),
        (SERVER, answers(0, content="in")),
    ]
    played = Player([exchanges(lines(rows))])
    assert called(played, "log-in", header="Bearer of-now") == {"content": "in"}
    assert called(played, "log-in", header="of-now") is None


def test_an_answer_waits_for_what_the_client_answers() -> None:
    said = list(player().said(tells("notifications/roots/list_changed")))
    assert [one.message["method"] for one in said if one.waits] == [
        "roots/list",
        "elicitation/create",
        "sampling/createMessage",
    ]


def test_a_round_of_input_has_its_answer_whatever_the_user_says() -> None:
    wanted = {"who": {"method": "elicitation/create", "params": {}}}
    accepted = {"who": {"action": "accept", "content": {"name": "Ada"}}}
    rows = [
        (CLIENT, asks(1, "tools/call", name="greet")),
        (SERVER, answers(1, resultType="input_required", inputRequests=wanted, requestState="s")),
        (CLIENT, asks(2, "tools/call", name="greet", requestState="s", inputResponses=accepted)),
        (SERVER, answers(2, resultType="complete", content=[])),
    ]
    played = Player([exchanges(lines(rows))])
    (asked,) = said_by(played, asks(1, "tools/call", name="greet", arguments={}))
    state = asked["result"]["requestState"]
    for name, action, is_known in (("Bob", "accept", True), ("Bob", "decline", False)):
        responses = {"who": {"action": action, "content": {"name": name}}}
        (said,) = said_by(
            played, asks(3, "tools/call", name="greet", requestState=state, inputResponses=responses)
        )
        assert ("result" in said) is is_known


def test_a_request_that_was_not_recorded_is_shown_the_nearest() -> None:
    (said,) = said_by(player(), asks(9, "tools/call", name="add", arguments={"a": 1}))
    assert said["error"]["code"] == -32000
    assert said["error"]["message"].startswith('no such tools/call was recorded; the nearest: {"name": "add"')
    (said,) = said_by(player(), asks(9, "prompts/list"))
    assert said["error"]["code"] == -32601
    (said,) = said_by(player(), asks(9, "ping"))
    assert said["result"] == {}


ALIKE = dict.fromkeys(["stdio.no-embedded-newline", "stdio.utf8-output", "cut-line"], "stdio.stdout-purity")
ALIKE |= {"null-id": "jsonrpc.response-id-echo", "text-result": "tools.list.result-shape"}
"""The rule that lines show for a fault, where it is another one."""
UNSEEN = {"unknown-notification", "huge-line", "tools.def.name-unique", "pagination.progress"}
UNSEEN.add("lifecycle.initialize.version-counter-offer")
"""Faults that break no rule, or one that only a run judges."""


@pytest.mark.parametrize("name", sorted(FAULTS.keys() - OVER_HTTP))
def test_a_spoiled_answer_breaks_its_rule(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spoiling, "HUGE", 1000)
    fault, judgement, at = FAULTS[name], Judgement(), 0.0
    played = Player([exchanges(lines(right()))], partial(spoiled, fault))
    plain = player()
    rows = [
        message for sent, message in right() if sent and message.get("method") != "notifications/cancelled"
    ]
    changed = 0
    for message in [*rows, asks("last", "ping")]:
        at += 1
        judgement.see(line(CLIENT, json.dumps(message).encode(), at))
        is_last = message.get("id") == "last"  # what was asked before it is overtaken
        usual = [one.raw for one in plain.said(message)]
        said = usual if is_last else [one.raw for one in played.said(message)]
        changed += said != usual
        for part in b"\n".join(said).split(b"\n") if said else ():
            judgement.see(line(SERVER, part, at))
    judgement.end(at + 20)
    found = {one.rule for one in judgement.breaches if one.side == "server"}
    assert changed
    assert name in UNSEEN or ALIKE.get(name, name) in found


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
    assert [one["id"] for one in results if "result" in one] == [0, 1, 2, 3, 4]  # 5 is cancelled


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
        (["--spoil", "http-status-404"], "add --http PORT"),
        (["nowhere.jsonl"], "nowhere.jsonl"),
    ],
)
def test_a_mistake_is_one_line(recorded: Path, words: list[str], told: str) -> None:
    options = parser().parse_args(["serve", str(recorded), *words])
    with pytest.raises((UsageError, BadFile), match=told) as mistake:
        serve.main(options, [], None)
    assert "\n" not in str(mistake.value)


def test_sessions_of_two_servers_are_a_mistake(tmp_path: Path) -> None:
    for name in ("one", "other"):
        session = [
            {"format": 1, "command": ["server"], "revision": "", "about": ""},
            {"sent": True, "at": 0, "raw": json.dumps(asks(0, "initialize"))},
            {"sent": False, "at": 1, "raw": json.dumps(answers(0, serverInfo={"name": name}))},
        ]
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in session))
    with pytest.raises(UsageError, match=r"several servers \(one, other\)"):
        serve.main(parser().parse_args(["serve", str(tmp_path)]), [], None)
