"""What tools that may write are given, on a server that notes it: nothing that could be somebody's."""

import json
from itertools import product

import pytest

from mcp_conformance.generation.special import SYNTAX, WORDS
from mcp_conformance.protocol import revisions
from mcp_conformance.target.fuzz_levels import FUZZ_EXAMPLES
from mcp_conformance.transport.throwaway import Throwaway
from mcp_conformance.world.folder import furnish
from mcp_conformance_fixtures.writing import MEMBERS, Writing, tools
from support.bench import run_checks, settings_in_memory
from support.nightly import IS_NIGHTLY

FORBIDDEN = {"", ".", "..", "../", "../up", "/", "~", "/etc/hosts", "C:\\", "example", "test", "default", "*"}
FORBIDDEN |= {"done", "README.md", "config.json", "data.csv", "main", "items", *WORDS, *SYNTAX}
ERAS = (revisions.LATEST_HANDSHAKE, revisions.LATEST_MODERN)
RUNS = tuple(zip(ERAS, ("quick", "none"), strict=True))
if IS_NIGHTLY:
    RUNS = tuple(product(ERAS, ("none", "quick", "thorough")))


def texts_in(value):
    """Yield the texts in a value, the names of members of a member that takes any among them."""
    match value:
        case str():
            yield value
        case dict():
            for inner in value.values():
                yield from texts_in(inner)
        case list():
            for inner in value:
                yield from texts_in(inner)


def names_in(arguments):
    """Return the names in an object whose members have any."""
    files = arguments.get("files") if isinstance(arguments, dict) else None
    return set(files) if isinstance(files, dict) else set()


@pytest.mark.parametrize(("revision", "depth"), RUNS)
def test_nothing_that_could_be_somebodys_is_given(revision, depth):
    given = []
    throwaway = Throwaway()
    furnish(throwaway.work)
    try:
        settings = settings_in_memory(
            lambda out, _: Writing(lambda *call: given.append(call), out),
            FUZZ_EXAMPLES[depth],
            throwaway=throwaway,
        )
        run_checks(settings, revision)
    finally:
        throwaway.remove()
    names = {one["name"] for one in tools()}
    assert {name for name, _ in given} & names == names
    wrong = {
        (name, value)
        for name, arguments in given
        for value in (*texts_in(arguments), *names_in(arguments))
        if value.strip() in FORBIDDEN
    }
    assert wrong == set()
    outside = {
        (name, value)
        for name, arguments in given
        for value in texts_in(arguments)
        if value.startswith(("/", "~/")) and not value.startswith(f"{throwaway.root}/")
    }
    assert outside == set(), json.dumps(sorted(outside))[:500]
    assert sum(len(list(texts_in(arguments))) for _, arguments in given) > len(MEMBERS)
