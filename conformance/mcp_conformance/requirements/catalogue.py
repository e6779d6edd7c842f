"""The catalogue of requirements: one row for each normative statement, one TOML file for each family.

A row's id is dotted and stable; its first segment names the family and the file: ``tools.def.name-string`` is
in ``tools.toml``.  A file is read when one of its rows is first needed.  A row states a rule, its basis and
its place in the specification; `mcp_conformance.verdicts` decides the outcome of a broken rule.

A row holds in the revision ``since`` and in all later ones, up to and with ``until`` if it has an end,
without those in ``except``.  So it holds in a new revision before anybody has looked: ``reviewed`` is the
newest revision that somebody has read the row against; most rows leave it to their family.  ``level``,
``basis`` and ``section`` are one value, or a table of the revisions since which each value holds.
"""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

from mcp_conformance.outcome import Defect
from mcp_conformance.protocol.revisions import KNOWN
from mcp_conformance.protocol.text import named

__all__ = [
    "Family",
    "Requirement",
    "UnknownRequirement",
    "all_requirements",
    "families",
    "own_rules",
    "requirement",
    "select",
    "stem",
    "unreviewed",
    "use_own_rules",
]

_FILES = Path(__file__).parent
_SITE = "https://modelcontextprotocol.io/specification"
_REPOSITORY = "https://github.com/modelcontextprotocol/modelcontextprotocol/blob"
_OURS = "urn:pytest-mcp-conformance"
_FIXES = {"Python": "fix-python", "TypeScript": "fix-typescript"}
_TRANSPORTS = {"stdio": "stdio", "http": "http"}
"""The families that are about one transport."""
_REPOSITORIES = "https://github.com/modelcontextprotocol"
_EXTENSIONS = {
    "apps": f"{_REPOSITORIES}/ext-apps/blob/main/specification/2026-01-26/apps.mdx",
    "skills": f"{_REPOSITORIES}/ext-skills/blob/main/specification/stable/skills.mdx",
    "xtasks": f"{_REPOSITORIES}/ext-tasks/blob/main/specification/2026-07-28/tasks.md",
}
"""The texts of extensions, which have repositories of their own."""
_JSON_RPC = "https://www.jsonrpc.org/specification"
OWN = "project"
"""The family of the rules of a user's project."""


class UnknownRequirement(KeyError):  # noqa: N818 (the name says what went wrong)
    """There is no row or group of rows `id`; `suggestions` holds up to three similar names."""

    def __init__(self, id: str, suggestions: tuple[str, ...] = ()) -> None:
        super().__init__(id, suggestions)
        self.id = id
        self.suggestions = suggestions

    def __str__(self) -> str:
        hint = f"; did you mean {' or '.join(self.suggestions)}?" if self.suggestions else ""
        return f"no requirement or family {self.id!r}{hint}"


@dataclass(frozen=True)
class Family:
    """A chapter of the catalogue: rows whose ids begin with `name`."""

    name: str
    title: str
    why: str
    """Why these rules matter to people who use a server: two or three sentences."""
    reviewed: str
    """The newest revision that somebody has read each of its rows against."""


FIRST_VERSION = "0.1"
"""The version of this tool that had the rows which name no other."""


@dataclass(frozen=True, eq=False)
class Requirement:
    """One normative statement. There is one object per id, so rows compare and hash by identity."""

    id: str
    revisions: tuple[str, ...]
    """The revisions in which the rule holds, oldest first; the mappings below have exactly these keys."""
    levels: Mapping[str, str]
    """Revision to MUST, SHOULD or MAY (prohibitions included)."""
    bases: Mapping[str, str]
    """Revision to where the level comes from: keyword, schema, prose, example, json-rpc, derived, project."""
    sections: Mapping[str, tuple[str, ...]]
    """Revision to places: ``server/tools#capabilities``, ``schema#Tool``, ``json-rpc``, ``project#FILE``."""
    says: str
    """The rule, in one sentence."""
    reviewed: str
    """The newest revision that somebody has read the row against."""
    observe: str | None = None
    """How a client sees whether the rule holds."""
    pitfalls: str | None = None
    """What a checker gets wrong easily."""
    fix: str | None = None
    """What the author of a server does about a finding, in one sentence."""
    fix_in: Mapping[str, str] = field(default_factory=dict)
    """The same by SDK (``Python``, ``TypeScript``), where it differs."""
    added_in: str = FIRST_VERSION
    """The version of this tool with which the rule came."""
    sharpened_in: str | None = None
    """The version of this tool in which the check came to find more."""
    mutant: str | None = None
    """How a broken server violates just this rule."""
    needs: str | None = None
    """What the server must offer for the observation; None if any server will do."""
    probe: str | None = None
    """How far the observation goes: passive, list, error-path, invoke, fixture, two-runs or none."""
    changed: str | None = None
    """What changed between revisions."""
    see: tuple[str, ...] = ()
    """Ids of rows that say the same or lie close by."""
    untestable: str | None = None
    """Why no client can judge the rule; None for a rule that can be checked."""
    defect: Defect | None = None
    """What the server does to its users that breaks the rule, if its author is to be told first."""
    transport: str = ""
    """The transport that the rule is about, ``stdio`` or ``http``; empty for any."""
    sdk: Mapping[str, str] = field(default_factory=dict)
    """The measured behaviour of the official SDKs, by SDK and version (``py-2.3``)."""

    @property
    def family(self) -> str:
        """The name of the family that the row belongs to."""
        return _first_segment(self.id)

    @property
    def as_of(self) -> str:
        """The version of this tool since which its findings are what they are now."""
        return self.sharpened_in or self.added_in

    def is_newer_than(self, version: str) -> bool:
        """Return whether a version of this tool lacked the rule, or found less."""
        return _release(self.as_of) > _release(version)

    def holds_in(self, revision: str) -> bool:
        """Return whether the rule exists in the revision."""
        return revision in self.revisions

    def is_reviewed_in(self, revision: str) -> bool:
        """Return whether somebody has read the row against the revision, or against a newer one."""
        return revision <= self.reviewed

    def stated_in(self, revision: str) -> str:
        """Return the revision, or the newest one that has the rule if this one does not."""
        return revision if self.holds_in(revision) else self.revisions[-1]

    def level(self, revision: str) -> str:
        """Return MUST, SHOULD or MAY; raise `KeyError` for a revision without the rule."""
        return self.levels[revision]

    def basis(self, revision: str) -> str:
        """Return where the level comes from; raise `KeyError` for a revision without the rule."""
        return self.bases[revision]

    def remedy(self, sdk: str) -> str:
        """Return what to do about a finding in a server on this SDK (``Python SDK 2.x``, or empty)."""
        return self.fix_in.get(sdk.partition(" ")[0], self.fix or "")

    def urls(self, revision: str) -> tuple[str, ...]:
        """Return the places of the rule, the main one first; raise `KeyError` for a revision without it."""
        return tuple(dict.fromkeys(_url(revision, place) for place in self.sections[revision]))

    def url(self, revision: str) -> str:
        """Return the first of `urls`."""
        return self.urls(revision)[0]


MAX_OWN_TEXT = 1000
_own: dict[str, Requirement] = {}
"""The rules of the user's project, which are those of the run."""


def use_own_rules(rules: Mapping[str, Mapping[str, str]]) -> None:
    """Take the rules of a project, by their names, in place of those that were taken before.

    Each has ``says``, and may have a ``level`` (MUST) and a ``fix``: one line each, which no terminal obeys.
    """
    place = {"since": KNOWN[0], "basis": "project", "section": ("project#own",), "level": "MUST"}
    _own.clear()
    for name, rule in rules.items():
        lines = {key: named(text, MAX_OWN_TEXT) for key, text in rule.items()}
        _own[f"{OWN}.{name}"] = _requirement(f"{OWN}.{name}", {**place, **lines})


def own_rules() -> Mapping[str, Requirement]:
    """Return the rules of the user's project by their ids."""
    return _own


def requirement(id: str) -> Requirement:
    """Return the row of that id; raise `UnknownRequirement` if there is none."""
    row = _own.get(id) or _rows_of(_first_segment(id)).get(id)
    if row is None:
        raise UnknownRequirement(id, _similar(id, {**all_requirements(), **_own}))
    return row


@cache
def all_requirements() -> Mapping[str, Requirement]:
    """Return every row by its id, family by family, each in the order of its file."""
    return MappingProxyType({id: row for family in families() for id, row in _rows_of(family).items()})


@cache
def families() -> Mapping[str, Family]:
    """Return every family by its name, in the order of the specification's chapters."""
    texts = _read("families")
    return MappingProxyType({name: Family(name, **text) for name, text in texts.items()})


def select(pattern: str) -> frozenset[str]:
    """Return the ids that are `pattern` or below it.

    ``tools`` is a family, ``tools.def`` a group, ``tools.def.name-string`` one row; ``tools.de`` is nothing.
    A name of the official suite selects the rules that judge the same (`official.rules_of`).
    Raises `UnknownRequirement` for what matches nothing.
    """
    below = f"{pattern}."
    rows = {**_rows_of(_first_segment(pattern)), **_own}
    ids = frozenset(id for id in rows if id == pattern or id.startswith(below))
    if not ids:
        from mcp_conformance.requirements.official import rules_of  # noqa: PLC0415  (few patterns need it)

        ids = frozenset(rules_of(pattern))
    if not ids:
        raise UnknownRequirement(pattern, _similar(pattern, _names_and_groups()))
    return ids


def unreviewed() -> tuple[Requirement, ...]:
    """Return the rows that hold in the newest revision, and that nobody has read against it."""
    rows = all_requirements().values()
    return tuple(row for row in rows if row.holds_in(KNOWN[-1]) and not row.is_reviewed_in(KNOWN[-1]))


def stem(family: str) -> str:
    """Return the stem of a family's files in the catalogue, the suites and the mutants."""
    return family.replace("-", "_")


def _release(version: str) -> tuple[int, ...]:
    """Return the numbers of a version that decide which rules it has: the first two."""
    return tuple(map(int, version.split(".")[:2]))


def _first_segment(id: str) -> str:
    return id.partition(".")[0]


def _names_and_groups() -> set[str]:
    """Return the patterns of `select`: every id, and every beginning of one that ends at a dot."""
    names = {*all_requirements(), *_own}
    for id in tuple(names):
        segments = id.split(".")
        names.update(".".join(segments[:length]) for length in range(1, len(segments)))
    return names


def _similar(name: str, names: Iterable[str]) -> tuple[str, ...]:
    return tuple(difflib.get_close_matches(name, sorted(names)))


def _read(file: str) -> dict[str, Any]:
    return tomllib.loads((_FILES / f"{file}.toml").read_text(encoding="utf-8"))


@cache
def _rows_of(family: str) -> Mapping[str, Requirement]:
    """Read the rows of one family, by id; an unknown family has none."""
    if family not in families():
        return {}
    return {id: _requirement(id, row) for id, row in _read(stem(family)).items()}


def _requirement(id: str, row: Mapping[str, Any]) -> Requirement:
    revisions = _held_in(row)
    sections = _by_revision(row["section"], revisions)
    return Requirement(
        id=id,
        revisions=revisions,
        levels=_by_revision(row["level"], revisions),
        bases=_by_revision(row["basis"], revisions),
        sections={revision: tuple(places) for revision, places in sections.items()},
        says=row["says"],
        reviewed=_reviewed(row, families()[_first_segment(id)]),
        observe=row.get("observe"),
        pitfalls=row.get("pitfalls"),
        fix=row.get("fix"),
        fix_in={sdk: row[key] for sdk, key in _FIXES.items() if key in row},
        added_in=row.get("added-in", FIRST_VERSION),
        sharpened_in=row.get("sharpened-in"),
        mutant=row.get("mutant"),
        needs=row.get("needs"),
        probe=row.get("probe"),
        changed=row.get("changed"),
        see=tuple(row.get("see", ())),
        untestable=row.get("untestable"),
        defect=Defect(row["defect"]) if "defect" in row else None,
        transport=row.get("transport", _TRANSPORTS.get(_first_segment(id), "")),
        sdk=row.get("sdk", {}),
    )


def _held_in(row: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the revisions in which a rule holds, oldest first."""
    first, last, holes = row["since"], row.get("until", KNOWN[-1]), row.get("except", ())
    return tuple(one for one in KNOWN if first <= one <= last and one not in holes)


def _by_revision(value: Any, revisions: tuple[str, ...]) -> dict[str, Any]:
    """Return one value for each revision; in a table it is that of the newest key up to the revision."""
    if not isinstance(value, dict):
        return dict.fromkeys(revisions, value)
    return {one: value[max(key for key in value if key <= one)] for one in revisions}


def _reviewed(row: Mapping[str, Any], family: Family) -> str:
    """Return the newest revision that somebody has read a row against.

    A row that names a revision was read against it, and one that has ended needs no more reading.
    """
    tables = (row[name] for name in ("level", "basis", "section") if isinstance(row[name], dict))
    named = (row["since"], *row.get("except", ()), *(key for table in tables for key in table))
    newest: str = row.get("until") or max(family.reviewed, row.get("reviewed", ""), *named)
    return newest


def _url(revision: str, place: str) -> str:
    if place == "json-rpc":
        return _JSON_RPC
    page, _, anchor = place.partition("#")
    if page == "project":
        return f"{_OURS}:{anchor}"
    if page in _EXTENSIONS:
        return f"{_EXTENSIONS[page]}#{anchor}"
    if page == "schema":
        return _schema_url(revision, anchor)
    fragment = f"#{anchor}" if anchor else ""
    if page.startswith("draft/"):  # never published: the repository's tag holds the text
        return f"{_REPOSITORY}/{revision}/docs/spec/{page.removeprefix('draft/')}.md{fragment}"
    return f"{_SITE}/{revision}/{page.removesuffix('/index')}{fragment}"


def _schema_url(revision: str, type_name: str) -> str:
    without_anchor = _schema_pages().get(revision)
    if without_anchor is None or type_name in without_anchor:
        return f"{_REPOSITORY}/main/schema/{revision}/schema.ts"
    return f"{_SITE}/{revision}/schema#{type_name.lower()}"


@cache
def _schema_pages() -> Mapping[str, frozenset[str]]:
    """Read the revisions that have a schema page, each with the types that have no anchor there."""
    return {revision: frozenset(types) for revision, types in _read("schema_pages").items()}
