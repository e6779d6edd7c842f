"""Run the tool on a server that does to files whatever it is told, and print what became of a user's files.

    python -m support.victim OPTIONS...

It destroys what the tool does not keep safe: it must only run in namespaces whose files are thrown away.
"""

import json
import os
import stat
import subprocess
import sys
import tempfile
from hashlib import sha256
from pathlib import Path

WATCHED = (str(Path.home()),)
"""Folders of which the files and folders directly inside are looked at."""


def state_of(path):
    """Return what tells whether a file or folder is as it was; folders may get new entries."""
    status = path.lstat()
    kind = stat.S_IFMT(status.st_mode)
    if kind == stat.S_IFLNK:
        return str(path.readlink())
    if kind != stat.S_IFREG:
        return oct(status.st_mode)
    content = sha256(path.read_bytes()).hexdigest() if os.access(path, os.R_OK) else ""
    return f"{oct(status.st_mode)} {status.st_size} {status.st_mtime_ns} {content}"


def states(place):
    """Return the state of all that is in a folder, and of what is directly in those that are watched."""
    found = {}
    for folder, inner, files in os.walk(place):
        found |= {f"{folder}/{name}": state_of(Path(folder, name)) for name in (*inner, *files)}
    for folder in WATCHED:
        found |= {str(path): state_of(path) for path in Path(folder).iterdir()}
    return found


def furnish(folder):
    """Make a user's folder: files and folders of names that tests like to use, links, a repository."""
    around = folder.parent
    for place in (around, folder):
        for name in ("README.md", "config.json", "data.csv", "a", "0", "name", "up", "*"):
            (place / name).write_text(f"{name} of the user\n", encoding="utf-8")
        (place / "example").mkdir()
        (place / "example" / "notes.txt").write_text("kept\n", encoding="utf-8")
        (place / "link").symlink_to(around / "README.md")
    (folder / "test").symlink_to("..")
    (folder / "default").mkdir()
    git = ("git", "-c", "user.name=a", "-c", "user.email=a@example.com")
    for words in (["init", "-q"], ["add", "."], ["commit", "-qm", "first"]):
        subprocess.run([*git, *words], cwd=folder, check=True)


def main(*options):
    """Run the tool in the folder of a user, and print what is gone, changed and new there and elsewhere."""
    with tempfile.TemporaryDirectory(dir=Path.home()) as place:
        folder = Path(place, "project")
        folder.mkdir()
        furnish(folder)
        before = states(place)
        with tempfile.TemporaryDirectory() as outside:
            command = [sys.executable, "-m", "mcp_conformance_fixtures.writing", f"{outside}/log", "act"]
            words = ["run", "--call", "all", "--cwd", str(folder), *options, "--", *command]
            done = subprocess.run(
                [sys.executable, "-m", "mcp_conformance", *words],
                cwd=outside,
                capture_output=True,
                text=True,
                check=False,
            )
            log = Path(outside, "log")
            calls = len(log.read_text(encoding="utf-8").splitlines()) if log.exists() else 0
        after = states(place)
    sys.stdout.write(
        json.dumps(
            {
                "status": done.returncode,
                "said": done.stdout[-3000:] + done.stderr[-2000:],
                "calls": calls,
                "changed": sorted(path for path in before if after.get(path) != before[path]),
                "new": sorted(path for path in after if path not in before),
            }
        )
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
