"""The Git repository of a furnished folder: the files of its ``.git``, made without Git.

It has three commits on two branches, a tag, a change that is staged and one that is not.  The objects are in
one pack: as files of their own they would be most of what a check of the folder has to read.
"""

from __future__ import annotations

import hashlib
import struct
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

COMMIT, TREE, BLOB = 1, 2, 3
KINDS = {COMMIT: b"commit", TREE: b"tree", BLOB: b"blob"}
"""The types of objects as a pack numbers them, and their names."""
FILE, FOLDER = 0o100644, 0o40000
BRANCH, OTHER_BRANCH, TAG = "main", "feature", "v1.0"
AUTHOR = "Example <example@example.com>"
MOMENT = 1740992400
"""The time of the first commit: 2025-03-03 09:00 UTC."""
CONFIG = """\
[core]
\trepositoryformatversion = 0
\tfilemode = false
\tbare = false
\tautocrlf = false
\tcheckstat = minimal
[user]
\tname = Example
\temail = example@example.com
[commit]
\tgpgsign = false
[gc]
\tauto = 0
"""
"""The configuration.

``checkstat = minimal`` has Git compare the size and the time of files only, so that our index holds, and a
tool that shows the status has no reason to write another one.  Signing would ask the user for a password.
"""

Id = bytes
Files = Mapping[str, bytes]
"""Contents by path, with ``/`` between folders."""


@dataclass
class Objects:
    """The objects of a repository by their id, each with its type and content."""

    by_id: dict[Id, tuple[int, bytes]] = field(default_factory=dict)

    def add(self, kind: int, content: bytes) -> Id:
        """Add an object, and return its id."""
        id = _sha1(b"%b %d\0%b" % (KINDS[kind], len(content), content))
        self.by_id[id] = kind, content
        return id

    def tree(self, files: Files) -> Id:
        """Add the folder with these files, and all that is in it."""
        entries = {
            name: (FILE, self.add(BLOB, content)) for name, content in files.items() if "/" not in name
        }
        for folder in {path.partition("/")[0] for path in files if "/" in path}:
            inner = {
                path.partition("/")[2]: one for path, one in files.items() if path.startswith(f"{folder}/")
            }
            entries[folder] = FOLDER, self.tree(inner)
        # Git sorts a folder as if its name ended with a slash.
        order = sorted(entries, key=lambda name: name + "/" * (entries[name][0] == FOLDER))
        rows = (b"%o %b\0%b" % (entries[name][0], name.encode(), entries[name][1]) for name in order)
        return self.add(TREE, b"".join(rows))

    def commit(self, files: Files, message: str, moment: int, parents: Sequence[Id] = ()) -> Id:
        """Add a commit of these files."""
        lines = [
            f"tree {self.tree(files).hex()}",
            *(f"parent {one.hex()}" for one in parents),
            *(f"{role} {AUTHOR} {moment} +0000" for role in ("author", "committer")),
            "",
            f"{message}\n",
        ]
        return self.add(COMMIT, "\n".join(lines).encode())

    def pack(self) -> tuple[bytes, bytes]:
        """Return a pack of all objects, and the index of the pack (both of version 2)."""
        written = b"PACK" + struct.pack(">II", 2, len(self.by_id))
        places: dict[Id, tuple[int, int]] = {}
        for id, (kind, content) in self.by_id.items():
            packed = _packed_head(kind, len(content)) + zlib.compress(content)
            places[id] = len(written), zlib.crc32(packed)
            written += packed
        written += _sha1(written)
        ids = sorted(places)
        counts = (sum(id[0] <= first for id in ids) for first in range(256))
        index = b"\xfftOc" + struct.pack(">I256I", 2, *counts) + b"".join(ids)
        index += b"".join(struct.pack(">I", places[id][1]) for id in ids)
        index += b"".join(struct.pack(">I", places[id][0]) for id in ids)
        index += written[-20:]
        return written, index + _sha1(index)


def repository(files: Files, moment: int) -> dict[str, bytes]:
    """Return the files of a ``.git`` beside these files, which were last changed at ``moment``.

    ``example.md`` has a change that is not staged, and ``example.json`` one that is; their commits lack the
    last line, and a digit.
    """
    objects = Objects()
    committed = {**files, "example.md": _without_last_line(files["example.md"])}
    staged = dict(committed)
    committed["example.json"] = files["example.json"].replace(b"12", b"10")
    older = {**committed, "example.txt": _without_last_line(files["example.txt"])}
    first = objects.commit(older, "Add the files of the shop", MOMENT)
    last = objects.commit(committed, "Note a task", MOMENT + 3600, [first])
    more = {**older, "example.csv": files["example.csv"] + b"eggs,30,0.25\n"}
    other = objects.commit(more, "Add eggs", MOMENT + 7200, [first])
    objects.add(BLOB, staged["example.json"])
    pack, index = objects.pack()
    name = f"objects/pack/pack-{pack[-20:].hex()}"
    refs = (
        # GitPython reads the file only if it says that tags are peeled; none of them needs that.
        "# pack-refs with: peeled fully-peeled sorted ",
        f"{other.hex()} refs/heads/{OTHER_BRANCH}",
        f"{last.hex()} refs/heads/{BRANCH}",
        f"{first.hex()} refs/tags/{TAG}",
    )
    return {
        "HEAD": f"ref: refs/heads/{BRANCH}\n".encode(),
        "config": CONFIG.encode(),
        "description": b"The files of a shop.\n",
        "packed-refs": "".join(f"{line}\n" for line in refs).encode(),
        f"{name}.pack": pack,
        f"{name}.idx": index,
        "index": _index(staged, moment),
    }


def _without_last_line(content: bytes) -> bytes:
    return b"".join(content.splitlines(keepends=True)[:-1])


def _packed_head(kind: int, size: int) -> bytes:
    """Return what precedes an object in a pack: its type, and its size in parts of 4 and 7 bits."""
    part, size = kind << 4 | size & 15, size >> 4
    written = bytearray()
    while size:
        written.append(part | 0x80)
        part, size = size & 0x7F, size >> 7
    return bytes((*written, part))


def _index(files: Files, moment: int) -> bytes:
    """Return the index in which these files are staged."""
    written = b"DIRC" + struct.pack(">II", 2, len(files))
    for path in sorted(files, key=str.encode):
        id = _sha1(b"blob %d\0%b" % (len(files[path]), files[path]))
        times = (moment, 0, moment, 0)
        entry = struct.pack(">10I", *times, 0, 0, FILE, 0, 0, len(files[path]))
        entry += id + struct.pack(">H", len(path.encode())) + path.encode()
        written += entry + bytes(8 - len(entry) % 8)
    return written + _sha1(written)


def _sha1(content: bytes) -> Id:
    return hashlib.sha1(content, usedforsecurity=False).digest()
