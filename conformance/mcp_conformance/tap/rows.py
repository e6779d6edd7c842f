"""The rules of clients as rows like those of the catalogue, which has the rules of servers."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType

from mcp_conformance.protocol.revisions import HANDSHAKE, KNOWN
from mcp_conformance.protocol.wire_schema import CLIENT
from mcp_conformance.requirements import catalogue
from mcp_conformance.requirements.catalogue import Requirement
from mcp_conformance.tap.judging import rules_of
from mcp_conformance.tap.rules import Rule

OBSERVED = "judge and tap --judge read it from the lines of a session, and over HTTP from the headers."


@cache
def client_rows() -> Mapping[str, Requirement]:
    """Return the rules of clients by their ids."""
    return MappingProxyType({rule.id: _row(rule) for rule in rules_of(CLIENT)})


def row_of(id: str) -> Requirement:
    """Return the row of a rule of either side.  Raises `UnknownRequirement` if there is none."""
    return client_rows().get(id) or catalogue.requirement(id)


class _Row(Requirement):
    """A rule of clients; its page is that of one revision, as pages have other places in others."""

    def urls(self, revision: str) -> tuple[str, ...]:
        """Return the place of the rule, whatever the revision."""
        del revision
        of_handshake = [one for one in self.revisions if one in HANDSHAKE]
        return super().urls((of_handshake or self.revisions)[-1])


def _row(rule: Rule) -> Requirement:
    revisions = tuple(rule.levels)
    return _Row(
        rule.id,
        revisions,
        rule.levels,
        dict.fromkeys(revisions, "keyword"),
        dict.fromkeys(revisions, (rule.where,)),
        rule.says,
        KNOWN[-1],
        observe=OBSERVED,
    )
