"""The paths that a server's command needs to read: its program, the runtime of that, and its own files.

Version managers keep runtimes in the home, which is not readable as a whole.  So a path that contains the
home is never allowed.  What a package writes about itself is not trusted: a folder that an editable
installation names counts only if it is a project.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from urllib.parse import unquote, urlsplit

SHIMS = "shims"
"""The folder in which version managers keep a script for each program."""
LIBRARIES = ("lib", "lib64", "libexec", "pyvenv.cfg")
"""What a prefix has that belongs to a runtime, unlike a folder that only has programs."""
MODULES = "node_modules"
PROJECT = ("package.json", "pyproject.toml", "setup.py", "go.mod", "Cargo.toml", "deno.json")
SEARCHED = ("PYTHONPATH", "NODE_PATH")
"""The variables with folders in which runtimes find modules."""
SOURCES = frozenset(
    (".py", ".js", ".mjs", ".cjs", ".ts", ".mts", ".rb", ".php", ".pl", ".sh", ".lua", ".jar", ".dll", ".exs")
)
"""The endings of files that load others beside them; of other files only they themselves are allowed."""
MAX_SHEBANG_BYTES = 256
MAX_HOPS = 10
"""How many scripts may start each other."""


def runtime_paths(command: Sequence[str], environment: Mapping[str, str]) -> list[str]:
    """Return the paths of the program and its runtime."""
    found = [*_of_programs(command[0], environment, MAX_HOPS)]
    for name in SEARCHED:
        found += [Path(one) for one in environment.get(name, "").split(os.pathsep) if one]
    return _without_home(found)


def named_paths(words: Iterable[str]) -> list[str]:
    """Return the paths of the files and folders that the user names, and of what belongs to them."""
    return _without_home(path for word in words for path in _of_word(word))


def _without_home(paths: Iterable[Path]) -> list[str]:
    return sorted({str(path) for path in paths if not _contains_home(path)})


def _contains_home(path: Path) -> bool:
    """Return whether a path is the user's home, or a folder around it."""
    home = Path.home()
    return any(one.is_relative_to(path) for one in (home, home.resolve()))


def _of_programs(program: str, environment: Mapping[str, str], hops: int) -> Iterator[Path]:
    """Yield the paths of a program, of what its links lead to, and of the interpreter of its first line."""
    found = shutil.which(program, path=environment.get("PATH"))
    if found is None or not hops:
        return
    for path in _links(Path(found).absolute()):
        yield path
        yield from _prefix(path.parent)
        yield from _around(path)
    for word in _shebang(Path(found)):
        yield from _of_programs(word, environment, hops - 1)


def _links(path: Path) -> Iterator[Path]:
    """Yield a path, and each path that its link leads to."""
    for _ in range(MAX_HOPS):
        yield path
        if not path.is_symlink():
            break
        path = path.parent / path.readlink()
    yield path.resolve()


def _prefix(programs: Path) -> Iterator[Path]:
    """Yield what belongs to a runtime whose programs are in this folder."""
    prefix = programs.parent.resolve()
    is_local = prefix == Path.home() / ".local"
    if is_local:
        yield prefix / "lib"
    elif programs.name == SHIMS or any((prefix / name).exists() for name in LIBRARIES):
        yield prefix
    with suppress(OSError):
        for line in (prefix / "pyvenv.cfg").read_text(encoding="utf-8").splitlines():
            name, _, value = line.partition("=")
            if name.strip() == "home":
                yield from _prefix(Path(value.strip()))
                yield from (one for link in _links(Path(value.strip())) for one in _prefix(link))
    for packages in prefix.glob("lib/python3*/site-packages") if not is_local else ():
        yield from _editable(packages)


def _editable(packages: Path) -> Iterator[Path]:
    """Yield the projects that are installed in place."""
    for file in packages.glob("*.dist-info/direct_url.json"):
        with suppress(OSError, ValueError, AttributeError):
            about = json.loads(file.read_text(encoding="utf-8"))
            if about.get("dir_info", {}).get("editable"):
                yield from _if_project(Path(unquote(urlsplit(about["url"]).path)))
    for file in packages.glob("*.pth"):
        with suppress(OSError, UnicodeDecodeError):
            lines = file.read_text(encoding="utf-8").splitlines()
            for folder in (Path(line) for line in lines if line.startswith(os.sep)):
                yield from (one for near in (folder, folder.parent) for one in _if_project(near))


def _if_project(folder: Path) -> Iterator[Path]:
    if any((folder / name).is_file() for name in PROJECT):
        yield folder


def _shebang(file: Path) -> list[str]:
    """Return the interpreter that the first line of a script names, and the program that ``env`` starts."""
    try:
        with file.open("rb") as script:
            first = script.read(MAX_SHEBANG_BYTES).partition(b"\n")[0].decode("utf-8", "replace")
    except OSError:
        return []
    words = first.removeprefix("#!").split() if first.startswith("#!") else []
    is_env = bool(words) and Path(words[0]).name == "env"
    rest = [word for word in words[1:] if not word.startswith("-") and "=" not in word]
    return [*words[:1], *(rest[:1] if is_env else [])]


def _of_word(word: str) -> Iterator[Path]:
    """Yield the paths of a word that names a file or a folder, also behind an equals sign or a scheme."""
    for text in {word, word.partition("=")[2], word.partition("://")[2]}:
        path = Path(text)
        with suppress(OSError, ValueError):
            if text and path.is_absolute() and path.exists():
                for link in _links(path):
                    yield link
                    if link.suffix in SOURCES:
                        yield from _around(link)


def _around(file: Path) -> Iterator[Path]:
    """Yield the modules or the project around a file of a program, else its folder if it is source code."""
    if not file.is_file():
        return
    modules = [folder for folder in file.parents if folder.name == MODULES]
    if modules:
        yield modules[-1]
        yield modules[-1].parent / PROJECT[0]
        return
    project = next((one for one in file.parents if any((one / name).is_file() for name in PROJECT)), None)
    if project is not None and not _contains_home(project):
        yield project
    elif file.suffix in SOURCES:
        yield file.parent
