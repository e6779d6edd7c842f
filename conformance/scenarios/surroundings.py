"""Other machines: the server starts again in surroundings that users have, and must hold the conversation."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field, replace

from conformance.client.reply import Reply
from conformance.client.session import Session
from conformance.client.tool_call import Call
from conformance.expect import skip
from conformance.protocol.jsonrpc import Line
from conformance.protocol.methods import LISTS
from conformance.target.server import Server
from conformance.target.settings import Settings
from conformance.transport.interface import CannotStart
from conformance.verdicts import Finding

MAX_CALLS = 5
"""How many tools are called in each surrounding."""
FOLDER = "Søren's Müll 漢字"


@dataclass(frozen=True)
class Surrounding:
    """What is different on another machine, which the ``title`` names.

    ``env`` are its variables, ``launcher`` the words before the command, and ``folder`` is the name of the
    working directory, if that matters.  It exists on ``platforms`` only, everywhere if there are none.
    """

    title: str
    env: Mapping[str, str] = field(default_factory=dict)
    launcher: tuple[str, ...] = ()
    folder: str = ""
    platforms: tuple[str, ...] = ()

    def settings(self, settings: Settings) -> Settings:
        """Return the settings for a start in this surrounding; what the user sets for the server stays."""
        env = {**self.env, **settings.env}
        if not self.folder or settings.throwaway is None:
            return replace(settings, env=env, launcher=self.launcher)
        folder = settings.throwaway.root / self.folder
        folder.mkdir(exist_ok=True)
        return replace(settings, env=env, work=folder)


NO_UTF8_MODE = {"PYTHONUTF8": "0"}
POSIX = ("linux", "darwin")
CODE_PAGES = (
    Surrounding(
        "Windows with the code page 1252 (Western Europe)", {"PYTHONIOENCODING": "cp1252", **NO_UTF8_MODE}
    ),
    Surrounding("Windows with the code page 932 (Japan)", {"PYTHONIOENCODING": "cp932", **NO_UTF8_MODE}),
    Surrounding(
        "a machine without a locale (LC_ALL=C)",
        {"LC_ALL": "C", "LANG": "C", "PYTHONCOERCECLOCALE": "0", **NO_UTF8_MODE},
        platforms=POSIX,
    ),
)
TIME_ZONES = (Surrounding("a machine in another time zone (TZ=Asia/Kathmandu)", {"TZ": "Asia/Kathmandu"}),)
NO_HOME = (
    Surrounding(
        "a service without a home (no HOME)", launcher=("/usr/bin/env", "-u", "HOME"), platforms=POSIX
    ),
)
STDERR = (
    Surrounding(
        "a client that closes stderr", launcher=("/bin/sh", "-c", 'exec "$@" 2>&-', "sh"), platforms=POSIX
    ),
    Surrounding(
        "a client whose log is full (stderr cannot be written)",
        launcher=("/bin/sh", "-c", 'exec "$@" 2>/dev/full', "sh"),
        platforms=("linux",),
    ),
)
FOLDERS = (Surrounding("a working directory with spaces and letters beyond ASCII", folder=FOLDER),)


def expect_conversation(server: Server, surroundings: tuple[Surrounding, ...]) -> None:
    """Report the first surrounding in which the server does not answer what it answers elsewhere.

    Skips the check if there is none on this platform, and in all but the newest revision.
    """
    if any(surface.revision > server.revision for surface in server.other_surfaces):
        skip("surroundings are judged in the newest revision")
    chosen = [one for one in surroundings if not one.platforms or sys.platform in one.platforms]
    if server.settings.cwd is not None:
        chosen = [one for one in chosen if not one.folder]
    if not chosen:
        skip("there is no such surrounding on this machine, or --cwd names the working directory")
    calls = [call for call in server.calls() if not (call.failed or server.is_slow(call))][:MAX_CALLS]
    for one in chosen:
        found = _trouble(server, one, calls)
        if found is not None and _trouble(server, one, calls) is not None:
            got = f"{found.what}, in two processes, on {one.title}"
            raise Finding("the conversation that works here", got, found.lines, stderr=found.stderr)


@dataclass(frozen=True)
class _Trouble:
    """What broke in a conversation, in words, with its lines and the server's stderr."""

    what: str
    lines: tuple[Line, ...]
    stderr: str


def _trouble(server: Server, surrounding: Surrounding, calls: list[Call]) -> _Trouble | None:
    """Hold a short conversation in a surrounding; return what breaks it, None if nothing does."""
    try:
        process = surrounding.settings(server.settings).start()
    except CannotStart as error:
        return _Trouble(str(error), (), "")
    server.starts["other surroundings"] += 1
    session = Session(process, revision=server.revision, timeout=server.settings.timeout)
    with closing(session):
        silent = next((one for one in _replies(server, session, calls) if one.fault is not None), None)
        noise = session.non_json_lines() if not server.surface.noise else []
        stderr = session.process.stderr
    if noise:
        return _Trouble(f"a line on stdout is not JSON in UTF-8 ({noise[0].fault})", (noise[0],), stderr)
    if silent is not None:
        return _Trouble(f"{silent.method} was not answered: {silent.fault}", silent.lines, stderr)
    return None


def _replies(server: Server, session: Session, calls: list[Call]) -> Iterator[Reply]:
    """Yield the answers to the opening, to each list, and to calls that succeed elsewhere."""
    yield session.open(server.settings.start_timeout)
    for method, (feature, _) in LISTS.items():
        if server.declares(feature):
            yield session.request(method)
    for call in calls:
        yield session.request("tools/call", call.params)
