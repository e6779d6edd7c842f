"""The commands that show a finding again: the check with what the user chose, and the transcript."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from mcp_conformance.options.configuration import PROFILE
from mcp_conformance.options.given import Given
from mcp_conformance.options.option import Kind, Option
from mcp_conformance.options.readers import NO_FILE
from mcp_conformance.options.run_options import RunOptions
from mcp_conformance.options.table import options_of
from mcp_conformance.protocol.text import shell_line
from mcp_conformance.requirements.catalogue import own_rules
from mcp_conformance.requirements.checks import checked
from mcp_conformance.transport.credentials import is_common, is_secret_name, redacted
from mcp_conformance.transport.http.headers import in_variables
from mcp_conformance.verdicts import Blocked, Finding, Repeat

SELECTING = ("select", "skip")
"""The options that say which checks run: the command that selects a rule has its own."""


def selection(cited: Sequence[str], broken: str, tool: str) -> tuple[str, ...]:
    """Return what ``--select`` names to run a check again: the broken rule, and one that the check cites.

    ``tool`` is the one that the check runs for; a name that no selection can have selects all tools.  Nothing
    is selected for a rule that has no check of its own, so that no other rule stands in its place.
    """
    own = broken if broken in cited else next((id for id in cited if id in checked()), "")
    if not own or not (broken in checked() or broken in own_rules()):
        return ()
    bracket = f"[{tool}]" if tool.isprintable() and tool and "]" not in tool else ""
    return (*([broken] if broken != own else []), f"{own}{bracket}")


def again_words(
    options: RunOptions, selected: Sequence[str], revision: str, *, verbose: bool = False
) -> tuple[str, ...]:
    """Return the words of the command that runs the ``selected`` rules again, all if there are none.

    A rule is an id, or an id with a tool in brackets.  Of the given options the command has those that can
    change a verdict on these rules, without credentials.  Without a rule the user's own selection holds.
    """
    families = {one.partition(".")[0] for one in selected}
    words = ["mcp-conformance", "run", *(["-v"] if verbose else [])]
    words += ["--select", ",".join(selected)] if selected else []
    words += ["--revision", revision, *(options.chosen.source or ())]
    replaced = {"revision", *(SELECTING if selected else ())}
    return (*words, *_given(options, "run", families, replaced), *_command(options))


def replay_line(options: RunOptions, verdict: Finding | Blocked) -> str:
    """Return the command that replays what shows a verdict; empty if there is no such transcript."""
    if not verdict.transcripts or verdict.repeat is Repeat.NOT_SEEN:
        return ""
    return shell_line(replay_words(options, str(verdict.transcripts[0])))


def replay_words(options: RunOptions, transcript: str) -> tuple[str, ...]:
    """Return the words of the command that sends a transcript to the server again, without credentials."""
    settings = options.settings
    is_known = settings.shown_command == settings.command
    return (
        *("mcp-conformance", "replay", *_given(options, "replay"), transcript),
        *(() if is_known else ("--", *settings.shown_command)),
    )


def _given(
    options: RunOptions, command: str, families: Collection[str] = (), replaced: Collection[str] = ()
) -> Iterator[str]:
    """Yield the given options that another command has, if they can change a verdict in these families.

    Those that are ``replaced`` are left out.
    """
    chosen, redact = options.chosen, options.settings.redaction
    for option in options_of(command):
        if option.name == PROFILE and (chosen.source is None or command != "run"):
            continue  # its options are given one by one
        is_needed = option.judges and (not families or not option.family or option.family in families)
        is_ours = chosen.source is None or command != "run" or option.name in chosen.beside
        if is_needed and is_ours and option.name not in replaced and chosen.has(option.name):
            yield from redact(tuple(_words(option, chosen.options[option.name])))


def _words(option: Option, given: Given) -> Iterator[str]:
    if option.kind is Kind.SWITCH:
        yield f"--{option.name}"
        return
    name, texts = option.name, [_shown(option, given, text) for text in given.texts]
    if name in ("header", "header-other"):
        name, texts = f"{name}-env", in_variables(texts, name)
    for text in texts:
        yield from [f"--{name}={text}"] if text.startswith("-") else [f"--{name}", text]


def _shown(option: Option, given: Given, text: str) -> str:
    """Return a value as a command line here has it, without a credential.

    A variable has its name, and the user's shell the value, unless that is one that many have.  A header
    has its name.
    """
    name, sign, value = text.partition(option.public_until) if option.public_until else (text, "", "")
    if sign == ":":
        return name.strip()
    if sign:
        return text if is_common(value) and not is_secret_name(name) else name
    if given.folder.resolve() != Path.cwd() and text != NO_FILE:
        if option.is_path:
            return str(given.path(text))
        if word := next(filter(text.startswith, option.path_after), ""):
            return f"{word}{given.path(text.removeprefix(word))}"
    return redacted([text])[0]


def _command(options: RunOptions) -> tuple[str, ...]:
    if options.chosen.source is not None:
        return ()
    return () if options.chosen.has("url") else ("--", *options.settings.shown_command)
