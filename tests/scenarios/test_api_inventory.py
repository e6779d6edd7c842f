"""What counts of the requests of a server, without a server."""

from types import SimpleNamespace

from mcp_conformance.backend.contact import OTHER_PORT, Contact
from mcp_conformance.backend.sickness import BY_NAME, SICKNESSES, WELL
from mcp_conformance.client.reply import Reply
from mcp_conformance.client.tool_call import Call, Tool
from mcp_conformance.protocol.jsonrpc import Line
from mcp_conformance.protocol.value import Value
from mcp_conformance.sandbox.traffic import Attempt
from mcp_conformance.scenarios.api_inventory import Inventory, needed
from mcp_conformance.scenarios.calls_at_once import MixedCalls
from mcp_conformance.scenarios.sick_api import (
    first_of_kinds,
    hurried,
    most_repeated,
    reached,
    sent_twice,
    turned,
)
from mcp_conformance.scenarios.ward import Treatment, elsewhere

REPLY = Reply(Line.sending({}))
CALL = Call(Tool(Value({"name": "look"})), {"id": "example"}, REPLY)


def asked(host="api.example.com", same=1, at=0.0, path="/v1"):
    return Contact(host, 443, "GET", path, is_encrypted=True, same=same, at=at)


def treatment(*contacts, sickness=WELL, attempts=(), call=CALL):
    return Treatment(call, sickness, REPLY, contacts, attempts)


def posted(method="POST", same=1, is_keyed=False):
    return Contact("api.example.com", 443, method, "/v1", is_encrypted=True, same=same, is_keyed=is_keyed)


def answer(text):
    return Reply(REPLY.request, Line.received(text.encode()))


def test_a_tool_that_asks_only_services_that_count_does_not_need_its_api():
    counting = asked("eu.posthog.com")
    assert not needed(treatment(counting))
    assert not needed(treatment(Contact("a.b", 443, is_encrypted=True, refusal="unknown ca")))
    assert needed(treatment(counting, asked()))
    assert needed(treatment(asked("notposthog.com")))


def test_an_attempt_counts_only_where_no_request_can_arrive():
    attempts = (Attempt("TCP", "198.18.0.1", 443),)
    assert reached(treatment(sickness=BY_NAME["refused"], attempts=attempts))
    assert reached(treatment(sickness=BY_NAME["no-name"], attempts=attempts))
    assert not reached(treatment(sickness=BY_NAME["503"], attempts=attempts))
    assert not reached(treatment(sickness=BY_NAME["refused"]))


def test_the_same_request_is_counted():
    one = treatment(asked(same=1), asked(same=2), asked(same=2))
    assert most_repeated(one)[1] == 2


def test_a_repetition_is_early_before_the_time_that_the_api_said():
    assert hurried(treatment(asked(at=0.0), asked(at=1.5)))[1] == 1.5
    assert hurried(treatment(asked(at=0.0), asked(at=2.0))) is None
    assert hurried(treatment(asked(same=1, at=0.0), asked(same=2, at=0.0))) is None


def test_uses_say_when_and_leave_values_of_the_call_out():
    found = Inventory((asked("start.example"),), (), (treatment(asked(path="/v1/example")),))
    uses = [(use.when, use.tool, use.host, use.path) for use in found.uses()]
    assert uses == [
        ("start", "", "https://start.example", "/v1"),
        ("call", "look", "https://api.example.com", "/v1/{}"),
    ]


def test_what_creates_is_not_to_be_sent_again_once_it_may_have_acted():
    twice = (posted(), posted())
    assert sent_twice(treatment(*twice, sickness=BY_NAME["reset"])) == posted()
    assert sent_twice(treatment(*twice, sickness=BY_NAME["503"])) is None
    assert sent_twice(treatment(posted(), posted(same=2), sickness=BY_NAME["reset"])) is None
    for harmless in (posted("PUT"), posted("DELETE"), posted("GET"), posted(is_keyed=True)):
        assert sent_twice(treatment(harmless, harmless, sickness=BY_NAME["500"])) is None
    reading = Call(Tool(Value({"name": "look", "annotations": {"readOnlyHint": True}})), {}, REPLY)
    assert sent_twice(treatment(*twice, sickness=BY_NAME["reset"], call=reading)) is None


def test_an_answer_is_another_calls_if_it_has_only_its_word():
    own, other = "qz000000000001", "qz000000000002"
    words = {"000000000001": answer(own), "000000000002": answer(own), "000000000003": answer("no word")}
    assert [word for word, _ in MixedCalls("look", words).wrong()] == ["000000000002"]
    assert not list(MixedCalls("look", {"000000000001": answer(f"{other} {own}")}).wrong())


def test_each_tool_begins_with_another_sickness_of_a_kind():
    some = [BY_NAME[name] for name in ("503", "reset", "500", "broken", "401")]
    names = [[one.name for one in turned(some, number)] for number in (0, 1, 2)]
    assert names == [
        ["503", "500", "reset", "broken", "401"],
        ["500", "503", "broken", "reset", "401"],
        ["503", "500", "reset", "broken", "401"],
    ]


def test_a_port_that_nothing_answers_is_a_contact():
    backend = SimpleNamespace(host_at={"198.18.0.1": "db.example"}.get)
    tried = [
        Attempt("TCP", "198.18.0.1", 5432),
        Attempt("TCP", "198.18.0.1", 443),
        Attempt("UDP", "1.1.1.1", 53),
    ]
    (one,) = elsewhere(backend, tried)
    assert (one.host, one.port, one.method, one.refusal) == ("db.example", 5432, "", OTHER_PORT)


def test_other_tools_are_tried_with_one_sickness_of_each_kind_and_not_all_with_the_same():
    first, second = (first_of_kinds(turned(SICKNESSES, number)) for number in (0, 1))
    assert [one.kind for one in first] == list(dict.fromkeys(one.kind for one in SICKNESSES))
    assert not {one.name for one in first} & {one.name for one in second if one.name != "large"}
