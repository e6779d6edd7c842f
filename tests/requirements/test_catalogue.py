"""The catalogue: valid under its schema, consistent, and found by id, group and family."""

import json
import pickle
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from jsonschema.validators import validator_for

from mcp_conformance.protocol import revisions
from mcp_conformance.requirements import catalogue
from mcp_conformance.requirements.catalogue import (
    UnknownRequirement,
    all_requirements,
    families,
    requirement,
    select,
    stem,
)
from mcp_conformance.requirements.checks import checked, suites_directory
from mcp_conformance_fixtures import http_mutants as http_mutants_package
from mcp_conformance_fixtures import mutants as mutants_package

FOLDER = Path(catalogue.__file__).parent
SCHEMA = "requirements.schema.json"
FILES = {path.stem: path.read_text(encoding="utf-8") for path in FOLDER.glob("*.toml")}
NO_FAMILY = {"families", "schema_pages"}
TEXTS = ["says", "fix", "observe", "pitfalls", "mutant", "needs", "changed", "untestable"]
SITE = "https://modelcontextprotocol.io/specification"
BLOB = "https://github.com/modelcontextprotocol/modelcontextprotocol/blob"
PLACEHOLDER = re.compile(r"[-() ]*(none|none known|todo)?[-() .]*", re.IGNORECASE)
EXTENSION = (
    "https://github\\.com/modelcontextprotocol/ext-[a-z]+/blob/main/specification/[a-z0-9-]+/[a-z]+\\.mdx?"
)
URL = re.compile(
    rf"{SITE}/\d{{4}}-\d\d-\d\d/[a-z]+([/-][a-z]+)*(#[\w%.-]+)?"
    rf"|{BLOB}/main/schema/\d{{4}}-\d\d-\d\d/schema\.ts"
    rf"|{BLOB}/2024-10-07/docs/spec/tools\.md#[a-z0-9-]+"
    rf"|{EXTENSION}#[a-z0-9-]+"
    r"|https://www\.jsonrpc\.org/specification"
    r"|urn:pytest-mcp-conformance:[a-z]+"
)


def rows():
    return list(all_requirements().values())


def texts(row):
    found = [getattr(row, name) for name in TEXTS]
    return [text for text in (*found, *row.fix_in.values(), *row.sdk.values()) if text is not None]


# The files


def test_each_family_has_a_file_and_each_file_a_family():
    assert set(FILES) == set(map(stem, families())) | NO_FAMILY


def test_suites_and_mutants_have_the_stem_of_their_family():
    def stems(folder, pattern):
        return {path.stem.removeprefix("test_") for path in folder.glob(pattern)}

    suites = stems(suites_directory(), "test_*.py")
    packages = (mutants_package, http_mutants_package)
    mutants = {one for package in packages for one in stems(Path(package.__file__).parent, "[!_]*.py")}
    assert suites == mutants
    known = (*map(stem, families()), "fuzz", "messages")
    assert [name for name in suites if not any(f"{name}_".startswith(f"{one}_") for one in known)] == []


def test_rows_are_in_the_file_of_their_family_in_its_order():
    expected = [id for family in families() for id in tomllib.loads(FILES[stem(family)])]
    assert list(all_requirements()) == expected
    placed = [(family, id) for family in families() for id in tomllib.loads(FILES[stem(family)])]
    assert [id for family, id in placed if not id.startswith(f"{family}.")] == []


def test_every_file_is_valid_under_the_schema_and_names_it():
    schema = json.loads((FOLDER / SCHEMA).read_text(encoding="utf-8"))
    validator_class = validator_for(schema)
    validator_class.check_schema(schema)
    validator = validator_class(schema)
    errors = [
        f"{file}.toml: {error.json_path}: {error.message}"
        for file, text in FILES.items()
        for error in validator.iter_errors(tomllib.loads(text))
    ]
    assert errors == []
    first = f"#:schema ./{SCHEMA}"
    assert [file for file, text in FILES.items() if text.partition("\n")[0] != first] == []


def test_the_remedy_is_that_of_the_sdk_if_it_has_its_own():
    row = requirement("stdio.stdout-purity")
    assert "sys.stderr" in row.remedy("Python SDK 2.x")
    assert "console.error" in row.remedy("TypeScript SDK 1.x")
    assert row.remedy("Go SDK") == row.remedy("") == row.fix


def test_the_schema_has_exactly_the_members_that_are_read():
    schema = json.loads((FOLDER / SCHEMA).read_text(encoding="utf-8"))
    members = set(schema["$defs"]["requirement"]["properties"])
    assert members == {
        *TEXTS,
        "fix-python",
        "fix-typescript",
        "defect",
        "level",
        "basis",
        "since",
        "until",
        "except",
        "reviewed",
        "probe",
        "see",
        "sdk",
        "section",
        "added-in",
        "sharpened-in",
        "transport",
    }


@pytest.mark.parametrize(
    ("change", "path"),
    [
        ({"level": "must"}, "level"),
        ({"basis": {"2025-11-25": "keyword", "2025-11": "prose"}}, "basis"),
        ({"since": "0.1"}, "since"),
        ({"except": []}, "except"),
        ({"since": None}, ""),
        ({"says": "no full stop"}, "says"),
        ({"pitfall": "A key that nothing reads."}, ""),
        ({"section": ["Server/Tools"]}, "section"),
        ({"untestable": "no client can see it", "probe": "list"}, "probe"),
        ({"mutant": None}, ""),
    ],
    ids=lambda value: value if isinstance(value, str) else "+".join(value),
)
def test_the_schema_rejects_an_invalid_row(change, path):
    schema = json.loads((FOLDER / SCHEMA).read_text(encoding="utf-8"))
    row = {**tomllib.loads(FILES["ping"])["ping.empty-result"], **change}
    row = {name: value for name, value in row.items() if value is not None}
    errors = list(validator_for(schema)(schema).iter_errors({"ping.empty-result": row}))
    assert errors
    assert {error.json_path.partition("]")[2].partition("[")[0] for error in errors} == {path and f".{path}"}


def test_lines_are_short_and_files_end_with_one():
    long = [(file, line) for file, text in FILES.items() for line in text.splitlines() if len(line) > 110]
    assert long == []
    assert [file for file, text in FILES.items() if not text.endswith("\n")] == []


# Rows


def test_each_row_resolves_in_each_of_its_revisions_and_in_no_other():
    wrong = [
        row.id
        for row in rows()
        if list(row.revisions) != [known for known in revisions.KNOWN if row.holds_in(known)]
        or not row.revisions
        or {tuple(mapping) for mapping in (row.levels, row.bases, row.sections)} != {row.revisions}
    ]
    assert wrong == []


def test_each_row_has_well_formed_urls():
    wrong = []
    for row in rows():
        for revision in row.revisions:
            urls = row.urls(revision)
            assert urls[0] == row.url(revision)
            assert len(set(urls)) == len(urls), row.id
            wrong += [url for url in urls if not URL.fullmatch(url)]
            places = (revision, "jsonrpc", "urn:", "/ext-")
            wrong += [url for url in urls if not any(place in url for place in places)]
    assert wrong == []


def test_no_text_is_a_placeholder_or_refers_to_its_neighbours():
    found = [(row.id, text) for row in rows() for text in texts(row)]
    assert [one for one in found if one[1] != " ".join(one[1].split())] == []
    assert [one for one in found if PLACEHOLDER.fullmatch(one[1])] == []
    assert [one for one in found if re.search(r"\b[Aa]s above\b", one[1])] == []


def test_rows_refer_to_rows_that_exist():
    missing = []
    for row in rows():
        named = re.findall(r"\b(?:As|[Ss]ee(?: also)?) ((?:[a-z-]+\.)+[a-z0-9-]+)", " ".join(texts(row)))
        missing += [(row.id, id) for id in (*row.see, *named) if id not in all_requirements() or id == row.id]
    assert missing == []


def test_each_checked_row_says_in_one_sentence_how_to_fix_a_finding():
    fixes = {id: requirement(id).fix or "" for id in checked()}
    assert [id for id, fix in fixes.items() if not fix] == []
    assert [fix for fix in fixes.values() if not re.match(r"[A-Z][a-z]+ ", fix)] == []
    assert [fix for fix in fixes.values() if re.findall(r"[.!?](?=\s|$)", fix) != ["."]] == []
    assert [fix for fix in fixes.values() if not fix.endswith(".") or len(fix) > 140] == []


def test_only_checked_rows_have_a_fix():
    assert [row.id for row in rows() if row.fix and row.id not in checked()] == []


# Families


def test_each_family_explains_in_two_or_three_sentences_why_it_matters():
    whys = {name: family.why for name, family in families().items()}
    assert [name for name, why in whys.items() if why != " ".join(why.split())] == []
    assert [name for name, why in whys.items() if not 2 <= len(re.findall(r"[.!?](?=\s|$)", why)) <= 3] == []
    assert len(set(whys.values())) == len(whys)
    assert len({family.title for family in families().values()}) == len(whys)
    assert [name for name, family in families().items() if family.name != name] == []


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


def test_rows_are_immutable_and_compare_by_identity():
    row = requirement("ping.responds")
    with pytest.raises(AttributeError):
        setattr(row, "says", "ping may be ignored.")  # noqa: B010  (mypy knows that it is read-only)
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
def test_the_url_of_a_row_is_its_place_in_the_specification(id, revision, url):
    assert requirement(id).url(revision) == url


def test_a_rule_with_several_places_has_a_url_for_each():
    assert requirement("jsonrpc.method-not-found").urls("2025-11-25") == (
        f"{SITE}/2025-11-25/basic#messages",
        f"{BLOB}/main/schema/2025-11-25/schema.ts",
        "https://www.jsonrpc.org/specification",
    )


# Finding rows


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
def test_a_malformed_id_is_unknown(ask):
    for id in ("", ".", "zzzz", "families", "schema_pages", "../pyproject", "tools."):
        with pytest.raises(UnknownRequirement, match="no requirement or family"):
            ask(id)


def test_a_family_is_not_a_requirement():
    with pytest.raises(UnknownRequirement):
        requirement("tools")


def test_an_unknown_requirement_is_a_key_error_that_can_be_pickled():
    error = UnknownRequirement("ping.pong", ("ping.prompt",))
    copy = pickle.loads(pickle.dumps(error))
    assert isinstance(copy, UnknownRequirement)
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


def test_one_row_is_found_without_reading_other_families_or_importing_more():
    program = """
import sys
read = []
sys.addaudithook(lambda event, args: read.append(str(args[0])) if event == "open" else None)
from mcp_conformance.requirements import catalogue
catalogue.requirement("ping.responds")
print(*sorted(name.replace("\\\\", "/").rpartition("/")[2] for name in read if name.endswith(".toml")))
print(*sorted(name for name in sys.modules if name.startswith("mcp_conformance")))
"""
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.splitlines() == [
        "families.toml ping.toml",
        " ".join(
            f"mcp_conformance{name}"
            for name in (
                *("", ".outcome", ".protocol", ".protocol.revisions", ".protocol.text"),
                *(".requirements", ".requirements.catalogue"),
            )
        ),
    ]
