"""Records in a text that is not JSON: labelled lines, tables, lists, and ids within sentences."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from mcp_conformance.world.records import Record, parsed, records_in, varied
from mcp_conformance.world.wording import number_in

MAX_TEXT = 8000
"""The most characters of a text that are read for lines."""
MAX_LINE = 300
MAX_WORDS = 4
"""A name has no more words; what has more is a sentence."""
LABELLED = re.compile(r"[\s>*+-]*\**`?([A-Za-z][\w $#/()-]{0,38}?)`?\**\s*(?::|\s=)\**\s+(\S.*?)\s*")
"""``Key: value``, also as an item of a list and with the key in bold."""
BULLET = re.compile(r"\s*(?:[-*+•]|\d{1,3}[.)])\s+(.+?)\s*")
MARKED = re.compile(r"\s*\[([A-Za-z]{1,12})\]\s+(\S.*?)(?:\s{2,}.*)?\s*")
"""``[FILE] a.txt      6 B``: a list with the kind of each item."""
HEAD = re.compile(r"\*\*(.+?)\*\*|`(.+?)`|(.+?)(?:\s*[:(]|\s+[-\u2013\u2014]\s|$)")
"""What an item of a list is: the text in bold or in backticks, or the words before what explains it."""
COMMIT = re.compile(r"commit ([0-9a-f]{7,64})\b.*")
ID = re.compile(
    r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b"
    r"|\b(?=[0-9a-f]{0,40}\d)[0-9a-f]{7,64}\b|(?<![\w&/])#\d{1,9}\b",
    re.IGNORECASE,
)
"""A UUID, a hash, or a number after ``#``."""
NUMBERED = re.compile(
    r"(?:\b([A-Za-z]\w{0,30})[ _])?\b(id|ID|Id|number|key|no\.?|code)\b"
    r"(?: (?:is|was)(?: now)?:? ['\"`]?((?=[\w-]{0,63}\d)[\w-]{1,64})"
    r"|[ :=#'\"`]{1,4}(?!(?:is|was|of|for|in|to|and|not|has)\b)([\w-]{1,64}))"
)
"""``note ID: 12``, ``with id abc``, ``Your account number is A-12``."""
COUNTED = re.compile(r"\b([A-Za-z][a-z]{2,30}) ((?=[\w-]{0,63}\d)[\w-]{1,64})\b(?![.:/,]\d)")
"""``ticket 12``, ``Your comment c-7``"""
UNCOUNTED = frozenset(
    {
        *("about", "above", "after", "all", "and", "any", "are", "around", "before", "below", "between"),
        *("but", "chapter", "down", "for", "from", "get", "got", "has", "have", "into", "its", "last"),
        *("least", "line", "more", "most", "next", "not", "now", "only", "our", "over", "page", "part"),
        *("past", "set", "since", "step", "takes", "than", "that", "the", "these", "this", "those", "took"),
        *("total", "under", "until", "version", "was", "were", "which", "with", "within", "year"),
        *("january", "february", "march", "april", "may", "june", "july", "august", "september", "october"),
        *("november", "december"),
    }
)
"""Words before a number that does not name a thing."""
FILLERS = frozenset(
    {
        *("a", "an", "and", "assigned", "by", "has", "its", "new", "of", "s", "the", "their", "under"),
        *("unique", "with", "your"),
    }
)
"""Words before an id that do not say of what it is."""
QUOTED = re.compile(r"(?<!\w)'([^'\n]{1,100})'(?!\w)|\"([^\"\n]{1,100})\"|`([^`\n]{1,100})`")
PATH = re.compile(r"(?<![\w.:/])(?:/(?:[\w.+@-]+/)*[\w.+@-]+|[A-Z]:\\(?:[\w.+@ -]+\\)*[\w.+@-]+)")
URI = re.compile(r"\b[a-z][a-z\d+.-]{1,20}://[^\s'\"`<>()\[\]{},;]+", re.IGNORECASE)
BARE = re.compile(r"[^\s:,;]{1,120}|[\w./-]+(?: [\w./-]+){1,3}")
"""A line that is one value: a word without a comma; in a list also a few words."""
FILE = re.compile(r"(?<![\w./\\-])[\w-]{1,80}\.[A-Za-z][A-Za-z0-9]{1,4}\b(?![\w./\\(])")
"""The name of a file within a sentence."""
SEPARATOR = re.compile(r"\s*\|?(?:\s*:?-{2,}:?\s*\|)+\s*:?-*:?\s*\|?\s*")
DIFF = re.compile(r"(?:[-+]{3} |@@ |[-+](?![-+ ])|diff |index |Index: |={5})")
"""A line of a diff, which is a part of a file."""


def records_of_text(text: str) -> Iterator[Record]:
    """Yield the records of a text: JSON if it is or contains that, else those of its lines."""
    value = parsed(text)
    if value is None:
        value = parsed(_fenced(text))
    if value is not None:
        yield from records_in(value)
        return
    for block in re.split(r"\n\s*\n", text[:MAX_TEXT]):
        yield from _of_block([line[:MAX_LINE] for line in block.splitlines() if line.strip()])


def scalar(text: str) -> Any:
    """Return the number or the boolean that a text is, without quotes; else the text."""
    text = text.strip().strip("*").strip("`")
    if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"":
        return text[1:-1]
    number = number_in(text)
    return {"true": True, "false": False}.get(text.lower(), text) if number is None else number


def _fenced(text: str) -> str:
    """Return the first block between fences, or what begins with a bracket after a line of words."""
    fenced = re.search(r"```(?:json)?\s*\n(.*?)```", text, re.DOTALL)
    if fenced:
        return fenced[1]
    first, _, rest = text.partition("\n")
    return rest if len(first) < MAX_LINE and rest.lstrip().startswith(("{", "[")) else ""


def _of_block(lines: Sequence[str]) -> Iterator[Record]:
    """Yield the records of lines without an empty one between them."""
    if any(DIFF.match(line) for line in lines):
        return
    if any(map(SEPARATOR.fullmatch, lines)):
        yield from _of_table(lines)
        return
    fields: list[tuple[tuple[str, ...], Any]] = []
    items: list[Record] = []
    heading = ""
    for line in lines:
        labelled, commit = LABELLED.fullmatch(line), COMMIT.fullmatch(line)
        if commit:
            fields.append((("commit",), commit[1]))
        elif labelled and _is_label(line, labelled):
            fields.append(((labelled[1].strip(),), scalar(labelled[2])))
        elif line.rstrip().endswith(":"):
            heading = line.strip(" *#:")
        else:
            items.append(_item(line, heading, is_alone=len(lines) == 1))
        yield from _within(line)
    if fields:
        yield Record(tuple(fields), 2)
    by_value = {one.fields[0][1]: one for one in items if one.fields}
    yield from (by_value[value] for value in varied(list(by_value)))


def _is_label(line: str, labelled: re.Match[str]) -> bool:
    """Return whether what looks like ``Key: value`` is that.

    It may be a URI, a part of a sentence with brackets, or the item of a list that a sentence explains:
    ``- **alpha**: the first one``.
    """
    is_item = BULLET.fullmatch(line) is not None and len(labelled[2].split()) > MAX_WORDS
    return not is_item and not URI.match(line.strip()) and labelled[1].count("(") == labelled[1].count(")")


def _item(line: str, heading: str, *, is_alone: bool) -> Record:
    """Return the record of a line that is an item of a list, or one value; an empty one for a sentence."""
    keys = (heading,) if heading else ()
    marked, bullet = MARKED.fullmatch(line), BULLET.fullmatch(line)
    if marked:
        return Record((((marked[1].lower(), *keys), marked[2]),), 2)
    if bullet:
        head = HEAD.match(bullet[1])
        found = next((group for group in head.groups() if group), "") if head else ""
        return Record(((keys, scalar(found)),) if len(found.split()) <= MAX_WORDS else (), 1)
    is_value = BARE.fullmatch(line.strip()) is not None and not (is_alone and " " in line.strip())
    return Record(((keys, scalar(line)),) if is_value else (), 1)


def _of_table(lines: Sequence[str]) -> Iterator[Record]:
    """Yield the rows of a table in Markdown."""
    rows = [[cell.strip() for cell in line.strip().strip("|").split("|")] for line in lines if "|" in line]
    begin = next(
        (at for at, row in enumerate(rows) if all(re.fullmatch(r":?-{2,}:?", cell) for cell in row)), 0
    )
    header = rows[begin - 1] if begin else []
    for row in varied(rows[begin + 1 :]):
        cells = [
            ((key,), scalar(cell)) for key, cell in zip(header, row, strict=False) if cell not in ("", "-")
        ]
        if cells:
            yield Record(tuple(cells), 2)


def _within(line: str) -> Iterator[Record]:
    """Yield what a line names within a sentence: ids, quoted names, URIs and paths, as one record."""
    found: list[tuple[tuple[str, ...], Any]] = []
    found += [(_of_what(one[1], one[2]), scalar(one[3] or one[4])) for one in NUMBERED.finditer(line)]
    found += [
        ((f"{one[1]} id", "id"), scalar(one[2]))
        for one in COUNTED.finditer(line)
        if one[1].lower() not in UNCOUNTED and not NUMBERED.fullmatch(one[0])
    ]
    found += [(("id",), scalar(one[0].lstrip("#"))) for one in ID.finditer(line)]
    found += [
        ((_word_before(line, one.start()),), next(filter(None, one.groups())))
        for one in QUOTED.finditer(line)
    ]
    uris = [one[0].rstrip(".") for one in URI.finditer(line)]
    found += [(("uri",), one) for one in uris]
    found += [(("path",), one[0].rstrip(".")) for one in PATH.finditer(URI.sub(" ", line))]
    found += [(("file",), one[0]) for one in FILE.finditer(URI.sub(" ", line))]
    if found:
        yield Record(tuple(found), 1)


def _of_what(word: str | None, kind: str) -> tuple[str, ...]:
    """Return the keys of an id or a code by the word before: that of the ``note`` in ``note ID: 12``."""
    kind = "code" if kind == "code" else "id"
    return (kind,) if not word or word.lower() in FILLERS else (f"{word} {kind}", kind)


def _word_before(line: str, at: int) -> str:
    """Return the word before a place in a line: ``branch`` in ``Created branch 'b1'``."""
    before = re.findall(r"[A-Za-z_]\w*", line[max(0, at - 40) : at])
    return before[-1] if before else ""
