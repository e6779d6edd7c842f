"""Node ids of our checks on pytest's command line, as a run prints them, wherever we are installed."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from mcp_conformance.requirements.checks import PACKAGE

CHOSEN = pytest.StashKey[tuple[str, ...]]()
"""The node ids of ours that the user names."""
FOR_WORKERS = "mcp_node_ids"
ALONE = "mcp_no_other_paths"


def take_node_ids(config: pytest.Config) -> None:
    """Take our node ids out of pytest's arguments, as no such path is below the user's root directory.

    A folder of the user with this name goes first.
    """
    sent = getattr(config, "workerinput", {})
    if FOR_WORKERS in sent:
        config.stash[CHOSEN] = tuple(sent[FOR_WORKERS])
        config.args = [] if sent[ALONE] else config.args
        return
    is_shadowed = (config.invocation_params.dir / PACKAGE).exists()
    ours = tuple(one for one in config.args if _is_ours(one) and not is_shadowed)
    config.stash[CHOSEN] = ours
    if ours:
        config.args = [one for one in config.args if one not in ours]


def send_node_ids(config: pytest.Config, workerinput: dict[str, object]) -> None:
    """Give an xdist worker the node ids of ours; without other paths it collects nothing else."""
    chosen = config.stash[CHOSEN]
    workerinput[FOR_WORKERS] = [*chosen]
    workerinput[ALONE] = not config.args


def chosen_suites(config: pytest.Config) -> set[str] | None:
    """Return the file names of the suites that the user names by node ids; None if all run."""
    chosen = config.stash[CHOSEN]
    files = {id.partition("::")[0].rpartition("/")[2] for id in chosen}
    return None if not chosen or PACKAGE in files or "" in files else files


def is_chosen(item: pytest.Item) -> bool:
    """Return whether the user's node ids name an item of ours, or there are none."""
    chosen = item.config.stash[CHOSEN]
    return not chosen or any(_names(id, item.nodeid) for id in chosen)


def expect_found(config: pytest.Config, items: Sequence[pytest.Item]) -> None:
    """Raise `pytest.UsageError` if a node id of ours that the user names is not among the items.

    An xdist worker raises nothing, as its controller cannot show that.
    """
    if hasattr(config, "workerinput"):
        return
    missing = [id for id in config.stash[CHOSEN] if not any(_names(id, item.nodeid) for item in items)]
    if missing:
        known = "no check of this server has this node id in the revisions under test"
        raise pytest.UsageError(f"{known}: {', '.join(missing)}")


def _is_ours(argument: str) -> bool:
    return argument == PACKAGE or argument.startswith((f"{PACKAGE}/", f"{PACKAGE}::"))


def _names(id: str, node: str) -> bool:
    """Return whether a node id names a node: the same, or a file, or a check with all its parameters."""
    id = id.rstrip("/")
    return node == id or node.startswith((f"{id}/", f"{id}::", f"{id}["))
