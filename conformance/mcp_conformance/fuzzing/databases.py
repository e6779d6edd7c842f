"""The database of values that failed before, at an address that several machines may share."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from hypothesis.database import DirectoryBasedExampleDatabase, ExampleDatabase, InMemoryExampleDatabase

from mcp_conformance.transport.writing import place_of

REDIS = ("redis://", "rediss://", "unix://")


class BadDatabase(ValueError):  # noqa: N818  (its message is what the user reads)
    """The database cannot be used; the message says why, in a line."""


class Forgiving(ExampleDatabase):
    """A database whose failures lose only what it remembers: a run goes on if its host is gone."""

    def __init__(self, database: ExampleDatabase):
        super().__init__()
        self._database = database

    def fetch(self, key: bytes) -> Iterable[bytes]:
        """Return the values that are remembered, none if the database fails."""
        with suppress(Exception):
            return tuple(self._database.fetch(key))
        return ()

    def save(self, key: bytes, value: bytes) -> None:
        """Remember a value."""
        with suppress(Exception):
            self._database.save(key, value)

    def delete(self, key: bytes, value: bytes) -> None:
        """Forget a value."""
        with suppress(Exception):
            self._database.delete(key, value)


def safe(database: ExampleDatabase, key: bytes) -> ExampleDatabase:
    """Return the database; one in memory if the folder of a key has links that lead away, pipes or devices.

    A repository may ship them, and a server may put them there.
    """
    if isinstance(database, DirectoryBasedExampleDatabase):
        for one in {key, getattr(database, "_metakeys_name", key)}:  # the folder of keys, if there is one
            folder: Path = database._key_path(one)  # noqa: SLF001  (else a pipe is opened, for ever)
            try:
                place_of(folder)
                values = list(folder.iterdir()) if folder.exists() else []
            except OSError:
                return InMemoryExampleDatabase()
            if any(value.is_symlink() or not value.is_file() for value in values):
                return InMemoryExampleDatabase()
    return database


def database_at(address: str) -> ExampleDatabase:
    """Return the database in a folder, or at a Redis URL.  Raises `BadDatabase`."""
    if not address.startswith(REDIS):
        return DirectoryBasedExampleDatabase(Path(address))
    try:
        import redis  # noqa: PLC0415  (an optional package)
        from hypothesis.extra.redis import RedisExampleDatabase  # noqa: PLC0415
    except ImportError as error:
        raise BadDatabase(f"{address} needs the package redis, which is not installed here") from error
    try:
        # Five seconds at the start of a run tell a wrong address; later failures are forgiven.
        client = redis.Redis.from_url(address, socket_connect_timeout=5, socket_timeout=5)
        client.ping()
    except (redis.RedisError, ValueError) as error:
        raise BadDatabase(
            f"{address.partition('://')[0]} at this address does not answer: {error}"
        ) from error
    return Forgiving(RedisExampleDatabase(client))
