"""The differences of two surveys: what is worse, what is reported, and the exit status."""

from dataclasses import replace

import pytest

from mcp_conformance.outcome import Outcome
from mcp_conformance.survey.diff import NOT_TESTED, ONCE, UNCHANGED, WORSE, differences, render
from mcp_conformance.survey.results import Grade, NoResults, Obstacle
from mcp_conformance.survey.targets import Target
from support.sample_report import EVIL
from support.survey_results import REVISION, made_finding, made_result

PING, TITLE = "ping.responds", "tools.def.title-string"
FAILED = made_finding(PING, Outcome.FAILED)
WARNED = made_finding(PING, Outcome.WARNED)
BLOCKED = made_finding(PING, Outcome.BLOCKED)
HELD = {PING: {REVISION: "passed"}}
SKIPPED = {PING: {REVISION: "skipped"}}


def unjudged(obstacle=Obstacle.START):
    return made_result(grade=Grade.NOT_JUDGED, obstacle=str(obstacle))


def compared(old, new):
    return differences([old], [replace(new, tool_version="0.2.0")])


CASES = {
    "the same": (made_result(rules=[FAILED]), made_result(rules=[FAILED]), UNCHANGED, None),
    "newly red": (made_result(matrix=HELD), made_result(rules=[FAILED]), WORSE, ("passed", "failed")),
    "newly warned": (made_result(matrix=HELD), made_result(rules=[WARNED]), WORSE, ("passed", "warned")),
    "newly tested": (
        made_result(),
        made_result(rules=[FAILED]),
        WORSE,
        (NOT_TESTED, "failed"),
    ),
    "gone": (made_result(rules=[FAILED]), made_result(matrix=HELD), UNCHANGED, ("failed", "passed")),
    "skipped": (made_result(rules=[FAILED]), made_result(matrix=SKIPPED), UNCHANGED, ("failed", "skipped")),
    "harder": (made_result(rules=[WARNED]), made_result(rules=[FAILED]), WORSE, ("warned", "failed")),
    "softer": (made_result(rules=[BLOCKED]), made_result(rules=[WARNED]), UNCHANGED, ("blocked", "warned")),
    "confirmed": (
        replace(made_result(), unsteady=(FAILED,)),
        made_result(rules=[FAILED]),
        WORSE,
        (ONCE, "failed"),
    ),
    "unsteady": (
        made_result(rules=[FAILED]),
        replace(made_result(), unsteady=(FAILED,)),
        UNCHANGED,
        ("failed", ONCE),
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_a_rule_that_changed(case):
    old, new, status, states = CASES[case]
    found = compared(old, new)
    assert [(one.rule, one.was, one.now) for pair in found.changes for one in pair.rules] == (
        [(PING, *states)] if states else []
    )
    assert found.status == status


def test_a_right_server_that_is_red_comes_first():
    old = [made_result("a", [WARNED]), made_result("b", matrix=HELD), made_result("c", [FAILED])]
    new = [made_result("a", [WARNED, TITLE]), made_result("b", [FAILED]), made_result("c", [WARNED])]
    old[0] = replace(old[0], grade=Grade.DOES_NOT_CONFORM)
    found = differences(old, new)
    assert [one.name for one in found.changes] == ["b", "a", "c"]
    assert [one.reddened for one in found.changes] == [True, False, False]
    summary = "0 unchanged, 1 no longer conform, 1 otherwise worse, 1 changed and not worse"
    assert f"3 targets compared, {summary}\n" in render(found)


def test_a_server_that_could_no_longer_be_judged_is_worse():
    found = compared(made_result(rules=[FAILED]), unjudged())
    assert found.status == WORSE
    assert "could no longer be judged (it did not start), was does not conform" in render(found)
    assert not found.changes[0].rules


def test_a_server_that_is_judged_now_is_not_worse():
    found = compared(unjudged(), made_result(rules=[FAILED]))
    assert found.status == UNCHANGED
    assert "weather: does not conform, was could not be judged (it did not start)" in render(found)


def test_another_obstacle_is_reported():
    found = compared(unjudged(), unjudged(Obstacle.SECRET))
    assert found.status == UNCHANGED
    assert "(it needs a secret), was could not be judged (it did not start)" in render(found)


def test_a_target_that_is_missing_is_worse():
    found = differences([made_result("a"), made_result("b")], [made_result("b"), made_result("c")])
    assert (found.only_old, found.only_new, found.status) == (("a",), ("c",), WORSE)
    assert "no longer surveyed:\n  a" in render(found)
    assert "not surveyed before:\n  c" in render(found)
    only_new = differences([made_result("b")], [made_result("b"), made_result("c")])
    assert (only_new.only_new, only_new.status) == (("c",), UNCHANGED)


@pytest.mark.parametrize(("old", "new", "side"), [([], ["a"], "first"), (["a"], [], "second")])
def test_a_survey_without_results_is_not_compared(old, new, side):
    with pytest.raises(NoResults, match=f"the {side} survey has no result"):
        differences(map(made_result, old), map(made_result, new))


def test_targets_are_joined_by_what_they_say_and_then_by_name():
    first, second = (Target("a", "pypi", "a", version) for version in ("1.0", "2.0"))
    old = [made_result(target=first, matrix=HELD), made_result(target=second, rules=[FAILED])]
    assert differences(old, [made_result(target=first, matrix=HELD)]).changes == ()
    found = differences(old[:1], [made_result(target=second, rules=[FAILED])])
    assert found.status == WORSE
    assert "the target's version was 1.0, is 2.0" in render(found)


def test_the_last_result_of_a_target_counts():
    first = made_result(rules=[FAILED], started="2026-11-01T10:00:00+00:00")
    last = made_result(matrix=HELD, started="2026-11-02T10:00:00+00:00")
    assert differences([last, first], [last]).changes == ()


def test_revisions_with_the_same_change_are_one_line():
    both = [made_finding(PING, Outcome.FAILED, revision=one) for one in ("2025-06-18", REVISION)]
    old = made_result(matrix={PING: {"2025-06-18": "passed", REVISION: "passed"}})
    text = render(compared(old, made_result(rules=both)))
    assert text.count(PING) == 1
    assert f"newly red: {PING} in 2025-06-18, {REVISION}: was passed, now failed: expected a string" in text


def test_a_rule_that_the_old_version_lacked_is_marked():
    found = differences([made_result(tool_version="0.0.9")], [made_result(rules=[FAILED])])
    assert found.changes[0].rules[0].new_in == "0.1"
    assert "the rule is of version 0.1 of this tool" in render(found)
    unknown = differences([made_result(tool_version="")], [made_result(rules=[FAILED])])
    assert unknown.changes[0].rules[0].new_in == ""


def test_what_else_changed_is_reported_with_the_target():
    old = made_result(matrix=HELD, sdk="Python SDK 1.0", server_version="1")
    text = render(compared(old, made_result(rules=[FAILED], sdk="Python SDK 1.1", server_version="2")))
    assert "  the SDK was Python SDK 1.0, is Python SDK 1.1\n" in text
    assert "  the server's version was 1, is 2\n" in text


def test_the_sides_are_named():
    new = made_result("a", tool_version="0.2.0", options=("--call", "none"))
    text = render(differences([made_result("a"), made_result("b", [FAILED])], [new]))
    assert text.startswith(
        "from version 0.1.0, 2 targets; conforms: 1, does not conform: 1\n"
        "to   version 0.2.0 with --call none, 1 target; conforms: 1\n"
    )


def test_text_of_a_server_stays_on_its_line():
    target = Target(f"{EVIL}\nfrom nowhere", "pypi", "a", "1.0")
    finding = replace(FAILED, reason=f"{EVIL}\nto nowhere")
    text = render(differences([made_result(target=target)], [made_result(target=target, rules=[finding])]))
    assert not any(sign in text for sign in "\x1b\u202e\ud800")
    assert "\nfrom nowhere" not in text
    assert "\nto nowhere" not in text
