"""A session played over HTTP: which message goes on which stream, and what waits for the client's answer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from queue import Empty, SimpleQueue
from threading import Event, Lock, Thread
from typing import Any

from mcp_conformance.protocol.jsonrpc import ABSENT, IdKey, id_key
from mcp_conformance.tap.exchanges import Said, subscription_of
from mcp_conformance.tap.serving import Player

BEAT_SECONDS = 10.0
"""How often a silent stream gets a comment, which shows that its client has gone.  Not measured."""
Write = Callable[[Said], None]


class Stream:
    """Messages for the stream of a GET or of a subscription; they wait until there is one."""

    def __init__(self) -> None:
        self._waiting: SimpleQueue[bytes | None] = SimpleQueue()
        self._reader: object = None

    @property
    def is_open(self) -> bool:
        """Whether somebody reads."""
        return self._reader is not None

    def put(self, raw: bytes | None) -> None:
        """Add a message; None ends the stream."""
        self._waiting.put(raw)

    def messages(self) -> Iterator[bytes]:
        """Yield each message when it is there, and nothing at each beat; a new reader ends an earlier one."""
        reader = self._reader = object()
        try:
            while True:
                try:
                    raw = self._waiting.get(timeout=BEAT_SECONDS)
                except Empty:
                    raw = b""
                if self._reader is not reader and raw:
                    self._waiting.put(raw)
                if raw is None or self._reader is not reader:
                    return
                yield raw
        finally:
            self._reader = None if self._reader is reader else self._reader


class Streams:
    """The streams of one client: ``aside`` is that of GET."""

    def __init__(self, player: Player):
        self.aside = Stream()
        self._player = player
        self._stepping = Lock()
        self._subscribed: dict[IdKey, Stream] = {}
        self._awaited: dict[str, Event] = {}

    def said(self, message: Any) -> Iterator[Said]:
        """Yield what the server says to a message; several threads may do this at once."""
        playing = self._player.said(message)
        while True:
            with self._stepping:
                said = next(playing, None)
            if said is None:
                return
            yield said

    def has_played(self, message: Any) -> bool:
        """Return whether all recorded requests like this one were played."""
        with self._stepping:
            return self._player.has_played(message)

    def send(self, said: Said, own: Write | None) -> None:
        """Send a message, and wait for the client's answer if it needs one.

        It goes on the request's ``own`` stream, or on that of GET or of a subscription.  Without a stream of
        GET the own one has all, and what belongs to a subscription that nobody has goes nowhere.
        """
        answered = Event()
        if said.waits:
            self._awaited[str(said.message["id"])] = answered
        subscription = subscription_of(said.message) if said.is_aside else ABSENT
        if subscription is not ABSENT:
            if (stream := self._subscribed.get(id_key(subscription))) is not None:
                stream.put(said.raw)
        elif own is None or (said.is_aside and self.aside.is_open):
            self.aside.put(said.raw)
        else:
            own(said)
        if said.waits:
            answered.wait()

    def send_aside(self, rest: Iterable[Said]) -> None:
        """Send what comes after a response, while the client goes on."""

        def send_all() -> None:
            for said in rest:
                self.send(said, None)

        Thread(target=send_all, daemon=True).start()

    def answered(self, id: Any) -> None:
        """Go on where the client's answer was awaited."""
        if (event := self._awaited.pop(str(id), None)) is not None:
            event.set()

    def subscribe(self, id: Any) -> Stream:
        """Return the stream of a subscription, which is the response to the request with this id."""
        return self._subscribed.setdefault(id_key(id), Stream())

    def end(self) -> None:
        """End the session: its streams end."""
        for stream in (self.aside, *self._subscribed.values()):
            stream.put(None)
