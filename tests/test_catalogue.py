"""The catalogue is complete, consistent with itself, and answers what it is asked."""

import pickle
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from conformance.requirements import catalogue
from conformance.requirements.catalogue import (
    UnknownRequirement,
    all_requirements,
    families,
    requirement,
    select,
)

FOLDER = Path(catalogue.__file__).parent
FILES = {path.stem: path.read_text(encoding="utf-8") for path in FOLDER.glob("*.toml")}
NO_FAMILY = {"families", "schema-pages"}
REVISIONS = ["2024-10-07", "2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"]
LEVELS = {"MUST", "SHOULD", "MAY"}
BASES = {"keyword", "schema", "prose", "example", "json-rpc", "derived"}
PROBES = {None, "passive", "list", "error-path", "invoke", "fixture", "two-runs", "none"}
TEXTS = ["says", "observe", "pitfalls", "mutant", "needs", "changed", "untestable"]
KEYS = {*TEXTS, "level", "basis", "revisions", "probe", "see", "sdk", "section"}
SITE = "https://modelcontextprotocol.io/specification"
BLOB = "https://github.com/modelcontextprotocol/modelcontextprotocol/blob"
PLACE = re.compile(r"(draft/tools|[a-z]+(/[a-z]+)*)(#[\w%.-]+)?|schema#\w+|json-rpc")
URL = re.compile(
    rf"{SITE}/\d{{4}}-\d\d-\d\d/[a-z]+(/[a-z]+)*(#[\w%.-]+)?"
    rf"|{BLOB}/main/schema/\d{{4}}-\d\d-\d\d/schema\.ts"
    rf"|{BLOB}/2024-10-07/docs/spec/tools\.md#[a-z0-9-]+"
    r"|https://www\.jsonrpc\.org/specification"
)


@pytest.fixture(params=list(families()))
def rows(request):
    """The rows of one family: a failure names the family, the message the rows."""
    return [row for row in all_requirements().values() if row.family == request.param]


def texts(row):
    found = [getattr(row, name) for name in TEXTS]
    return [text for text in (*found, *row.sdk.values()) if text is not None]


# What stands in the files


def test_all_608_rows_are_there():
    assert len(all_requirements()) == 608
    assert len(families()) == 35


def test_each_family_has_a_file_and_each_file_a_family():
    assert set(FILES) == set(families()) | NO_FAMILY


def test_rows_stand_in_the_file_of_their_family_in_its_order():
    expected = [id for family in families() for id in tomllib.loads(FILES[family])]
    assert list(all_requirements()) == expected
    for family in families():
        assert all(id.startswith(f"{family}.") for id in tomllib.loads(FILES[family])), family


def test_no_row_has_a_key_that_would_be_overlooked():
    rows = {id: row for family in families() for id, row in tomllib.loads(FILES[family]).items()}
    assert {id: set(row) - KEYS for id, row in rows.items() if set(row) - KEYS} == {}


def test_files_are_fit_to_be_read():
    for stem, text in FILES.items():
        assert [line for line in text.splitlines() if len(line) > 110] == [], stem
        assert text.endswith("\n"), stem


# Rows


def test_ids_are_dotted_and_lower_case(rows):
    for row in rows:
        assert re.fullmatch(r"[a-z]+(-[a-z]+)*(\.[a-z0-9]+(-[a-z0-9]+)*)+", row.id), row.id


def test_each_row_resolves_in_each_of_its_revisions_and_in_no_other(rows):
    for row in rows:
        assert row.revisions, row.id
        assert list(row.revisions) == [known for known in REVISIONS if known in row.revisions], row.id
        for mapping in (row.levels, row.bases, row.sections):
            assert tuple(mapping) == row.revisions, row.id
        for revision in REVISIONS:
            assert row.holds_in(revision) is (revision in row.revisions)
        for revision in row.revisions:
            assert row.level(revision) in LEVELS, row.id
            assert row.basis(revision) in BASES, row.id


def test_each_row_names_its_places(rows):
    for row in rows:
        for places in row.sections.values():
            assert places, row.id
            assert all(PLACE.fullmatch(place) for place in places), (row.id, places)


def test_each_row_has_well_formed_urls(rows):
    for row in rows:
        for revision in row.revisions:
            urls = row.urls(revision)
            assert urls[0] == row.url(revision)
            assert len(set(urls)) == len(urls), row.id
            assert all(URL.fullmatch(url) for url in urls), (row.id, urls)
            assert all(revision in url or "jsonrpc" in url for url in urls), (row.id, urls)


def test_each_row_says_its_rule_in_a_sentence(rows):
    for row in rows:
        assert re.match(r"[A-Za-z`/_]", row.says), row.says
        assert row.says.endswith("."), row.says


def test_a_row_can_be_checked_or_says_why_not(rows):
    for row in rows:
        if row.untestable is None:
            assert row.observe is not None, row.id
            assert row.mutant is not None, row.id
        assert row.probe in PROBES, row.id
        if row.probe is not None:
            assert (row.probe == "none") is (row.untestable is not None), row.id


def test_no_text_is_a_placeholder_or_leans_on_its_neighbours(rows):
    for row in rows:
        for text in texts(row):
            assert text == " ".join(text.split()), (row.id, text)
            assert text.strip("-() ").lower() not in {"", "none", "none known", "todo"}, (row.id, text)
            assert not re.search(r"\b[Aa]s above\b", text), (row.id, text)


def test_rows_refer_to_rows_that_exist(rows):
    for row in rows:
        assert row.id not in row.see
        named = re.findall(r"\b(?:As|[Ss]ee(?: also)?) ((?:[a-z-]+\.)+[a-z0-9-]+)", " ".join(texts(row)))
        assert [id for id in (*row.see, *named) if id not in all_requirements()] == [], row.id


# Families


def test_each_family_says_why_it_matters():
    for name, family in families().items():
        assert family.name == name
        assert family.title
        assert not family.title.endswith(".")
        assert 2 <= len(re.findall(r"[.!?](?=\s|$)", family.why)) <= 3, name
        assert family.why == " ".join(family.why.split()), name
    assert len({family.why for family in families().values()}) == len(families())
    assert len({family.title for family in families().values()}) == len(families())


# One row


def test_a_row_that_is_the_same_in_all_revisions():
    row = requirement("ping.empty-result")
    assert row.family == "ping"
    assert row.revisions == ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
    assert {row.level(revision) for revision in row.revisions} == {"MUST"}
    assert row is all_requirements()["ping.empty-result"]


def test_a_row_whose_level_and_basis_changed():
    row = requirement("tools.def.input-schema-valid")
    assert (row.level("2025-06-18"), row.basis("2025-06-18")) == ("SHOULD", "prose")
    assert (row.level("2025-11-25"), row.basis("2025-11-25")) == ("MUST", "keyword")
    assert row.changed
    assert "py-2.3" in row.sdk


def test_a_revision_in_which_the_rule_does_not_hold_is_an_error():
    row = requirement("ping.empty-result")
    for ask in (row.level, row.basis, row.urls, row.url):
        with pytest.raises(KeyError, match="2026-07-28"):
            ask("2026-07-28")


def test_a_row_can_be_neither_changed_nor_confused():
    row = requirement("ping.responds")
    with pytest.raises(AttributeError):
        row.says = "ping may be ignored."
    assert len({row, requirement("ping.responds"), requirement("ping.prompt")}) == 2
    with pytest.raises(TypeError):
        all_requirements()["ping.responds"] = row


@pytest.mark.parametrize(
    ("id", "revision", "url"),
    [
        ("capabilities.tools.declared", "2025-06-18", f"{SITE}/2025-06-18/server/tools#capabilities"),
        ("meta.key-name", "2025-11-25", f"{SITE}/2025-11-25/basic#meta"),
        ("deprecated.logging", "2026-07-28", f"{SITE}/2026-07-28/deprecated"),
        ("pagination.next-cursor-string", "2025-11-25", f"{BLOB}/main/schema/2025-11-25/schema.ts"),
        ("tools.def.name-string", "2025-11-25", f"{SITE}/2025-11-25/schema#tool"),
        ("tools.list.result-shape", "2025-06-18", f"{SITE}/2025-06-18/schema#listtoolsresult"),
        ("tools.list.result-shape", "2024-11-05", f"{BLOB}/main/schema/2024-11-05/schema.ts"),
        ("capabilities.tools.declared", "2024-10-07", f"{BLOB}/2024-10-07/docs/spec/tools.md#capabilities"),
    ],
)
def test_urls_lead_to_where_the_rule_is_written(id, revision, url):
    assert requirement(id).url(revision) == url


def test_a_rule_with_several_places_has_a_url_for_each():
    assert requirement("jsonrpc.method-not-found").urls("2025-11-25") == (
        f"{SITE}/2025-11-25/basic#messages",
        f"{BLOB}/main/schema/2025-11-25/schema.ts",
        "https://www.jsonrpc.org/specification",
    )


# Asking


@pytest.mark.parametrize("ask", [requirement, select])
def test_an_unknown_id_gets_suggestions(ask):
    with pytest.raises(UnknownRequirement) as caught:
        ask("tools.def.nam-string")
    assert caught.value.id == "tools.def.nam-string"
    assert caught.value.suggestions[0] == "tools.def.name-string"
    assert str(caught.value).startswith(
        "no requirement or family 'tools.def.nam-string'; did you mean tools.def.name-string or "
    )


@pytest.mark.parametrize("ask", [requirement, select])
@pytest.mark.parametrize("id", ["", ".", "zzzz", "families", "schema-pages", "../pyproject", "tools."])
def test_what_is_no_id_at_all_is_unknown_too(ask, id):
    with pytest.raises(UnknownRequirement, match="no requirement or family"):
        ask(id)


def test_a_family_is_no_requirement():
    with pytest.raises(UnknownRequirement):
        requirement("tools")


def test_an_unknown_requirement_is_a_key_error_that_travels():
    error = UnknownRequirement("ping.pong", ("ping.prompt",))
    copy = pickle.loads(pickle.dumps(error))
    assert isinstance(copy, KeyError)
    assert (copy.id, copy.suggestions) == ("ping.pong", ("ping.prompt",))
    assert str(copy) == str(error) == "no requirement or family 'ping.pong'; did you mean ping.prompt?"


def test_select_takes_a_family_a_group_or_a_row():
    tools = {id for id in all_requirements() if id.startswith("tools.")}
    definitions = {id for id in tools if id.startswith("tools.def.")}
    assert select("tools") == tools
    assert select("tools.def") == definitions
    assert select("tools.def.title-string") == {"tools.def.title-string"}


def test_select_ends_at_dots():
    assert not any(id.startswith("tools.list-changed.") for id in select("tools.list"))
    assert not any(id.startswith("list-changed.") for id in select("tools"))
    with pytest.raises(UnknownRequirement) as caught:
        select("tools.de")
    assert "tools.def" in caught.value.suggestions


def test_select_suggests_families_and_groups():
    with pytest.raises(UnknownRequirement) as caught:
        select("tool")
    assert caught.value.suggestions[0] == "tools"


def test_asking_for_one_row_reads_one_family_and_imports_nothing_of_ours():
    program = """
import sys
read = []
sys.addaudithook(lambda event, args: read.append(str(args[0])) if event == "open" else None)
from conformance.requirements import catalogue
catalogue.requirement("ping.responds")
print(*sorted(name.replace("\\\\", "/").rpartition("/")[2] for name in read if name.endswith(".toml")))
print(*sorted(name for name in sys.modules if name.partition(".")[0] == "conformance"))
"""
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.splitlines() == [
        "families.toml ping.toml",
        "conformance conformance.requirements conformance.requirements.catalogue",
    ]
