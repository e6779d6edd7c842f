"""What the user chose, read: the settings of the server under test, and how a run judges and reports."""

from __future__ import annotations

import math
import os
import re
import shlex
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mcp_conformance.client.spacing import Spacing
from mcp_conformance.installation import how_to_install
from mcp_conformance.options.given import BadOption, Chosen, Given
from mcp_conformance.options.readers import contract_in
from mcp_conformance.options.table import OPTIONS, read
from mcp_conformance.outcome import ToolBugs
from mcp_conformance.protocol.text import did_you_mean
from mcp_conformance.requirements.catalogue import use_own_rules
from mcp_conformance.sandbox.layer import Layer, why_none
from mcp_conformance.sandbox.policy import Unavailable
from mcp_conformance.sandbox.sandbox import LANDLOCK, NAMESPACES, NONE, Choice, Sandbox, is_root
from mcp_conformance.target.contract import FILE, Contract
from mcp_conformance.target.settings import KEPT, Settings
from mcp_conformance.transport.credentials import HIDDEN, redacted, secrets_of
from mcp_conformance.transport.files import BadFile, json_value
from mcp_conformance.transport.http.endpoint import is_loopback
from mcp_conformance.transport.http.server import DEFAULT_PATH, PORT, HttpServer
from mcp_conformance.transport.http.turns import REMOTE_RATE
from mcp_conformance.transport.redaction import Redaction

if TYPE_CHECKING:
    from mcp_conformance.backend.backend import Backend
    from mcp_conformance.login.live import LiveLogin
    from mcp_conformance.report.baseline import Baseline
    from mcp_conformance.report.exercise import RequiredExercise
    from mcp_conformance.report.model import Report

ALLOWANCES = ("allow-read", "allow-write", "allow-net")
MAY_HIDE = ("url", "example", "failing-call", "mutating-call")
"""The options with values of which a printed command lacks credentials."""
GAP = re.compile(rf"(?<![*\w]){re.escape(HIDDEN)}(?![*\w])")
"""A place where a credential was left out: ``***`` beside a letter may be Markdown."""
NOT_REPORTED = ("report",)
"""The options that no report lists: where it is does not matter to a reader."""


@dataclass(frozen=True)
class RunOptions:
    """What the user chose for a run: the settings of the server, and how it is judged and reported.

    ``revisions`` are those to test, or ``("latest",)``.  ``selected`` has sets of ids of requirements, each
    with a tool's name or an empty string; ``left_out`` has ids.  ``rules_as_of`` is the version of this tool
    whose rules count, empty if all do.  ``required_exercise`` says how many tools must be exercised.
    ``earlier`` is the report of a run whose results are taken over.  The run ends ``within`` so many seconds.
    """

    chosen: Chosen
    settings: Settings
    revisions: tuple[str, ...] = ("latest",)
    selected: tuple[tuple[frozenset[str], str], ...] = ()
    left_out: frozenset[str] = frozenset()
    strict: bool = False
    pedantic: bool = False
    tool_bugs: ToolBugs = ToolBugs.PROVEN
    sdk_findings_fail: bool = False
    rules_as_of: str = ""
    required_exercise: RequiredExercise | None = None
    baseline: Baseline | None = None
    earlier: Report | None = None
    within: float = math.inf
    output_format: str = "full"
    reports: tuple[Path, ...] = ()

    @property
    def severities(self) -> dict[str, Any]:
        """What the user chose about `mcp_conformance.verdicts.outcome_of`."""
        return {name: getattr(self, name) for name in ("strict", "pedantic", "tool_bugs")}

    @property
    def given(self) -> dict[str, Any]:
        """The given options by name, for a report; of environment variables and headers only the names."""
        return {
            option.name: _public(self.chosen.options[option.name], option.public_until)
            for option in OPTIONS
            if option.name in self.chosen.options and option.name not in NOT_REPORTED
        }


def _public(given: Given, until: str) -> Any:
    if not isinstance(given.value, tuple):
        return given.value
    return [text.partition(until)[0] if until else text for text in given.texts]


def read_options(chosen: Chosen) -> RunOptions:
    """Read every option.  Raises `BadOption` with one line for the first error."""
    use_own_rules(chosen.project.rules)
    settings = read_settings(chosen)
    settings = replace(settings, contract=_contract(chosen), kept=settings.transcripts)
    if settings.http is None or not settings.http.url:
        _expect_program(chosen, settings)
    return RunOptions(chosen, settings, **_values(chosen, RunOptions))


def read_settings(chosen: Chosen) -> Settings:
    """Return the settings of the server under test.  Raises `BadOption`."""
    command = _command(chosen)
    expect_no_gap(chosen, command)
    http = http_server(chosen, command)
    login = _login(chosen, http)
    is_remote = http is not None and bool(http.url) and not is_loopback(http.url)
    confinement = sandbox(chosen, http)
    if confinement is not None and chosen.has("backend"):
        # In the namespace of users of its network there are no others.
        confinement = replace(confinement, is_other=False)
    settings = Settings(
        command=command,
        env=given_variables(chosen),
        expanded=chosen.expanded,
        here=(chosen.command.folder if chosen.command is not None else chosen.place).absolute(),
        call=read(chosen, "call", () if is_remote else ("readonly",)),
        http=http,
        login=login,
        other_identity=other_headers(chosen),
        spacing=Spacing(read(chosen, "rate", math.inf) if http is None else math.inf),
        sandbox=confinement,
        **setting_values(chosen),
    )
    settings = replace(settings, layer=layer(chosen, settings))
    return replace(settings, backend=backend(chosen, settings)) if chosen.has("backend") else settings


def expect_no_gap(chosen: Chosen, command: Sequence[str]) -> None:
    """Raise `BadOption` for a word in which `HIDDEN` stands for a credential, in a command printed by us."""
    texts = {None: command} | {one.name: chosen.texts(one.name) for one in OPTIONS if one.name in MAY_HIDE}
    for name, words in texts.items():
        if word := next((word for word in words if GAP.search(word)), ""):
            message = f"{HIDDEN} stands for a credential that was left out: put it in its place in {word!r}"
            raise chosen.error(name, message) if name else BadOption(message)


def given_variables(chosen: Chosen) -> dict[str, str]:
    """Return the environment variables that the user gave.  Raises `BadOption`."""
    return {**read(chosen, "env-file", {}), **read(chosen, "env", {})}


def given_headers(chosen: Chosen) -> tuple[tuple[bytes, bytes], ...]:
    """Return the HTTP headers that the user gave.  Raises `BadOption`."""
    return (*read(chosen, "header", ()), *read(chosen, "header-env", ()))


def other_headers(chosen: Chosen) -> tuple[tuple[bytes, bytes], ...]:
    """Return the HTTP headers of the second identity that the user gave.  Raises `BadOption`."""
    return (*read(chosen, "header-other", ()), *read(chosen, "header-other-env", ()))


def setting_values(chosen: Chosen) -> Mapping[str, Any]:
    """Return the fields of the settings that an option alone sets.  Raises `BadOption`."""
    kept = {} if chosen.has("transcripts") else {"transcripts": default_place(chosen, "transcripts", KEPT)}
    return {**kept, **_values(chosen, Settings)}


def default_place(chosen: Chosen, name: str, path: str | Path) -> Path:
    """Return where a run writes what an option names, without the option.  Raises `BadOption`."""
    try:
        return Given(str(path), "", chosen.place, is_in_file=True).own_path(str(path))
    except ValueError as error:  # the project has a link there
        raise chosen.error(name, error) from error


def _values(chosen: Chosen, kind: type[Settings | RunOptions]) -> Mapping[str, Any]:
    """Return the fields of the settings, or of the other options, that given options set."""
    names = {field.name for field in fields(kind)}
    return {one.sets: read(chosen, one.name) for one in OPTIONS if one.sets in names and chosen.has(one.name)}


def _expect_program(chosen: Chosen, settings: Settings) -> None:
    """Raise `BadOption` if the first word of the command is not a program."""
    program = settings.command[0]
    place = settings.cwd or settings.here
    is_here = Path(program).name != program and (place / program).is_file()
    is_here |= settings.cwd is not None and (place / program).is_file()
    if not is_here and shutil.which(program, path=settings.env.get("PATH")) is None:
        assert chosen.command is not None
        similar = did_you_mean(chosen.command.text, chosen.servers) if not chosen.is_configured else ""
        if similar:
            raise chosen.command.error(f"no server and no program is called {program}{similar}")
        from mcp_conformance.doctor.causes import why_not_started  # noqa: PLC0415  (only such a command needs it)

        raise chosen.command.error(why_not_started(settings, "no such program"))


def _command(chosen: Chosen) -> tuple[str, ...]:
    """Return the words of the server's command, or its URL.  Raises `BadOption`."""
    if chosen.has("url"):
        return (chosen.text("url"),)
    given = chosen.command
    if given is None:
        raise BadOption("no server is named")
    if isinstance(given.value, tuple):
        return given.value
    try:
        words = _words(given.text)
    except ValueError as error:
        raise given.error(error) from error
    if not words:
        raise given.error("a command is expected")
    return words


def _words(text: str) -> tuple[str, ...]:
    """Return the words of a command line, or of a JSON array.  Raises `ValueError`."""
    if text.lstrip().startswith("["):
        found = json_value(text)
        if not found or not all(isinstance(word, str) for word in found):
            raise ValueError("a JSON array of words is expected")
        return tuple(found)
    try:
        words = shlex.split(text, posix=os.name == "posix")
    except ValueError as error:
        raise ValueError(f"{error} in {' '.join(redacted(text.split()))!r}") from error
    return tuple(word.strip('"') if os.name != "posix" else word for word in words)


def _contract(chosen: Chosen) -> Contract | None:
    """Return the contract of the server: the file given, else the one here.  Raises `BadOption`.

    A file here is not of one of several configured servers.
    """
    is_one_of_several = chosen.is_configured and len(chosen.servers) > 1
    file = chosen.place / FILE
    if chosen.has("contract") or is_one_of_several or not file.is_file():
        found: Contract | None = read(chosen, "contract")
        return found
    try:
        return contract_in(file, FILE)
    except BadFile as error:
        raise chosen.error("contract", error) from None


# HTTP and the sandbox ----------------------------------------------------------------------------


def http_server(chosen: Chosen, command: tuple[str, ...]) -> HttpServer | None:
    """Return the server over HTTP, at a URL or to be started by a command; None for stdio.

    Raises `BadOption`.
    """
    url, is_served = chosen.text("url"), chosen.has("http")
    headers = given_headers(chosen)
    if not url and not is_served:
        for name, given in (("header", headers), ("header-other", other_headers(chosen))):
            if given:
                needed = " or ".join(map(chosen.shown, ("url", "http")))
                raise chosen.error(name, f"it needs {needed}")
        return None
    if find_spec("h11") is None:
        raise BadOption(f"HTTP needs one more package: {how_to_install('http')}")
    if is_served and not any(PORT in word for word in command):
        raise chosen.error("http", f"the command needs {PORT} where its port belongs")
    rate = read(chosen, "rate", math.inf if not url or is_loopback(url) else REMOTE_RATE)
    path = chosen.text("http-path") or DEFAULT_PATH
    try:
        return HttpServer(url, () if url else command, path, headers, rate)
    except ValueError as error:
        raise chosen.error("url", error) from None


def _login(chosen: Chosen, http: HttpServer | None) -> LiveLogin | None:
    """Return the login that the user has made, and let the server get its token; None without one.

    Raises `BadOption`.
    """
    if not read(chosen, "auth", False):
        return None
    if http is None or not http.url:
        raise chosen.error("auth", f"it needs {chosen.shown('url')}")
    if http.has_credential:
        raise chosen.error("auth", "there is a header Authorization already")
    from mcp_conformance.login.live import LiveLogin  # noqa: PLC0415
    from mcp_conformance.login.renewal import valid_login  # noqa: PLC0415  (slow, and rarely needed)
    from mcp_conformance.login.web import LoginFailed  # noqa: PLC0415

    try:
        login = LiveLogin(valid_login(http.url))
    except LoginFailed as error:
        raise chosen.error("auth", error) from None
    http.credential = login.headers
    return login


def layer(chosen: Chosen, settings: Settings) -> Layer | None:
    """Return what holds the writes of the server; None where a sandbox or the user says otherwise.

    Raises `BadOption`.
    """
    is_ours = settings.http is None or not settings.http.url
    if chosen.has("sandbox") or not is_ours or not settings.may_call_writing:
        return None
    if is_root() and (reason := why_none()):
        raise chosen.error(
            "call",
            f"root calls tools that may write, and nothing holds what they write here ({reason}): be another "
            "user, or give --sandbox none",
        )
    return Layer(read(chosen, "allow-write", ()))


def sandbox(chosen: Chosen, http: HttpServer | None) -> Sandbox | None:
    """Return the sandbox that the user chose; None without one.  Raises `BadOption`."""
    text = chosen.text("sandbox")
    given = next((one for one in ALLOWANCES if chosen.has(one) and (text or one != "allow-write")), "")
    if text in ("", NONE) and given:
        raise chosen.error(given, f"it needs {chosen.shown('sandbox')}")
    if text not in ("", NONE) and http is not None and http.url:
        raise chosen.error("sandbox", "it confines a command, not a server at a URL")
    read_paths, write_paths, hosts = (read(chosen, name, ()) for name in ALLOWANCES)
    try:
        return Choice(text or NONE, read_paths, write_paths, hosts, listens=http is not None).sandbox()
    except Unavailable as reason:
        raise chosen.error("sandbox", reason) from None


def backend(chosen: Chosen, settings: Settings) -> Backend:
    """Return the network in which each host is this process.  Raises `BadOption`."""
    choice, http, confinement = read(chosen, "backend"), settings.http, settings.sandbox
    if http is not None and not http.command:
        raise chosen.error("backend", "it is for a command, not for a URL")
    if confinement is not None and confinement.kind not in (NAMESPACES, LANDLOCK):
        raise chosen.error("backend", f"it works with namespaces and landlock, not with {confinement.kind}")
    if confinement is not None and choice.record is not None and not confinement.network:
        raise chosen.error(
            "backend", "record=FILE lets requests reach real hosts: the sandbox needs --allow-net"
        )
    from mcp_conformance.backend.choice import backend  # noqa: PLC0415

    sources = {name: Redaction(secrets_of((), {name: text})) for name, text in settings.env.items()}
    try:
        return backend(choice, settings.redaction, sources)
    except (Unavailable, ValueError) as reason:
        raise chosen.error("backend", reason) from None
