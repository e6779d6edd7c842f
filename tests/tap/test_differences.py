"""What differs between recorded answers and new ones, and what only varies."""

from datetime import UTC, datetime

import pytest

from mcp_conformance.tap.differences import Answer, Comparison

THEN = datetime(2026, 3, 2, 10, 20, 30, tzinfo=UTC).timestamp()
NOW = datetime(2026, 11, 27, 2, 14, 19, tzinfo=UTC).timestamp()


def found(thens, nows, varies=()):
    """Return the differences of answers as texts; each has a clock, and took 20 ms."""
    comparison = Comparison(set(varies))
    answers = [
        [Answer({"result": one}, at, 0.02) for one in some] for some, at in ((thens, THEN), (nows, NOW))
    ]
    return [str(one) for one in comparison.differences(*answers)], comparison.varies


def text(words):
    return {"content": [{"type": "text", "text": words}]}


@pytest.mark.parametrize(
    ("then", "nows", "difference"),
    [
        ({"a": 1}, [{"a": 2}, {"a": 2}], "result.a was 1, is 2"),
        ({"a": 1}, [{"a": True}, {"a": True}], "result.a was 1, is true"),
        ({"a": 1}, [{}, {}], "result.a is gone: 1"),
        ({}, [{"a": None}, {"a": None}], "result.a is new: null"),
        ({"a": [1, 2]}, [{"a": [1, 2, 3]}] * 2, "result.a[2] is new: 3"),
        ({"a": [1, 2]}, [{"a": [2, 1]}] * 2, "result.a[0] was 1, is 2"),
        (
            text('{"n": [{"id": 4}]}'),
            [text('{"n":[{"id":5}]}')] * 2,
            "result.content[0].text.n[0].id was 4, is 5",
        ),
        (text("took 3 ms: 5"), [text("took 4 ms: 6")] * 2, None),
        (text("id ab12: done"), [text("id cd34: failed"), text("id ef56: failed")], None),
        ({"isError": False}, [{"isError": True}] * 2, "result.isError was false, is true"),
        ({"at": "2020-01-01"}, [{"at": "2020-01-02"}] * 2, 'result.at was "2020-01-01", is "2020-01-02"'),
        (
            {"tools": [{"name": "a", "title": "x"}]},
            [{"tools": [{"name": "b"}, {"name": "a", "title": "y"}]}] * 2,
            'result.tools[a].title was "x", is "y"',
        ),
    ],
)
def test_what_differs_is_found_with_its_path(then, nows, difference):
    differences, _ = found([then], nows)
    assert differences
    assert difference is None or differences[0] == difference


@pytest.mark.parametrize(
    ("then", "nows"),
    [
        ({"a": 1}, [{"a": 2}, {"a": 1}]),
        ({"a": 1}, [{"a": 2}, {"a": 3}]),
        ({"a": [1]}, [{"a": [1, 2]}, {"a": [3]}]),
        ({"a": [1, 2]}, [{"a": [2, 1]}, {"a": [1, 2]}]),
        (
            {"structuredContent": {"s": [1, 2, 3]}},
            [{"structuredContent": {"s": one}} for one in ([3, 1, 2], [2, 3, 1])],
        ),
        ({"a": "2026-03-02T10:20:30Z"}, [{"a": "2026-11-27T02:14:19Z"}] * 2),
        ({"a": THEN}, [{"a": NOW}] * 2),
        ({"a": int(THEN * 1000)}, [{"a": int(NOW * 1000)}] * 2),
        ({"day": "Monday"}, [{"day": "Friday"}] * 2),
        (text("It is 10:20:31 on March 2, 2026"), [text("It is 2:14:19 on November 27, 2026")] * 2),
        (text("took 3ms"), [text("took 4ms")] * 2),
        ({"elapsedMs": 3}, [{"elapsedMs": 4}] * 2),
        (
            text("run 5d1f finished with 3 of 4"),
            [text(f"run {one} finished with 3 of 4") for one in ("ab", "c9")],
        ),
        (text("key ***!"), [text("key abcdef!")] * 2),
        ({"serverInfo": {"name": "x", "version": "1"}}, [{"serverInfo": {"name": "x", "version": "2"}}] * 2),
        (
            {"structuredContent": {"rows": [{"k": "a", "v": 7}, {"k": "b", "v": 1}]}},
            [{"structuredContent": {"rows": [{"k": "a", "v": one}, {"k": "b", "v": 2}]}} for one in (5, 6)],
        ),
        (
            {"structuredContent": {"x1": 1}},
            [{"structuredContent": {"y": 1}}, {"structuredContent": {"z": 1}}],
        ),
    ],
)
def test_what_varies_is_no_difference(then, nows):
    assert found([then], nows)[0] == []


def test_what_varies_among_recordings_is_no_difference():
    assert found([{"a": 1}], [{"a": 3}])[0] == ["result.a was 1, is 3"]
    assert found([{"a": 1}, {"a": 2}], [{"a": 3}])[0] == []


def test_of_a_text_that_varies_the_rest_is_compared():
    nows = [text("run ab12: 6 rows"), text("run cd34: 6 rows")]
    assert found([text("run ef56: 6 rows")], nows)[0] == []
    assert found([text("run ef56: 5 rows")], nows)[0] == [
        'result.content[0].text was "run ef56: 5 rows", is "run ab12: 6 rows"'
    ]


def test_what_is_known_to_vary_is_not_compared():
    then, now = ({"rows": [{"id": 1}, {"id": one}]} for one in (2, 3))
    assert found([then], [now], {"result.rows[*].id"})[0] == []
    assert found([then], [now], {"result.rows[0].id"})[0] == ["result.rows[1].id was 2, is 3"]


def test_what_varies_is_learned_with_its_path():
    rows = [{"structuredContent": {"rows": [{"id": one, "n": 1}]}} for one in ("a", "b", "c")]
    assert found(rows[:1], rows[1:])[1] == {"result.structuredContent.rows[*].id"}


def test_a_long_value_is_shown_where_it_differs():
    ((difference,), _) = found([text("x" * 500 + "then")], [text("x" * 500 + "now")] * 2)
    assert "then" in difference
    assert "now" in difference
    assert len(difference) < 350
