"""The links of tools in a report: a table, text for Graphviz, and a picture."""

import re

from mcp_conformance.report.picture import MAX_TOOLS, picture
from mcp_conformance.report.tool_links import ToolLink, dot, link_lines
from mcp_conformance.state.uses import UseKind

BY_ID = "`id` in its answer"
LINKS = (
    ToolLink("create_folder", "create_note", UseKind.TAKES, BY_ID),
    ToolLink("create_note", "list_notes", UseKind.SHOWS, "", 3, 3),
    ToolLink("create_note", "delete_note", UseKind.DELETES, BY_ID, 3, 3),
    ToolLink("create_note", "count_notes", UseKind.COUNTS, "`total` +1", 3, 3),
)


def lefts(drawn):
    """Return how far to the right each tool stands."""
    boxes = re.findall(r'<rect x="([\d.]+)".*?</rect><text.*?>(.*?)</text>', drawn.markup)
    return {name: float(left) for left, name in boxes}


def test_a_line_says_what_a_tool_does_with_what_another_makes():
    assert list(link_lines(LINKS)) == [
        "create_folder  create_note takes it    `id` in its answer",
        "create_note    list_notes shows it                         seen in 3 of 3",
        "create_note    delete_note deletes it  `id` in its answer  seen in 3 of 3",
        "create_note    count_notes counts it   `total` +1          seen in 3 of 3",
    ]
    assert list(link_lines(())) == []


def test_graphviz_gets_names_in_quotes():
    text = dot([ToolLink('a"\\', "b;{}\n", UseKind.SHOWS)])
    assert r'"a\"\\" -> "b;{}' in text
    assert len(text.splitlines()) == 5


def test_what_makes_stands_to_the_left():
    left = lefts(picture(LINKS))
    assert left["create_folder"] < left["create_note"] < left["list_notes"] == left["delete_note"]


def test_tools_in_a_circle_are_drawn():
    links = [ToolLink(one, other, UseKind.SHOWS) for one, other in ("ab", "bc", "ca", "aa")]
    assert lefts(picture(links)).keys() == {"a", "b", "c"}


def test_nothing_and_too_much_is_not_drawn():
    assert picture(()) is None
    assert picture([ToolLink("a", f"b{number}", UseKind.SHOWS) for number in range(MAX_TOOLS)]) is None
