"""The machines of other users: what is different there, and whether a server can be started as if it were."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from mcp_conformance.target.settings import Settings

POSIX = ("linux", "darwin")
NO_UTF8_MODE = {"PYTHONUTF8": "0"}
IN_A_SANDBOX = "it is not judged in a sandbox"
NO_RIGHTS_OF_ROOT = ("/usr/bin/setpriv", "--bounding-set=-dac_override")
"""A program that becomes the server, which then may not write where root needs no permission."""


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

    def obstacle(self, settings: Settings) -> str:
        """Return why the server cannot be started in this surrounding here; empty if it can."""
        if self.platforms and sys.platform not in self.platforms:
            return f"there is none on {sys.platform}"
        if self.folder and (settings.cwd is not None or settings.throwaway is None):
            return "--cwd names the working directory"
        return ""

    def settings(self, settings: Settings) -> Settings:
        """Return the settings for a start in this surrounding; what the user sets for the server stays."""
        env = {**self.env, **settings.env}
        return replace(settings, env=env, launcher=self.launcher, work=self._directory(settings))

    def _directory(self, settings: Settings) -> Path | None:
        """Make the working directory and return its path; None if it is the usual one."""
        if not self.folder or settings.throwaway is None:
            return None
        folder = settings.throwaway.root / self.folder
        folder.mkdir(exist_ok=True)
        return folder


@dataclass(frozen=True)
class OtherLocale(Surrounding):
    """A machine with another locale, which must be installed here too."""

    def obstacle(self, settings: Settings) -> str:
        """Return that the locale is not installed, if so."""
        name = self.env["LC_ALL"]
        return super().obstacle(settings) or ("" if _is_installed(name) else f"{name} is not installed here")


@dataclass(frozen=True)
class ReadOnlyDirectory(Surrounding):
    """A working directory in which nothing can be written, by root neither."""

    def obstacle(self, settings: Settings) -> str:
        """Return that a directory cannot be made read-only for this user, if so."""
        if found := super().obstacle(settings) or (IN_A_SANDBOX if settings.sandbox is not None else ""):
            return found
        words = (*_launcher(), "/bin/sh", "-c", "test ! -w .")
        return "" if _succeeds(words, self._directory(settings)) else "this user may write everywhere"

    def settings(self, settings: Settings) -> Settings:
        """Return the settings for a start in the directory."""
        return replace(super().settings(settings), launcher=_launcher())

    def _directory(self, settings: Settings) -> Path | None:
        folder = super()._directory(settings)
        if folder is not None:
            folder.chmod(0o555)
        return folder


@dataclass(frozen=True)
class WithoutProgram(Surrounding):
    """A machine without a program that is on the PATH here: of its folders only the rest is on the PATH."""

    program: str = ""

    def obstacle(self, settings: Settings) -> str:
        """Return that the program is not here either, if so."""
        if settings.sandbox is not None or settings.throwaway is None:
            return IN_A_SANDBOX
        missing = "" if shutil.which(self.program) else f"there is no {self.program} on the PATH here either"
        return super().obstacle(settings) or missing

    def settings(self, settings: Settings) -> Settings:
        """Return the settings for a start with another PATH."""
        assert settings.throwaway is not None
        root = settings.throwaway.root / f"without-{self.program}"
        root.mkdir(exist_ok=True)
        folders = os.environ.get("PATH", os.defpath).split(os.pathsep)
        path = os.pathsep.join(str(self._rest(Path(one), root / str(at))) for at, one in enumerate(folders))
        return replace(super().settings(settings), env={"PATH": path, **settings.env})

    def _rest(self, folder: Path, copy: Path) -> Path:
        """Return the folder, or if the program is in it, a ``copy`` of links to the other programs."""
        if not (folder / self.program).exists():
            return folder
        if not copy.exists():
            copy.mkdir()
            for one in folder.iterdir():
                if one.name != self.program:
                    (copy / one.name).symlink_to(one)
        return copy


def _launcher() -> tuple[str, ...]:
    """Return the words before the command by which root keeps to the permissions of files."""
    return NO_RIGHTS_OF_ROOT if sys.platform == "linux" and os.geteuid() == 0 else ()


def _is_installed(name: str) -> bool:
    """Return whether the system has the data of a locale, by the program ``locale``."""
    words = ("locale", "charmap")
    return _output(words, env={**os.environ, "LC_ALL": name}) == b"UTF-8"


def _succeeds(words: tuple[str, ...], cwd: Path | None) -> bool:
    return _output(words, cwd=cwd) is not None


def _output(
    words: tuple[str, ...], *, env: Mapping[str, str] | None = None, cwd: Path | None = None
) -> bytes | None:
    """Return what a program of the system writes; None if there is none, or it fails."""
    try:
        done = subprocess.run(words, check=True, capture_output=True, env=env, cwd=cwd)
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.strip()


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
LOCALES = tuple(
    OtherLocale(f"a machine {where} (LC_ALL={name})", {"LC_ALL": name, "LANG": name}, platforms=POSIX)
    for name, where in (("de_DE.UTF-8", "in Germany"), ("tr_TR.UTF-8", "in Turkey"))
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
FOLDERS = (
    Surrounding("a working directory with spaces and letters beyond ASCII", folder="Søren's Müll 漢字"),
)
READ_ONLY = (
    ReadOnlyDirectory("a client that works in a read-only directory", folder="read-only", platforms=POSIX),
)
NO_GIT = (WithoutProgram("a machine without git on the PATH", program="git", platforms=POSIX),)
