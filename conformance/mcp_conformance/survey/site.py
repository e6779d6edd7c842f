"""Write the static site of a survey: pages that need no network, made from the results alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from mcp_conformance.survey.figures import Entry, Survey, broken_rules, surveys_of
from mcp_conformance.survey.pages import rule, sdk, server, start
from mcp_conformance.survey.pages.parts import START, rule_page, sdk_page
from mcp_conformance.survey.results import NoResults, SurveyResult
from mcp_conformance.transport.writing import write

FOLDERS = ("servers", "rules", "sdks")
OURS = "*-????????.html"
"""Matches the pages in these folders; those that an earlier call wrote are removed."""


def write_site(results: Iterable[SurveyResult], folder: Path) -> None:
    """Write the pages of these results, of which there is at least one, into a folder.

    The start page is ``index.html``; it is about the newest survey, and compares it with the others.  Raises
    `NoResults`, and `OSError`.
    """
    surveys = surveys_of(results)
    if not surveys:
        raise NoResults("there is no result")
    written = set()
    for page, content in _pages(surveys):
        write(folder / page, content)
        written.add(folder / page)
    for name in FOLDERS:
        for old in set((folder / name).glob(OURS)) - written:
            old.unlink()


def _pages(surveys: Sequence[Survey]) -> Iterator[tuple[str, str]]:
    """Yield the address and the content of each page, the start page last, as it links to all others."""
    newest = surveys[-1]
    rules = broken_rules(surveys)
    for history in _histories(surveys):
        yield history[-1].page, server.render(history, newest)
    for name, first in rules.items():
        yield rule_page(name), rule.render(first, surveys)
    for name in newest.sdks:
        yield sdk_page(name), sdk.render(name, newest)
    yield START, start.render(surveys, rules)


def _histories(surveys: Sequence[Survey]) -> Iterator[list[Entry]]:
    """Yield the results of each server of the newest survey, that of this survey last."""
    found: dict[str, dict[int, Entry]] = {one.name: {} for one in surveys[-1].entries}
    for survey in surveys:
        for entry in survey.entries:
            if entry.name in found:
                found[entry.name][id(entry)] = entry
    for entry in surveys[-1].entries:
        others = found[entry.name]
        others.pop(id(entry))
        yield [*others.values(), entry]
