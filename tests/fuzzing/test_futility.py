"""A tool that answers every call alike is left alone, and the report says what that saved."""

import json

import pytest

from mcp_conformance.client.reply import Closed, Reply
from mcp_conformance.fuzzing.budgets import CASES
from mcp_conformance.fuzzing.futility import Futility
from mcp_conformance.protocol.jsonrpc import Line
from mcp_conformance.report.text import limit_lines
from mcp_conformance.target.exercise import ToolExercise
from mcp_conformance.target.probe import probe_all
from mcp_conformance.world.wording import kind_of_refusal
from mcp_conformance_fixtures.mutants import method, params
from support.bench import Bench, checks_of, settings_in_memory
from support.in_memory import mutated

REVISION = "2025-11-25"
EXAMPLES = 50
REQUEST = Line.sending({"id": 1, "method": "tools/call"})


def refused(text):
    return {"content": [{"type": "text", "text": text}], "isError": True}


def refusal(text):
    return Reply(
        REQUEST, message={"id": 1, "result": {"content": [{"type": "text", "text": text}], "isError": True}}
    )


def no_note(name):
    return refusal(f"There is no note '{name}' in 12 notes.")


WORKS = Reply(REQUEST, message={"id": 1, "result": {"content": []}})


def noted(futility, *names, answer=no_note):
    """Note the replies to calls with these names; return whether more calls prove nothing."""
    for name in names:
        futility.note(json.dumps({"name": name}).encode(), answer(name))
    return futility.is_certain


def futile(answer=no_note, most=3):
    return Futility(kind_of_refusal(answer("example"), {"name": "example"}), most)


def test_it_is_certain_after_so_many_calls():
    futility = futile()
    assert not noted(futility, "a b", "c d")
    assert noted(futility, "e f")


def test_numbers_and_our_own_values_make_no_difference():
    counted = iter(range(9))

    def no_note_now(name):
        return refusal(f"There is no note '{name}' in {next(counted)} notes.")

    assert noted(futile(), "quince", "7", "\N{SNOWMAN}", answer=no_note_now)


@pytest.mark.parametrize("other", [WORKS, Reply(REQUEST, fault=Closed(1, ""))], ids=["works", "ends"])
def test_another_answer_makes_calls_worth_while_for_good(other):
    futility = futile()
    noted(futility, "a b")
    noted(futility, "c d", answer=lambda _: other)
    assert not noted(futility, *"efghijkl")


def test_another_refusal_makes_calls_worth_while_until_its_kind_is_known():
    futility = futile()
    noted(futility, "a b", "c d")
    noted(futility, "e f", answer=lambda name: refusal(f"The disk of {name} is full."))
    assert not noted(futility, "g h", "i j")
    assert noted(futility, "k l", answer=lambda name: refusal(f"The disk of {name} is full."))


def test_a_short_refusal_must_be_the_same_in_full():
    def short(name):
        return refusal(f"no {name}")

    assert noted(futile(short), "a b", "c d", "e f", answer=short)
    assert not noted(futile(short), "a b", "c d", "e f", answer=lambda name: refusal(f"no {name} but tea"))


def test_without_a_refusal_nothing_is_futile():
    assert not noted(Futility("", 0), "a b", "c d")


def never(_, request, reply):
    """Refuse each call of echo in the same words."""
    if method(request) == "tools/call" and params(request).get("name") == "echo":
        result = refused("There is no such thing here, and there never was.")
        return {"jsonrpc": "2.0", "id": request["id"], "result": result}
    return reply


def test_a_run_says_what_it_left_out():
    subject = probe_all(settings_in_memory(mutated(never), EXAMPLES), (REVISION,))
    bench = Bench(subject, REVISION)
    bench.run_all([check for check in checks_of(REVISION) if check.suite == "test_fuzz_tools"], ["echo"])
    exercise = bench.server.tool_calls.exercise
    assert CASES.max_futile_calls <= exercise["echo"].calls < EXAMPLES
    assert exercise["echo"].left_out >= EXAMPLES - CASES.max_futile_calls - CASES.in_flight
    assert exercise["echo"].saved_seconds >= 0
    shown = {"echo": ToolExercise(21, left_out=60, saved_seconds=3.0), "b": ToolExercise(9, left_out=30)}
    why = "fuzzed less, as the fuzzer's calls kept getting refusals seen before"
    for line in (
        f"{why}: b, echo; 90 calls fewer, an estimated 3.0 s",
        f"{why}: echo; {exercise['echo'].left_out} calls fewer",
    ):
        assert any(
            one.startswith(line) for each in (shown, exercise) for one in limit_lines(subject, [], each)
        )
    bench.server.close()
