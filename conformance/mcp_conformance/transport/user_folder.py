"""The folder of this user's for what the tool keeps outside of every repository."""

from __future__ import annotations

import errno
import os
import sys
from pathlib import Path


def user_folder() -> Path:
    """Return the folder: that of the platform for what programs keep.

    The user's own links are followed, also where the working directory is the home.  Raises `OSError` if this
    user has no home.
    """
    try:
        if sys.platform == "win32":
            place = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
        elif sys.platform == "darwin":
            place = Path.home() / "Library" / "Application Support"
        else:
            place = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state")
    except RuntimeError as error:
        raise FileNotFoundError(errno.ENOENT, "this user has no home folder") from error
    return (place / "mcp-conformance").resolve()
