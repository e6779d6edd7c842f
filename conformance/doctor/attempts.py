"""A server is started in one way after the other, and what was seen each time is kept as plain values."""

from __future__ import annotations

import os
import shutil
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from enum import StrEnum
from pathlib import Path
from typing import Any

from conformance.client.message_log import is_let_go
from conformance.client.reply import Reply
from conformance.client.session import Session
from conformance.protocol import revisions
from conformance.protocol.jsonrpc import Kind, Line, encode, is_message, kind, torn
from conformance.protocol.methods import LISTED
from conformance.protocol.text import shorten
from conformance.target.probe import is_discovered
from conformance.target.settings import Settings
from conformance.transport.credentials import redacted
from conformance.transport.process import CannotStart, Process
from conformance.transport.process_tree import ports
from conformance.transport.sandbox import SECRET, rooted

START_SECONDS = 0.5
"""How long a server is watched before anything is said to it: one that cannot run has ended by then."""
TRIAL_SECONDS = 5.0
"""How long each further way is tried."""
LATE = 4 / 3
"""How much longer than ``--start-timeout`` a first answer is waited for."""
AFTER_AN_ODD_ANSWER = 1.0
LIST_SECONDS = 10.0
STOP_SECONDS = 3.0
END_SECONDS = 5.0
"""How long a process that has closed its stdout may take to end."""
LAST_SECONDS = 1.0
"""How long a process has to end once it was told to."""
BRIEFLY = 0.3
"""The same when another way is tried."""
LOOK = 0.5
"""How often it is looked at what came without a line end."""
LINES_KEPT = 50
FLOOD_LINES, FLOOD_BYTES = 5_000, 50_000_000
LONGEST_LOOKED_AT = 1_000_000
HEAD = 256
OPENINGS = ("initialize", "server/discover")


class Way(StrEnum):
    """A way to start a server, or to speak to it."""

    PLAIN = "as told"
    HERE = "with your own directory, home and environment"
    DIRECTORY = "in your own directory"
    HOME = "with your own home"
    CREDENTIALS = "with the credentials of your environment"
    UNBUFFERED = "with PYTHONUNBUFFERED=1"
    MODERN = "opened with server/discover"
    CARRIAGE = "with lines that end in \\r\\n"
    HEADERS = "with Content-Length headers"


NARROWER = (Way.DIRECTORY, Way.HOME, Way.CREDENTIALS)
"""What there is in `Way.HERE`."""
OTHER_WORDS = (Way.MODERN, Way.CARRIAGE, Way.HEADERS)
"""Other ways to say the first thing."""


@dataclass(frozen=True)
class Program:
    """What the first word of a command leads to.

    ``path`` is the file; empty if there is none.  ``head`` is how it begins.  ``near`` is a program of a
    similar name, ``beside`` a file of that name where the user stands.
    """

    word: str
    path: str = ""
    is_file: bool = False
    may_run: bool = False
    head: bytes = b""
    near: str = ""
    beside: str = ""

    @property
    def shebang(self) -> bytes:
        """The first line, if it names an interpreter."""
        return self.head.split(b"\n")[0] if self.head.startswith(b"#!") else b""


@dataclass(frozen=True)
class Attempt:
    """What was seen of one process.

    ``refused`` are the system's words if it could not be started.  ``said`` are the lines written before
    its stdin was closed, ``left_out`` how many more there were, ``unended`` what it wrote without a line end.
    ``seconds`` is how long it had been running when it ended by itself, or when no answer was waited for any
    longer.  ``exit_code`` and ``is_closed`` (its stdout) tell how it was before its stdin was closed;
    ``is_early`` that it had ended before anything was said to it; ``stops`` whether it ended once its stdin
    was closed.  ``late`` is the answer that came only then.  ``ports`` are those it listened on while no
    answer came.
    """

    way: Way = Way.PLAIN
    revision: str = revisions.LATEST_HANDSHAKE
    refused: str = ""
    asked: Line | None = None
    hello: Reply | None = None
    listed: Reply | None = None
    late: Reply | None = None
    said: tuple[Line, ...] = ()
    left_out: int = 0
    unended: bytes = b""
    stderr: str = ""
    seconds: float = 0.0
    exit_code: int | None = None
    is_closed: bool = False
    is_early: bool = False
    is_flood: bool = False
    ports: tuple[int, ...] = ()
    stops: bool | None = None

    @property
    def is_open(self) -> bool:
        """Whether a conversation came about."""
        if not revisions.is_modern(self.revision):
            return self.hello is not None and self.hello.value is not None
        listed = self.listed.value if self.listed is not None else None
        is_served = listed is not None and listed.get("resultType") is not None
        return self.hello is not None and (is_discovered(self.hello) or is_served)

    @property
    def is_refusal(self) -> bool:
        """Whether the first request was answered with an error."""
        return self.hello is not None and self.hello.error is not None

    @property
    def is_answered(self) -> bool:
        """Whether the first request was answered, with whatever."""
        return self.hello is not None and self.hello.fault is None

    @property
    def has_ended(self) -> bool:
        """Whether the process ended, or closed its stdout, by itself."""
        return self.exit_code is not None or self.is_closed

    @property
    def noise(self) -> tuple[Line, ...]:
        """What it wrote that is no message, blank lines among it."""
        return tuple(line for line in self.said if not any(map(_is_ours, line.parts())))

    @property
    def messages(self) -> Iterator[Any]:
        """The messages in what it wrote, batches as such."""
        return (line.message for line in self.said if not line.fault)


def _is_ours(value: Any) -> bool:
    return is_message(value) or kind(value) in (Kind.REQUEST, Kind.NOTIFICATION, Kind.RESULT, Kind.ERROR)


@dataclass(frozen=True)
class Seen:
    """All that was seen.  ``withheld`` are the variables of the environment that the server did not get."""

    settings: Settings
    program: Program
    first: Attempt
    trials: Mapping[Way, Attempt] = field(default_factory=dict)
    withheld: tuple[str, ...] = ()

    @property
    def command(self) -> tuple[str, ...]:
        """The command without credentials."""
        return redacted(self.settings.command)

    @property
    def is_sheltered(self) -> bool:
        """Whether the server was kept from something that the user's own programs have."""
        return self.settings.cwd is None or not self.settings.inherit_home or bool(self.withheld)

    @property
    def here(self) -> Attempt | None:
        """What came of starting it as the user's own programs are."""
        return self.trials.get(Way.HERE)

    @property
    def main(self) -> Attempt:
        """The attempt to be judged: the one without a throwaway directory, unless that one got less far."""
        here = self.here
        return here if here is not None and _stage(here) >= _stage(self.first) else self.first

    def narrows(self, way: Way) -> bool:
        """Whether this is something that the server was kept from."""
        kept = {
            Way.DIRECTORY: self.settings.cwd is None,
            Way.HOME: not self.settings.inherit_home,
            Way.CREDENTIALS: bool(self.withheld),
        }
        return kept[way]

    def options(self, way: Way) -> tuple[str, ...]:
        """The options that give the server what it was kept from."""
        if way is Way.HERE:
            return tuple(word for one in NARROWER if self.narrows(one) for word in self.options(one))
        if way is Way.CREDENTIALS:
            named = [name for name in self.withheld if name in self.first.stderr]
            return tuple(word for name in named or self.withheld for word in ("--env", name))
        return ("--cwd", ".") if way is Way.DIRECTORY else ("--inherit-home",)

    def opened(self, *ways: Way) -> Attempt | None:
        """The first of these trials in which a conversation came about."""
        return next(
            (self.trials[way] for way in ways if way in self.trials and self.trials[way].is_open), None
        )

    def and_then(self, trial: Attempt) -> Seen:
        """This and one more trial."""
        return replace(self, trials={**self.trials, trial.way: trial})


def _stage(attempt: Attempt) -> int:
    return (attempt.refused == "") + attempt.is_answered + attempt.is_open


def withheld(settings: Settings) -> tuple[str, ...]:
    """The variables of our environment that the server does not get as they look like credentials."""
    return tuple(name for name in os.environ if SECRET.search(name) and name not in settings.env)


def visible(raw: bytes, limit: int = 160) -> str:
    """Bytes as one short line of text, in which what cannot be seen is escaped."""
    text = raw.decode("utf-8", "backslashreplace").replace("\ufeff", "\\ufeff")
    for char, escape in (("\r", "\\r"), ("\n", "\\n"), ("\t", "\\t"), ("\0", "\\0")):
        text = text.replace(char, escape)
    return shorten(text, limit)


# The program -------------------------------------------------------------------------------------


def looked_up(settings: Settings) -> Program:
    """What the first word of the command leads to."""
    word = settings.command[0]
    place = settings.cwd or settings.here
    first = rooted(settings.command, settings.here)[0] if settings.cwd is None else word
    path = settings.env.get("PATH", os.environ.get("PATH", ""))
    found = shutil.which(first, path=path) or str(place / word) * (Path(word).name != word)
    if not found or not _is(Path(found), "exists"):
        near = get_close_matches(word, sorted(_programs(path)), 1, 0.75) if Path(word).name == word else []
        return Program(word, near="".join(near), beside=_beside(word, place))
    is_file = _is(Path(found), "is_file")
    head = _head(Path(found)) if is_file else b""
    return Program(word, found, is_file, shutil.which(found, path=path) is not None, head)


def _beside(word: str, place: Path) -> str:
    """A file that is likely meant by a word that is no program."""
    paths = (place / word, Path(os.path.expanduser(word)))  # noqa: PTH111  (it does not raise for a user unknown)
    return next((str(path) for path in paths if _is(path, "is_file")), "")


def _programs(path: str) -> set[str]:
    found: set[str] = set()
    for folder in path.split(os.pathsep):
        try:
            found.update(path.name for path in Path(folder or os.curdir).iterdir())
        except OSError:
            continue
    return found


def _is(path: Path, what: str) -> bool:
    try:
        return bool(getattr(path, what)())
    except (OSError, ValueError):
        return False


def _head(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(HEAD)
    except OSError:
        return b""


# A process ---------------------------------------------------------------------------------------


def varied(settings: Settings, way: Way, names: Sequence[str]) -> Settings:
    """The settings for a way; ``names`` are the variables that the server was kept from."""
    env = dict(settings.env)
    if way in (Way.HERE, Way.CREDENTIALS):
        env = {name: os.environ[name] for name in names} | env
    if way is Way.UNBUFFERED:
        env["PYTHONUNBUFFERED"] = "1"
    is_here = settings.cwd is None and way in (Way.HERE, Way.DIRECTORY)
    return replace(
        settings,
        env=env,
        cwd=settings.here if is_here else settings.cwd,
        inherit_home=settings.inherit_home or way in (Way.HERE, Way.HOME),
    )


class _Listening(Session):
    """A conversation in which our own request, when it comes back, is not answered."""

    def answer_to(self, method: Any, params: Any) -> Mapping[str, Any] | None:
        """What is answered to any other request."""
        return None if method in OPENINGS else super().answer_to(method, params)


class Visit:
    """One process, from its start to its end.

    ``attempt`` is what was seen so far; `steps` goes on with it, a step at a time.  ``patience`` is how long
    the first answer may take.
    """

    def __init__(self, settings: Settings, way: Way = Way.PLAIN, patience: float = TRIAL_SECONDS):
        self._settings, self._way, self._patience = settings, way, patience
        revision = revisions.LATEST_MODERN if way is Way.MODERN else revisions.LATEST_HANDSHAKE
        self.attempt = Attempt(way, revision)

    def steps(self) -> Generator[Attempt, None, None]:
        """Start the process, watch it, ask, hear the answer, go on, and end it; what was seen after each."""
        try:
            process = self._settings.start()
        except CannotStart as error:
            self.attempt = replace(self.attempt, refused=str(error))
            yield self.attempt
            return
        session = _Listening(process, revision=self.attempt.revision, timeout=LIST_SECONDS)
        is_first = self._way is Way.PLAIN
        steps = (self._ask, self._hear, self._go_on)
        try:
            for step in (self._watch, *steps, self._end) if is_first else steps:
                yield self.attempt
                step(session, process)
            yield self.attempt
        finally:
            process.stop(LAST_SECONDS if is_first else BRIEFLY)

    def done(self) -> Attempt:
        """All of it at once."""
        for _ in self.steps():
            pass
        return self.attempt

    def _note(self, session: Session, **more: Any) -> None:
        """Take down what was seen."""
        said = [line for line in session.lines if not line.sent]
        kept = [line for line in said[:LINES_KEPT] if not is_let_go(line)]
        self.attempt = replace(
            self.attempt,
            said=tuple(kept),
            left_out=len(said) - len(kept),
            stderr=session.process.stderr,
            revision=session.revision,
            **more,
        )

    def _watch(self, session: Session, process: Process) -> None:
        session.wait_for(lambda: process.exit_code is not None, START_SECONDS)
        has_ended = session.closed or process.exit_code is not None
        code = process.wait(LAST_SECONDS) if has_ended else None
        seconds = process.age
        is_early = has_ended and code is not None
        self._note(session, is_early=is_early, exit_code=code, is_closed=session.closed, seconds=seconds)

    def _ask(self, session: Session, process: Process) -> None:
        params = {
            "protocolVersion": session.revision,
            "capabilities": session.capabilities,
            "clientInfo": session.client_info,
        }
        message = session.request_of("initialize", params, id=1)
        if session.is_modern:
            asked = session.send("server/discover")
        elif self._way is Way.CARRIAGE:
            asked = session.send_raw(encode(message) + b"\r", message)
        elif self._way is Way.HEADERS:
            asked = Line(sent=True, raw=encode(message), at=process.age, message=message)
            process.write(b"Content-Length: %d\r\n\r\n%b" % (len(asked.raw), asked.raw))
        else:
            asked = session.send("initialize", params)
        self._note(session, asked=asked)

    def _hear(self, session: Session, process: Process) -> None:
        asked = self.attempt.asked
        assert asked is not None
        deadline = process.age + self._patience
        while process.age < deadline and not _is_over(session, asked):
            session.wait_for(lambda: session.is_answered(asked), max(0.0, min(LOOK, deadline - process.age)))
        if process.age < deadline:
            session.wait_for(lambda: session.is_answered(asked), AFTER_AN_ODD_ANSWER)
        seconds, is_closed = process.age, session.closed
        is_flood = _is_flood(session) and not session.is_answered(asked)
        if is_flood:
            session.leave()
        hello = session.await_reply(asked, 0.0)
        is_mute = hello.fault is not None and not (is_closed or is_flood)
        code = process.wait(END_SECONDS) if is_closed else process.exit_code
        self._note(
            session,
            hello=hello,
            seconds=seconds,
            is_closed=is_closed,
            exit_code=code,
            is_flood=is_flood,
            ports=ports() if is_mute else (),
            unended=process.unended[:LONGEST_LOOKED_AT],
        )

    def _go_on(self, session: Session, process: Process) -> None:
        del process
        session.hello = hello = self.attempt.hello
        if hello is None or self._way in (Way.CARRIAGE, Way.HEADERS):
            return
        if session.is_modern and (hello.error is not None or session.declares("tools")):
            self._note(session, listed=session.request(LISTED["tools"]))
        elif hello.value is not None and not session.is_modern:
            offered = hello.value.get("protocolVersion")
            if offered is not None and offered.json in revisions.HANDSHAKE:
                session.revision = offered.json
            session.notify("notifications/initialized")
            has_tools = session.declares("tools")
            listed = session.request(LISTED["tools"] if has_tools else session.pulse)
            self._note(session, listed=listed)

    def _end(self, session: Session, process: Process) -> None:
        unended = process.unended[:LONGEST_LOOKED_AT]
        had_ended = session.closed or process.exit_code is not None
        code = session.finish(STOP_SECONDS)
        self.attempt = replace(
            self.attempt,
            unended=unended,
            late=None if _is_unended_message(unended) else self._late(session),
            stops=None if had_ended else code is not None,
            stderr=process.stderr,
        )

    def _late(self, session: Session) -> Reply | None:
        """The answer that came when stdin was closed."""
        asked, hello = self.attempt.asked, self.attempt.hello
        if asked is None or hello is None or hello.fault is None:
            return None
        late = session.await_reply(asked, 0.0)
        return late if late.fault is None else None


def _is_over(session: Session, asked: Line) -> bool:
    """Whether it is no use to wait for the answer any longer."""
    if session.is_answered(asked) or session.closed or session.process.exit_code is not None:
        return True
    return (
        _is_flood(session)
        or is_odd([line for line in session.lines if not line.sent][:LINES_KEPT])
        or (bool(session.process.unended) and _is_unended_message(session.process.unended))
    )


def _is_flood(session: Session) -> bool:
    return len(session.lines) > FLOOD_LINES or session.size > FLOOD_BYTES


def _is_unended_message(unended: bytes) -> bool:
    return len(unended) < LONGEST_LOOKED_AT and is_message(Line.received(unended).message)


def is_odd(said: Sequence[Line]) -> bool:
    """Whether something came that is meant as an answer and is none."""
    return bool(torn(said)) or any(map(_is_odd, said))


def _is_odd(line: Line) -> bool:
    """Whether a line is the answer to something that was not asked, our own request, or in no UTF-8."""
    kinds = (kind(line.message), *map(kind, line.parts()))
    is_answer = Kind.RESULT in kinds or Kind.ERROR in kinds
    is_ours = kinds[0] is Kind.REQUEST and line.message["method"] in OPENINGS
    return is_answer or is_ours or line.raw.lower().startswith(b"content-length:") or b"\0" in line.raw
