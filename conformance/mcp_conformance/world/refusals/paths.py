"""Readers of what refusals say of paths: where they must be, that they are absolute, how they end."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePosixPath, PureWindowsPath

from mcp_conformance.world.clue import Clue
from mcp_conformance.world.known import Owner
from mcp_conformance.world.prose import PATH, URI
from mcp_conformance.world.refusals.lists import SEPARATOR
from mcp_conformance.world.refusals.refusal import Refusal, Sentence, any_of, quoted_in

INSIDE = any_of(
    r"\b(?:outside(?: of)?|not (?:in|inside|within|under)|must be (?:in|inside|within|under))\b",
    r"\b(?:in|within|inside) one of\b|\ballowed (?:director|folder|root|path)\w*|\bescapes\b",
)
NO_FILE = any_of(r"\bEISDIR\b|\bis a (?:directory|folder)\b|\bnot a (?:regular )?file\b")
NO_DIRECTORY = any_of(r"\bENOTDIR\b|\bis a (?:regular )?file\b|\bnot a (?:valid )?(?:directory|folder)\b")
ABSOLUTE = re.compile(r"\babsolute\b", re.IGNORECASE)
ENDING = re.compile(r"(?<![\w/\\.*-])\*?(\.[A-Za-z][A-Za-z0-9]{1,5})\b(?![/\\])")
SLASHED = re.compile(r"((?<![\w/\\])\.[A-Za-z]\w{1,5})/(?=\.[A-Za-z])")
"""``an .xlsx/.xlsm workbook``"""
SPEAKS_OF_ENDINGS = any_of(
    r"\bend(?:s|ing)? (?:with|in)\b|\bextensions?\b|\b(?:file|format|type)s?\b",
    r"\bonly\b|\bmust be\b|\bexpected\b|\bnot an? (?=\*?\.[a-z])|\((?:\*?\.[a-z0-9]{2,5}(?:, |\)))+",
)
EXAMPLE = re.compile(
    r"\be\.?g\.?,?|\bfor example,?|\bsuch as\b|\bexamples?:|\blike (?=['\"`]|\S*\d)", re.IGNORECASE
)
MAX_ENDINGS = 4
MAX_EXAMPLES = 200
"""How many characters behind "e.g." and its like are read."""
NO_EXAMPLE = re.compile(r"[\w.#:/+@%*-]{1,60}")


def is_absolute(text: str) -> bool:
    """Return whether a text is an absolute path, of any system."""
    return text.startswith(("/", "~/", "\\\\")) or re.match(r"[A-Za-z]:[\\/]", text) is not None


def folders_to_be_inside(refusal: Refusal) -> Iterator[Clue]:
    """Yield the folders that a path must be inside: "is outside the allowed directory '/srv'"."""
    for sentence in refusal.sentences:
        said = INSIDE.search(sentence.text)
        after = [] if said is None else _paths(sentence.text[said.start() :])
        for folder in [one for one in after if not refusal.was_sent(one, ())]:
            for member in sentence.members or ("",):
                yield Clue("inside a folder", member, (folder,), inside=folder)


def resolved_paths(refusal: Refusal) -> Iterator[Clue]:
    """Yield the folder that a relative path of ours was found in: "no such file, open '/srv/example'"."""
    for sentence in refusal.sentences:
        for name, value in refusal.sent:
            if not isinstance(value, str) or not value or is_absolute(value):
                continue
            for path in _paths(sentence.text):
                folder = path.removesuffix(value).rstrip("/\\")
                if path != value and path.endswith((f"/{value}", f"\\{value}")) and folder:
                    yield Clue("resolved path", name, inside=folder)


def kinds(refusal: Refusal) -> Iterator[Clue]:
    """Yield what a path must be: a file where a directory was given, or the other way round."""
    for sentence in refusal.sentences:
        for pattern, kind in ((NO_FILE, "file"), (NO_DIRECTORY, "directory")):
            if pattern.search(sentence.text):
                for member in sentence.members or ("",):
                    yield Clue("kind of path", member, kind=kind)


def absolute_paths(refusal: Refusal) -> Iterator[Clue]:
    """Yield the members that must be absolute paths, with the ending of the example if there is one."""
    for sentence in refusal.sentences:
        if ABSOLUTE.search(sentence.text):
            endings = _endings_of_examples(sentence)
            for member in sentence.members or ("",):
                yield Clue("absolute path", member, is_absolute=True, ending=next(iter(endings), ""))


def endings(refusal: Refusal) -> Iterator[Clue]:
    """Yield the endings that the name of a file may have: "must end with .xlsx"."""
    for sentence in refusal.sentences:
        if not SPEAKS_OF_ENDINGS.search(sentence.text):
            continue
        sent = tuple(value.lower() for _, value in refusal.sent if isinstance(value, str))
        found = [one for one in endings_in(sentence.text) if not any(value.endswith(one) for value in sent)]
        for member in sentence.members or ("",):
            for ending in found[:MAX_ENDINGS]:
                yield Clue("ending", member, ending=ending)


def examples(refusal: Refusal) -> Iterator[Clue]:
    """Yield the values that a sentence gives as examples: words, or the ending of an absolute path."""
    for sentence in refusal.sentences:
        values = tuple(one for one in examples_in(sentence.text) if not refusal.was_sent(one, ()))
        for member in sentence.members or ("",):
            words = tuple(one for one in values if not is_absolute(one) and "://" not in one)
            if words:
                yield Clue("example", member, words, Owner.WORD)
            for ending in _endings_of_examples(sentence):
                yield Clue("example of a path", member, ending=ending)


def examples_in(text: str) -> list[str]:
    """Return the examples that a text gives after "e.g." and its like, quoted or a word."""
    found: list[str] = []
    for said in EXAMPLE.finditer(text):
        rest = text[said.end() : said.end() + MAX_EXAMPLES].lstrip(" :,")
        quoted = quoted_in(rest.split(". ")[0].split(")")[0])
        if quoted and rest[:1] in "'\"`\u2018\u201c(":
            found += quoted
        else:
            parts = SEPARATOR.split(re.split(r"[).;](?:\s|$)", rest)[0])[:4]
            found += [part for part in parts if NO_EXAMPLE.fullmatch(part.strip())]
    return list(dict.fromkeys(one.strip().rstrip(".") for one in found))


def endings_in(text: str) -> list[str]:
    """Return the endings of files that a text names, such as ``.xlsx``."""
    apart = SLASHED.sub(r"\1 ", text)
    return list(dict.fromkeys(one[1].lower() for one in ENDING.finditer(apart)))


def _endings_of_examples(sentence: Sentence) -> list[str]:
    paths = [one for one in examples_in(sentence.text) if is_absolute(one)]
    return list(dict.fromkeys(suffix for one in paths if (suffix := ending_of(one))))


def ending_of(path: str) -> str:
    """Return the ending of the name at the end of a path of any system; empty if it has none."""
    return PureWindowsPath(path).suffix if "\\" in path else PurePosixPath(path).suffix


def _paths(text: str) -> list[str]:
    """Return the absolute paths in a text: the quoted ones, then the bare ones."""
    quoted = [one for one in quoted_in(text) if is_absolute(one)]
    bare = [one[0].rstrip(".") for one in PATH.finditer(URI.sub(" ", text))]
    return list(dict.fromkeys((*quoted, *(one for one in bare if not any(one in whole for whole in quoted)))))
