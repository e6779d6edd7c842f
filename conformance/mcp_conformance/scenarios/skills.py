"""Skills that a server serves (io.modelcontextprotocol/skills): their entries, their files and their folders.

Each request declares the extension, as a server may serve skills to nobody else; all of them use the shared
session, for they only read.
"""

from __future__ import annotations

import re
import unicodedata
from base64 import b64decode
from binascii import Error
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from typing import Any
from urllib.parse import unquote

from mcp_conformance.client.listing import Listing, fetch_list
from mcp_conformance.client.reply import Reply
from mcp_conformance.expect import require_some, skip
from mcp_conformance.protocol import revisions
from mcp_conformance.protocol.frontmatter import frontmatter
from mcp_conformance.protocol.value import Value, members
from mcp_conformance.target.scenario import scenario
from mcp_conformance.target.server import Server

EXTENSION = "io.modelcontextprotocol/skills"
LIST, GET, DIRECTORY = "skills/list", "skills/get", "resources/directory/read"
MAIN = "/SKILL.md"
FOLDER = "inode/directory"
DECLARED: dict[str, Any] = {revisions.CLIENT_CAPABILITIES: {"extensions": {EXTENSION: {}}}}
# Not measured: entries of one server are alike, and each of these costs a request or two.
MAX_SKILLS = 20
"""How many of the listed skills are fetched by their URIs and read."""
# Not measured: beside the SKILL.md of each skill; a skill may have 512 files of 16 MiB together.
MAX_FILES = 60
"""How many files are read."""
MAX_BYTES = 8_000_000
"""The sizes of the files that are read, as their entries say, together."""
MAX_FILE_BYTES = 2_000_000
"""The size of the largest file that is read."""
MAX_NAME = 64
"""The most characters of a name."""
MAX_FOLDERS = 30
"""How many folders are read."""
REFERRED = re.compile(r"[a-z][a-z0-9+.-]*://[^\s\"'`<>()\[\]]+/SKILL\.md")


@dataclass(frozen=True)
class Skill:
    """The entry of a skill, as a list or ``skills/get`` has it."""

    value: Value

    @property
    def uri(self) -> str:
        """The URI of its SKILL.md; empty if it has none."""
        found = self.value.get("uri")
        return found.json if found is not None and found.is_a(str) else ""

    @property
    def root(self) -> str:
        """The URI of its folder; empty if its URI is not that of a SKILL.md."""
        return self.uri.removesuffix(MAIN) if self.uri.endswith(MAIN) else ""

    @property
    def name(self) -> str:
        """The name in its frontmatter; empty if it has none."""
        found = self.value.get("frontmatter", "name")
        return found.json if found is not None and found.is_a(str) else ""

    @property
    def is_dynamic(self) -> bool:
        """Whether its files have no stable digests."""
        found = self.value.get("resources")
        return found is not None and found.json == "dynamic"

    @property
    def files(self) -> list[Value]:
        """The entries of its files that are objects; none if it is dynamic."""
        found = self.value.get("resources")
        each = found.each() if found is not None and found.is_a(list) else ()
        return [one for one in each if one.is_a(dict)]

    @property
    def file_uris(self) -> list[str]:
        """The URIs of its files."""
        return [one.json for one in members(self.files, "uri") if one.is_a(str)]

    @property
    def is_in_its_folder(self) -> bool:
        """Whether the last segment of its path is its name."""
        last = self.root.rpartition("/")[2]
        return _composed(self.name) in (_composed(last), _composed(unquote(last)))

    def has_inside(self, uri: str) -> bool:
        """Return whether a URI is that of something in its folder."""
        return bool(self.root) and uri.startswith(f"{self.root}/")


def follows_naming_rules(name: str) -> bool:
    """Return whether a name is one of Agent Skills, in any script (agentskills.io, "name")."""
    plain = unicodedata.normalize("NFKC", name)
    letters = all(one.isalnum() or one == "-" or unicodedata.combining(one) for one in plain)
    hyphens = not plain.startswith("-") and not plain.endswith("-") and "--" not in plain
    return letters and hyphens and plain == plain.lower() and 1 <= len(plain) <= MAX_NAME


def _composed(text: str) -> str:
    return unicodedata.normalize("NFC", text)


@dataclass(frozen=True)
class File:
    """A file of a skill: its entry (None for the SKILL.md of a dynamic skill), and the answer to its read."""

    skill: Skill
    uri: str
    entry: Value | None
    reply: Reply

    @property
    def contents(self) -> Value | None:
        """The contents of the file: those with its URI, or the only ones."""
        found = self.reply.value.get("contents") if self.reply.value is not None else None
        each = [one for one in (found.each() if found is not None else ()) if one.is_a(dict)]
        named = [one for one in each if one.json.get("uri") == self.uri]
        return next(iter(named or (each if len(each) == 1 else [])), None)

    @property
    def data(self) -> bytes | None:
        """The bytes of the file, None if it was not read."""
        found = self.contents
        text, blob = (found.json.get(one) if found is not None else None for one in ("text", "blob"))
        if isinstance(text, str):
            return text.encode("utf-8", "surrogatepass")
        try:
            return b64decode(blob, validate=True) if isinstance(blob, str) else None
        except (Error, ValueError):
            return None

    @property
    def size(self) -> int:
        """The number of bytes that were read."""
        return len(self.data or b"")

    @property
    def digest(self) -> str:
        """The digest of the bytes that were read, as entries have it."""
        return f"sha256:{sha256(self.data or b'').hexdigest()}"

    @property
    def text(self) -> str:
        """The text that was read; what is not UTF-8 is replaced."""
        return (self.data or b"").decode("utf-8", "replace")

    @property
    def frontmatter(self) -> str | None:
        """The frontmatter of a SKILL.md, None if it begins with none."""
        return frontmatter(self.text)

    @property
    def is_main(self) -> bool:
        """Whether it is the SKILL.md of its skill."""
        return self.uri == self.skill.uri

    def claims(self, name: str) -> Any:
        """Return a member of its entry."""
        return self.entry.json.get(name) if self.entry is not None else None

    @property
    def fits(self) -> bool:
        """Whether its bytes have the digest and the size of its entry."""
        if self.data is None or self.entry is None:
            return True
        claimed = (self.claims("digest"), self.claims("size"))
        return claimed == (self.digest, self.size)


# The entries


@scenario
def skill_pages(server: Server) -> Listing:
    """Fetch the list of skills."""
    return fetch_list(server.session, LIST, "skills", _declaring(server))


def listed_skills(server: Server) -> list[Skill]:
    """Return the entries of the list that are objects; skip if there are none."""
    found = [Skill(one) for one in skill_pages(server).items if one.is_a(dict)]
    return require_some(found, skip=f"{LIST} has no entries")


@scenario
def fetched_skills(server: Server) -> tuple[tuple[Skill, Reply], ...]:
    """Fetch the first listed skills by their URIs; each with its entry in the list."""
    found = {one.uri: one for one in listed_skills(server) if one.uri}
    return tuple((one, _ask(server, GET, uri=uri)) for uri, one in list(found.items())[:MAX_SKILLS])


@scenario
def referred_skills(server: Server) -> tuple[tuple[str, Reply], ...]:
    """Fetch the skills to which the instructions refer, and which are not listed, if they can be read."""
    instructions = server.surface.result.get("instructions")
    text = instructions.json if instructions is not None and instructions.is_a(str) else ""
    listed = {one.json for one in members(skill_pages(server).items, "uri")}
    named = [uri for uri in dict.fromkeys(REFERRED.findall(text)) if uri not in listed][:MAX_SKILLS]
    read = [uri for uri in named if _read(server, Skill(Value({"uri": uri})), uri, None).frontmatter]
    return tuple((uri, _ask(server, GET, uri=uri)) for uri in read)


def fetched_entries(server: Server) -> list[Skill]:
    """Return the entries that ``skills/get`` gave, of listed skills and of others."""
    replies = [reply for _, reply in (*fetched_skills(server), *referred_skills(server))]
    found = members([reply.value for reply in replies if reply.value is not None], "skill")
    return [Skill(one) for one in found if one.is_a(dict)]


def all_entries(server: Server) -> list[Skill]:
    """Return the listed entries, and those fetched that are not listed; skip if there are none."""
    listed = [Skill(one) for one in skill_pages(server).items if one.is_a(dict)]
    known = {one.uri for one in listed}
    others = [one for one in fetched_entries(server) if one.uri not in known] if listed else []
    return require_some([*listed, *others], skip=f"{LIST} has no entries")


def fresh_entry(server: Server, uri: str) -> Skill | None:
    """Fetch the entry of a skill again, as the skill may have changed."""
    reply = _ask(server, GET, uri=uri)
    found = reply.value.get("skill") if reply.value is not None else None
    return Skill(found) if found is not None else None


def relisted(server: Server, uri: str) -> Skill | None:
    """Return the entry of a skill in a list that is fetched again, as the skill may have changed."""
    again = map(Skill, fetch_list(server.session, LIST, "skills", _declaring(server)).items)
    return next((one for one in again if one.uri == uri), None)


# The files


@scenario
def files(server: Server) -> tuple[File, ...]:
    """Read the SKILL.md of the first skills, and some of their other files.

    One whose bytes are not those of its entry is read again, with a new entry: it may have changed meanwhile.
    """
    skills = [one for one in all_entries(server) if one.root][:MAX_SKILLS]
    wanted = [(one, one.uri, _entry_of(one, one.uri)) for one in skills]
    wanted += [(one, uri, _entry_of(one, uri)) for one in skills for uri in _others(one)]
    found: dict[str, File] = {}
    left = MAX_BYTES
    for skill, uri, entry in wanted:
        size = entry.json.get("size") if entry is not None else 0
        size = size if isinstance(size, int) else 0
        if uri in found or size > min(left, MAX_FILE_BYTES) or len(found) >= MAX_SKILLS + MAX_FILES:
            continue
        left -= size
        found[uri] = file = _settled(server, _read(server, skill, uri, entry))
        if file.reply.fault is not None:
            break
    return tuple(found.values())


def read_files(server: Server) -> list[File]:
    """Return the files that were read; skip if none were."""
    found = [one for one in files(server) if one.data is not None]
    return require_some(found, skip="no file of a skill could be read")


def main_files(server: Server) -> list[File]:
    """Return each SKILL.md that was read; skip if none was."""
    found = [one for one in files(server) if one.is_main and one.data is not None]
    return require_some(found, skip="no SKILL.md could be read")


@scenario
def unknown_file(server: Server) -> Reply:
    """Read a file that no skill has, in the folder of one."""
    return _ask(
        server, "resources/read", uri=f"{rooted_skills(server)[0].root}/no-such-file-of-conformance.md"
    )


@scenario
def other_unknown_file(server: Server) -> Reply:
    """Read a resource that does not exist, of no skill."""
    return _ask(server, "resources/read", uri="conformance://no-such-resource")


def rooted_skills(server: Server) -> list[Skill]:
    """Return the listed skills whose URIs are those of a SKILL.md; skip if there are none."""
    found = [one for one in listed_skills(server) if one.root]
    return require_some(found, skip="no entry has the URI of a SKILL.md")


@scenario
def unknown_skill(server: Server) -> Reply:
    """Fetch a skill that does not exist, beside one that does."""
    root = rooted_skills(server)[0].root
    return _ask(server, GET, uri=f"{root.rpartition('/')[0]}/no-such-skill-of-conformance{MAIN}")


@scenario
def supporting_file_as_skill(server: Server) -> Reply:
    """Fetch a supporting file as if it were a skill."""
    others = [uri for one in rooted_skills(server) for uri in _others(one) if not uri.endswith(MAIN)]
    return _ask(server, GET, uri=require_some(others, skip="no skill lists a supporting file")[0])


def _settled(server: Server, file: File) -> File:
    if file.fits or file.reply.fault is not None:
        return file
    again = fresh_entry(server, file.skill.uri)
    if again is None or again.is_dynamic:
        return file
    return _read(server, again, file.uri, _entry_of(again, file.uri))


def _read(server: Server, skill: Skill, uri: str, entry: Value | None) -> File:
    return File(skill, uri, entry, _ask(server, "resources/read", uri=uri))


def _entry_of(skill: Skill, uri: str) -> Value | None:
    return next((one for one in skill.files if one.json.get("uri") == uri), None)


def _others(skill: Skill) -> list[str]:
    return [uri for uri in skill.file_uris if uri != skill.uri and skill.has_inside(uri)]


# The folders


@dataclass(frozen=True)
class Directory:
    """A folder: its URI, what the entry of a skill says of it, and its list.

    ``children`` are the URIs of files and folders directly in it; None if the skill is dynamic.
    """

    uri: str
    skill: Skill
    children: frozenset[str] | None
    listing: Listing

    @property
    def resources(self) -> list[Value]:
        """What the list says of each child."""
        return [one for one in self.listing.items if one.is_a(dict)]

    @property
    def uris(self) -> list[str]:
        """The URIs of the children in the list."""
        return [one.json for one in members(self.resources, "uri") if one.is_a(str)]

    @property
    def is_root(self) -> bool:
        """Whether it is the folder of its skill."""
        return self.uri == self.skill.root


@scenario
def directories(server: Server) -> tuple[Directory, ...]:
    """Read the folders of the first skills."""
    found: dict[str, Directory] = {}
    for skill in rooted_skills(server)[:MAX_SKILLS]:
        for uri in _folders(skill):
            if uri in found or len(found) >= MAX_FOLDERS:
                continue
            params = {"uri": uri, **_declaring(server)}
            listing = fetch_list(server.session, DIRECTORY, "resources", params)
            found[uri] = Directory(uri, skill, _children(skill, uri), listing)
    return tuple(found.values())


def read_directories(server: Server) -> list[Directory]:
    """Return the folders whose lists came to their end; skip if there are none."""
    found = [one for one in directories(server) if one.listing.is_complete]
    return require_some(found, skip="no folder of a skill could be read")


@scenario
def file_as_directory(server: Server) -> Reply:
    """Read a SKILL.md as if it were a folder."""
    return _ask(server, DIRECTORY, uri=rooted_skills(server)[0].uri)


@scenario
def unknown_directory(server: Server) -> Reply:
    """Read a folder that does not exist, in a skill."""
    return _ask(server, DIRECTORY, uri=f"{rooted_skills(server)[0].root}/no-such-folder-of-conformance")


def _folders(skill: Skill) -> Iterator[str]:
    """Yield the URIs of a skill's folder and of those in it, the outer ones first."""
    yield skill.root
    inner = {
        uri[:at] for uri in _others(skill) for at in range(len(skill.root) + 1, len(uri)) if uri[at] == "/"
    }
    yield from sorted(inner)


def _children(skill: Skill, folder: str) -> frozenset[str] | None:
    if skill.is_dynamic:
        return None
    inside = (uri for uri in skill.file_uris if uri.startswith(f"{folder}/"))
    return frozenset(f"{folder}/{uri[len(folder) + 1 :].partition('/')[0]}" for uri in inside)


# Resources in other lists


def listed_resources(server: Server) -> list[Value]:
    """Return what ``resources/list`` and the lists of folders say of resources."""
    listed = server.listed("resources/list")
    reads = server.declares("extensions", EXTENSION, "directoryRead")
    known = skill_pages(server).items if reads else []
    folders = directories(server) if any(Skill(one).root for one in known) else ()
    return [*listed, *(one for folder in folders for one in folder.resources)]


def main_resources(server: Server) -> list[tuple[Skill, Value]]:
    """Return what lists say of the SKILL.md of each listed skill; skip if they say nothing."""
    known = {one.uri: one for one in rooted_skills(server)}
    found = [(one.get("uri"), one) for one in listed_resources(server)]
    named = [(known[uri.json], one) for uri, one in found if uri is not None and uri.json in known]
    return require_some(named, skip="no list has the SKILL.md of a skill")


# Requests


def _ask(server: Server, method: str, **params: Any) -> Reply:
    return server.session.request(method, {**params, **_declaring(server)})


def _declaring(server: Server) -> dict[str, Any]:
    """Return the params that declare the extension where each request does that."""
    return {"_meta": DECLARED} if server.session.is_modern else {}


def require_page(server: Server) -> list[Value]:
    """Return the results of ``skills/list``; skip if there are none."""
    found = [one.value for one in skill_pages(server).replies if one.value is not None]
    if not found:
        skip(f"{LIST} gave no result")
    return found
