"""The world of a run: where its values come from before any tool is called."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from mcp_conformance.project.version import tool_version
from mcp_conformance.protocol.jsonrpc import encode
from mcp_conformance.target.lists import Lists
from mcp_conformance.target.seeds import recorded_calls, values_of_sessions
from mcp_conformance.target.settings import Settings
from mcp_conformance.target.surface import Surface
from mcp_conformance.transport.throwaway import Throwaway
from mcp_conformance.world.command import values_of_command
from mcp_conformance.world.folder import replaced
from mcp_conformance.world.kept import CWD, Kept
from mcp_conformance.world.known import Known, Origin, Owner
from mcp_conformance.world.listed import (
    names_of_tools,
    values_of_resources,
    words_of_prompts,
    words_of_templates,
)
from mcp_conformance.world.naming import Places
from mcp_conformance.world.ours import Ours
from mcp_conformance.world.ownership import Ownership, made_text
from mcp_conformance.world.words import words_of_instructions, words_of_tools
from mcp_conformance.world.world import World


def world_of(settings: Settings) -> World:
    """Return the world of a run, with what the furnished folder has."""
    throwaway, folder = settings.throwaway, settings.folder
    folders = (throwaway.root, throwaway.root.resolve()) if throwaway is not None else ()
    is_closed = settings.sandbox is not None and settings.sandbox.keeps_everything
    words = (*settings.words, *(["--found-values"] if settings.found_values or is_closed else ()))
    cwd = str(settings.cwd.absolute()) if settings.cwd is not None else ""
    kept, text = None, made_text(settings.seed)
    if settings.kept:
        hides = settings.redaction.hides
        lasting = replaced(list(words), cwd, CWD) if cwd else words
        kept = Kept.of(settings.kept, lasting, folder, _circumstances(settings), hides)
        text = made_text(settings.seed, kept.runs)
        kept.cwd, kept.text = cwd, text
    ours = Ours(
        frozenset({"example"}),
        frozenset({text}),
        tuple(map(str, folders)),
        settings.redaction.hidden,
        is_cwd=folder is not None and folder.is_cwd,
    )
    names = {*(one.tool for one in settings.samples), *recorded_calls(settings.sessions)}
    given = {name: [*settings.vouched(name), *settings.recorded(name)] for name in names}
    command = folder.filled(settings.command) if folder is not None else settings.command
    env = folder.filled(dict(settings.env)) if folder is not None else settings.env
    found = list(values_of_command(command, env, cwd, ours=ours))
    is_alone = settings.http is None and all(one.owner is not Owner.FOUND for one in found)
    theirs = [Path(one.value) for one in found if one.keys[-1] == "path" and one.owner is Owner.FOUND]
    places = Places(_places(settings, theirs), are_ours=is_alone)
    ownership = Ownership(text, ours, settings.found_values, is_closed)
    world = World(ownership, folder, kept, given, places)
    if folder is not None:
        world.add(folder.known())
    world.add(values_of_sessions(settings.sessions))
    world.add(found)
    if settings.found_values and throwaway is not None:
        world.add(one for path in theirs for one in _own_file(path, f"{text}.txt", throwaway))
    settings.gate.jail, world.jail.is_confined = world.jail, lambda: settings.holds_writes
    for sample in filter(None, (*settings.samples, settings.failing_call, settings.mutating_call)):
        world.jail.vouch(sample.tool, sample.arguments)
    return world


def _places(settings: Settings, theirs: Iterable[Path]) -> Iterator[Path]:
    """Yield the folders in which a relative name may exist for the server."""
    yield settings.here
    yield from (settings.cwd,) if settings.cwd is not None else ()
    yield from (part for path in theirs for part in (path, path.parent))


def _circumstances(settings: Settings) -> list[str]:
    """Return what may let a tool work that was explored in vain: a new version of this, or other options."""
    return [
        tool_version(),
        *sorted(settings.call),
        *sorted(settings.env),
        settings.cwd.name if settings.cwd is not None else "",
        *(f"{one.tool} {encode(dict(one.arguments)).decode()}" for one in settings.samples),
        *map(str, settings.tool_limits),
        f"{settings.calls_per_tool} {settings.is_gentle} {settings.inherit_home} {settings.sandbox is None}",
    ]


def _own_file(folder: Path, name: str, throwaway: Throwaway) -> Iterator[Known]:
    """Put a file into a folder of the user's, until the end of the run; yield its name and its path.

    Tools that may write have something of our own there: what a repository can commit, for example.
    """
    file = folder / name
    if folder.is_dir() and throwaway.put(file, b"This file of mcp-conformance may be deleted.\n"):
        for value in (name, str(file)):
            yield Known(
                value, ("file", "path", "filename"), Origin("a file of ours in", str(folder)), Owner.MADE, 3
            )


def values_of_server(surface: Surface, lists: Lists, ours: Ours) -> Iterator[Known]:
    """Yield the words of a server's tools and instructions, and the values in the lists that it declares."""
    yield from words_of_tools(surface.tools)
    yield from names_of_tools(tool.name for tool in surface.tools)
    instructions = surface.result.get("instructions")
    if instructions is not None and instructions.is_a(str):
        yield from words_of_instructions(instructions.json)
    if surface.declares("resources"):
        templates = [one.json for one in lists.get("resources/templates/list").items]
        uris = [one.get("uriTemplate") for one in templates if isinstance(one, dict)]
        patterns = [one for one in uris if isinstance(one, str)]
        resources = [one.json for one in lists.get("resources/list").items]
        yield from values_of_resources(resources, patterns, ours=ours)
        yield from words_of_templates(templates)
    if surface.declares("prompts"):
        yield from words_of_prompts(one.json for one in lists.get("prompts/list").items)
