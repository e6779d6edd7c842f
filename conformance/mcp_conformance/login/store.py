"""Where logins are kept: a folder of the user's, outside of every repository, that nobody else reads."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

from mcp_conformance.login.login import Login
from mcp_conformance.login.web import LoginFailed
from mcp_conformance.transport.files import BadFile, json_value, read_file
from mcp_conformance.transport.http.endpoint import Endpoint
from mcp_conformance.transport.user_folder import user_folder
from mcp_conformance.transport.writing import make_folder, write

# Not measured: with the steps of a login some 20 kB; each may have a document of 256 kB.
MAX_BYTES = 16_000_000


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
    return _read(path)


def all_kept() -> Iterator[Login | LoginFailed]:
    """Yield all logins, and what is wrong with a file that is broken."""
    for path in sorted(folder().glob("*.json")):
        try:
            found = _read(path)
        except LoginFailed as error:
            yield error
        else:
            yield from (found,) if found is not None else ()


def _read(path: Path) -> Login | None:
    """Return the login in a file; None without the file.  Raises `LoginFailed`."""
    if not os.path.lexists(path):
        return None
    try:
        return Login.from_json(read_file(path, json_value, MAX_BYTES))
    except BadFile as error:
        raise LoginFailed(f"{error}: remove it and log in again") from None
    except (ValueError, TypeError, KeyError):
        raise LoginFailed(f"{path} is not a login of this version: remove it and log in again") from None


def keep(login: Login) -> Path:
    """Write a login to its file, which only the user may read, and return the file.  Raises `OSError`."""
    path = path_of(login.url)
    content = json.dumps(login.as_json())
    if len(content) > MAX_BYTES:
        raise OSError(errno.EFBIG, os.strerror(errno.EFBIG), str(path))
    make_folder(path.parent, 0o700)
    write(path, content, 0o600)
    return path


def forget(url: str) -> bool:
    """Remove the login to a server; return whether there was one.  Raises `LoginFailed`."""
    try:
        path_of(url).unlink()
    except FileNotFoundError:
        return False
    except OSError as error:
        raise LoginFailed(f"{path_of(url)}: {error.strerror}") from None
    return True
