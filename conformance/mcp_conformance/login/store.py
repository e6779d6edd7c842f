"""Where logins are kept: a folder of the user's, outside of every repository, that nobody else reads."""

from __future__ import annotations

import json
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

from mcp_conformance.login.login import Login
from mcp_conformance.login.web import LoginFailed
from mcp_conformance.transport.http.endpoint import Endpoint
from mcp_conformance.transport.user_folder import user_folder
from mcp_conformance.transport.writing import make_folder, write

# Not measured: with the steps of a login some 20 kB.
MAX_BYTES = 1_000_000


def folder() -> Path:
    """Return the folder of the logins.  Raises `LoginFailed` if this user can have none."""
    try:
        return user_folder() / "logins"
    except OSError as error:
        raise LoginFailed(f"there is no place for logins: {error.strerror}") from error


def key(url: str) -> str:
    """Return the address of a server without its query: a login is for that."""
    return Endpoint.parse(url).url.partition("?")[0]


def path_of(url: str) -> Path:
    """Return the file of the login to a server."""
    return folder() / f"{sha256(key(url).encode()).hexdigest()[:16]}.json"


def kept(url: str) -> Login | None:
    """Return the login to a server; None without one.  Raises `LoginFailed` for a file that is broken."""
    try:
        path = path_of(url)
    except LoginFailed:
        return None
    return _read(path) if path.exists() else None


def all_kept() -> Iterator[Login]:
    """Yield all logins.  Raises `LoginFailed` for a file that is broken."""
    for path in sorted(folder().glob("*.json")):
        yield _read(path)


def _read(path: Path) -> Login:
    try:
        return Login.from_json(json.loads(path.read_bytes()[:MAX_BYTES]))
    except OSError as error:
        raise LoginFailed(f"{path}: {error.strerror}") from None
    except (ValueError, TypeError, KeyError):
        raise LoginFailed(f"{path} is not a login of this version: remove it and log in again") from None


def keep(login: Login) -> Path:
    """Write a login to its file, which only the user may read, and return the file.  Raises `OSError`."""
    path = path_of(login.url)
    make_folder(path.parent, 0o700)
    write(path, json.dumps(login.as_json()), 0o600)
    return path


def forget(url: str) -> bool:
    """Remove the login to a server; return whether there was one."""
    try:
        path_of(url).unlink()
    except FileNotFoundError:
        return False
    return True
