"""The words of schemas, descriptions and instructions, read from those of real servers."""

import time

import pytest

from mcp_conformance.client.tool_call import Tool
from mcp_conformance.protocol.value import Value
from mcp_conformance.world.formats import values_of_format
from mcp_conformance.world.known import Owner
from mcp_conformance.world.members import members_of
from mcp_conformance.world.words import endings_of, words_of_instructions, words_of_tools

LOG = (
    "Start timestamp for filtering commits. Accepts: ISO 8601 format (e.g., '2024-01-15T14:30:25'), relative "
    "dates (e.g., '2 weeks ago', 'yesterday'), or absolute dates (e.g., '2024-01-15', 'Jan 15 2024')"
)
BRANCH = "Whether to list local branches ('local'), remote branches ('remote') or all branches('all')."


def tool(name="read", description="", **members):
    schema = {"type": "object", "properties": members}
    return Tool(Value({"name": name, "description": description, "inputSchema": schema}, "tool", ()))


def words(*tools, rank=1):
    return {(one.value, one.keys[0]) for one in words_of_tools(tools) if one.rank >= rank}


def described(text, **more):
    return {one.value for one in words_of_tools([tool(member={"description": text, **more})])}


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        pytest.param(
            LOG, {"2024-01-15T14:30:25", "2 weeks ago", "yesterday", "Jan 15 2024"}, id="mcp-server-git"
        ),
        pytest.param(BRANCH, {"local", "remote", "all"}, id="mcp-server-git, git_branch"),
        pytest.param(
            "e.g. 'A1:D20', 'B:B'. Default: the used range.", {"A1:D20", "B:B"}, id="excel-mcp-server"
        ),
        pytest.param("Top-left cell.", {"A1"}, id="excel-mcp-server, at"),
        pytest.param("Hex.", {"FF0000"}, id="excel-mcp-server, border_color"),
        pytest.param("Hex RGB, like FF8800", {"FF8800"}, id="a colour"),
        pytest.param("SQL query to execute (DuckDB SQL dialect)", {"SELECT 1 AS one"}, id="motherduck"),
        pytest.param("Library, e.g., yamadashy/repomix", {"yamadashy/repomix"}, id="repomix"),
        pytest.param("Key to press, such as `ArrowLeft` or `a`", {"ArrowLeft", "a"}, id="playwright"),
        pytest.param("Sort order (asc, desc)", {"asc", "desc"}, id="in brackets"),
        pytest.param("asc|desc", {"asc", "desc"}, id="bars"),
        pytest.param("One of: bar, line, pie", {"bar", "line", "pie"}, id="one of"),
        pytest.param("Options: 'low', 'high'", {"low", "high"}, id="options"),
        pytest.param("Day. Format: YYYY-MM-DD", {"2026-01-15"}, id="a date"),
        pytest.param("Path, e.g. /home/me/q1.xlsx", {"q1.xlsx"}, id="a path"),
        pytest.param("Page, e.g. 'https://example.com/a'", {"https://example.com/a"}, id="a reserved host"),
    ],
)
def test_words_of_descriptions(text, wanted):
    assert wanted <= described(text)


@pytest.mark.parametrize(
    "text",
    [
        "e.g. 'https://github.com/a/b'",
        "e.g. notes://all",
        "e.g. ghp_0123456789abcdefghij",
        "See 'read' and `member` for more.",
        "'https://...' or 'mailto:...'",
        "",
        "It's what the user's agent doesn't know.",
    ],
)
def test_what_may_be_there_and_names_are_no_words(text):
    assert described(text) == set()


def test_values_of_schemas_are_words_for_members_of_their_names():
    found = list(words_of_tools([tool(
        mode={"enum": ["a", None]}, limit={"default": 5, "examples": [7]}, kind={"const": "k"},
        opts={"type": "object", "properties": {"sort": {"anyOf": [{"const": "up"}, {"const": "down"}]}}},
    )]))  # fmt: skip
    assert {(one.value, one.keys) for one in found} == {
        ("a", ("mode",)), (5, ("limit",)), (7, ("limit",)), ("k", ("kind",)),
        ("up", ("sort", "opts")), ("down", ("sort", "opts")),
    }  # fmt: skip
    assert {(one.owner, one.rank) for one in found} == {(Owner.WORD, 2)}


def test_the_lines_of_a_docstring_are_about_their_members():
    text = "Plot data.\n\nArgs:\n    kind: One of 'bar' or 'line'\n    day (str): e.g. 2024-05-01\n\nSee "
    "'more'."
    found = words(tool("plot", text, kind={"type": "string"}, day={"type": "string"}))
    assert {("bar", "kind"), ("line", "kind"), ("2024-05-01", "day")} <= found
    assert "more" not in {value for value, _ in found}


def test_a_sentence_of_a_tool_gives_its_examples_to_the_member_that_it_names():
    found = words(tool("read", "Pass `range` as in 'A1', e.g. 'B2'. A hint.", range={}, sheet={}))
    assert found == {("B2", "range")}


def test_instructions_have_words_under_the_word_before():
    text = "Cells use A1 notation ('B2', ranges 'A1:D20'). Files are in '/srv/x'."
    found = {(one.value, one.keys[0], one.rank) for one in words_of_instructions(text)}
    assert found == {("B2", "notation", 0), ("A1:D20", "ranges", 0)}


@pytest.mark.parametrize(
    "text", ["e.g. " * 20_000, "(a, " * 20_000, "x.y" * 30_000, "YYYY-" * 20_000, "'a' " * 9_000]
)
def test_a_long_text_is_read_in_little_time(text):
    before = time.process_time()
    list(words_of_tools([tool("x", text, path={"description": text})]))
    list(words_of_instructions(text))
    assert time.process_time() - before < 2


@pytest.mark.parametrize(
    ("text", "about", "endings"),
    [
        (".csv or .tsv file, located like workbooks.", "", (".csv", ".tsv")),
        ("The file", "Open a workbook, e.g. /home/me/q1.xlsx", (".xlsx",)),
        ("The file", "Reads files that end with .pdf.", (".pdf",)),
        ("The file", "Version 2.x is faster", ()),
        ("Absolute path to the Excel file", "Describe a PDF", (".xlsx",)),
        ("The file", "Split a PDF, or a Word document", (".pdf", ".docx")),
        ("The file", "Returns JSON", ()),
    ],
)
def test_endings_of_a_member(text, about, endings):
    schema = {"properties": {"path": {"description": text}}}
    assert endings_of(members_of(schema)[0], "read", about) == endings


@pytest.mark.parametrize(
    ("name", "tool", "endings"),
    [
        ("csv_path", "merge", (".csv",)),
        ("file_path", "load_csv", (".csv",)),
        ("imagePath", "toJson", (".png",)),
        ("path", "read", ()),
        ("path", "count_words", ()),
    ],
)
def test_endings_by_names(name, tool, endings):
    member = members_of({"properties": {name: {"description": "The file"}}})[0]
    assert endings_of(member, tool, "Do it.") == endings


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("DD.MM.YYYY", "15.01.2026"),
        ("yyyy/mm/dd", "2026/01/15"),
        ("YYYY-MM-DDTHH:MM:SSZ", "2026-01-15T12:30:00Z"),
        ("HH:MM:SS", "12:30:00"),
        ("an ISO 8601 duration", "PT1H"),
        ("zip must have 5 digits", "12345"),
        ("a UUID", "123e4567-e89b-42d3-a456-426614174000"),
    ],
)
def test_values_of_formats(text, value):
    assert values_of_format(text)[0] == value


@pytest.mark.parametrize("text", ["any text", "COMMAND", "Insert empty rows before `start`."])
def test_a_text_without_a_format_has_no_values(text):
    assert values_of_format(text) == []
