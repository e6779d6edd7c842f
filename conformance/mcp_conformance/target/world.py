"""The world of a run: where its values come from before any tool is called."""

from __future__ import annotations

from mcp_conformance.target.settings import Settings
from mcp_conformance.transport.credentials import credentials
from mcp_conformance.world.kept import Kept
from mcp_conformance.world.ours import Ours
from mcp_conformance.world.ownership import Ownership, made_text
from mcp_conformance.world.world import World


def world_of(settings: Settings) -> World:
    """Return the world of a run, with what the furnished folder has."""
    throwaway, folder, text = settings.throwaway, settings.folder, made_text(settings.seed)
    folders = (throwaway.root, throwaway.root.resolve()) if throwaway is not None else ()
    ours = Ours(
        frozenset({"example"}),
        frozenset({text}),
        tuple(map(str, folders)),
        credentials(settings.command, settings.env),
    )
    is_closed = settings.sandbox is not None and settings.sandbox.keeps_everything
    words = (*settings.words, *(["--found-values"] if settings.found_values or is_closed else ()))
    kept = Kept.of(settings.kept, words, folder) if settings.kept is not None else None
    world = World(Ownership(text, ours, settings.found_values, is_closed), folder, kept)
    if folder is not None:
        world.add(folder.known())
    return world
