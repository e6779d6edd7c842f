"""Readers of which members are missing, and which are too many."""

from __future__ import annotations

import re
from collections.abc import Iterator

from mcp_conformance.world.clue import Clue
from mcp_conformance.world.known import Owner
from mcp_conformance.world.prose import scalar
from mcp_conformance.world.refusals.refusal import MIN_BARE, Refusal, any_of

ANOTHER_VALUE = "another value"
"""The reader of members that a refusal asks to change."""
WORD = r"['\"`]?([A-Za-z_][\w.-]*)['\"`]?"
NOUN = r"(?:parameter|argument|field|property|member|option|key)s?"
KIND = rf"(?:(?:the|a|an|value for|required|mandatory) )*(?:{NOUN} ?:? ?)?"
NEEDED = (
    any_of(rf"\bmissing (?:required )?{KIND}{WORD}"),
    any_of(rf"{WORD} (?:{NOUN} )?(?:is|are)? ?(?:a )?(?:required|mandatory|missing)\b"),
    any_of(rf"^\W*{WORD}: (?:required|missing|field required|this field is required)\b"),
    any_of(rf"\b(?:give|provide|specify|supply|pass|include|set|needs?|requires?) {KIND}{WORD}"),
    any_of(rf"\bmust (?:have|include|contain|provide|specify|supply) {KIND}{WORD}"),
    any_of(rf"{WORD} must be (?:provided|specified|set|given|present|supplied)\b(?! to)"),
    any_of(rf"\brequired {NOUN}:? {WORD}"),
    any_of(rf"\b(?:needs|requires) \d(?: or \d)? {WORD}"),
)
AND = re.compile(rf",? and (?:an? |the )?{WORD}", re.IGNORECASE)
"""What else is needed: "needs an operator and minimum"."""
EITHER = any_of(
    rf"\b(?:either|one of|at least one of|any of)\b:? {WORD}(?: \([^)\n]*\))?(?:, {WORD})?,? or {WORD}"
)
"""``Pass either source (a block of data) or series``: each of them is tried."""
TOGETHER = any_of(
    r"\bboth\b|\bmutually exclusive\b|\bnot allowed with\b|\bonly one of\b|\btogether\b|\bsimultaneously\b",
    r"\bcan(?:not|'t) (?:be )?(?:combined?|used?|specif\w+|given)\b|\b(?:conflicts?|incompatible) with\b",
)
WRONG = "unexpected|unknown|unrecogni[sz]ed|unsupported|extra|additional|invalid"
UNWANTED = (
    any_of(rf"\b(?:{WRONG}) (?:{NOUN}) (?:name )?:? ?{WORD}"),
    any_of(rf"{WORD}: (?:{WRONG}) {NOUN}"),
    any_of(rf"{WORD} (?:{NOUN} )?(?:is|was|are) (?:unexpected|not (?:expected|permitted))"),
)
ONLY_FOR = any_of(
    r"^(?P<names>.{1,100}?) (?:(?:is|are) only (?:for|used|valid|allowed|supported|available)"
    r"|(?:does|do) not apply to|(?:is|are) not (?:used|allowed|supported|valid|applicable) (?:for|with|in))\b"
)
"""``options and source are only for list validation``"""
CHOOSE = "(?:choose|use|try|pick|pass|give|specify|select)"
ANOTHER = any_of(
    rf"\b{CHOOSE} (?:an? )?(?:another|different|other) [`'\"]?([A-Za-z_]\w*)",
    rf"\b{CHOOSE} an? [`'\"]([A-Za-z_]\w*)[`'\"] (?:outside|other|that)\b",
    r"\bor (?:an? )?(?:another|different|other) [`'\"]?([A-Za-z_]\w*)",
)
"""``Choose a `at` outside it, or another `sheet```"""
PASS = (
    any_of(r"\b(?:pass|set|use|with|specify|add) [`'\"]?([A-Za-z_]\w*)[`'\"]? ?[=:] ?([\w.'\"-]+)"),
    any_of(r"\bset [`'\"]?([A-Za-z_]\w*)[`'\"]? to ([\w.'\"-]+)"),
    any_of(rf"[`'\"]?\b([A-Za-z_][\w/]*)[`'\"]? (?:{NOUN} |flag )?must be (?:set to )?(true|false)\b"),
)
"""``Pass overwrite=true to replace it``, ``force flag must be set to true``"""


def members_needed(refusal: Refusal) -> Iterator[Clue]:
    """Yield the members that a refusal asks for, if the schema has them and the call did not send them."""
    for sentence in refusal.sentences:
        for pattern in NEEDED:
            for found in pattern.finditer(sentence.text):
                more = AND.match(sentence.text, found.end())
                for word, said in ((found[1], found[0]), *(((more[1], more[0]),) if more else ())):
                    name = refusal.named(word.rstrip("."))
                    is_clear = len(name) >= MIN_BARE or said[-1] in "'\"`"
                    if is_clear and name in refusal.members and not _is_sent(refusal, name):
                        yield Clue("member needed", name, needs=(name,))


def one_of_members(refusal: Refusal) -> Iterator[Clue]:
    """Yield each of several members of which a refusal asks for one."""
    for sentence in refusal.sentences:
        for found in EITHER.finditer(sentence.text):
            names = [refusal.named(one) for one in found.groups() if one]
            if any(_is_sent(refusal, name) for name in names):
                continue
            for name in names:
                if name in refusal.members:
                    yield Clue("one of several members", name, needs=(name,))


def members_together(refusal: Refusal) -> Iterator[Clue]:
    """Yield the members of which a refusal allows only one: each is left out once."""
    for sentence in refusal.sentences:
        if not TOGETHER.search(sentence.text):
            continue
        words = {refusal.named(one) for one in re.findall(r"[A-Za-z_][\w-]*", sentence.text)}
        sent = [name for name in refusal.members if name in words and _is_sent(refusal, name)]
        for name in reversed(sent) if len(sent) > 1 else ():
            yield Clue("members not together", name, without=(name,))


def members_unwanted(refusal: Refusal) -> Iterator[Clue]:
    """Yield the members that a refusal does not know."""
    for sentence in refusal.sentences:
        for pattern in UNWANTED:
            for found in pattern.finditer(sentence.text):
                name = refusal.named(found[1])
                if _is_sent(refusal, name):
                    yield Clue("member not wanted", name, without=(name,))
        if only := ONLY_FOR.search(sentence.text):
            for word in re.findall(r"[A-Za-z_][\w-]*", only["names"]):
                name = refusal.named(word)
                if name in refusal.members and _is_sent(refusal, name):
                    yield Clue("member not wanted here", name, without=(name,))


def members_to_change(refusal: Refusal) -> Iterator[Clue]:
    """Yield the members for which a refusal asks for another value, without saying which."""
    for sentence in refusal.sentences:
        for found in ANOTHER.finditer(sentence.text):
            name = refusal.named(next(filter(None, found.groups())))
            if name in refusal.members:
                yield Clue(ANOTHER_VALUE, name)


def assignments(refusal: Refusal) -> Iterator[Clue]:
    """Yield a value that a refusal recommends for a member: "Pass overwrite=true to replace it"."""
    for sentence in refusal.sentences:
        for found in (one for pattern in PASS for one in pattern.finditer(sentence.text)):
            for name in map(refusal.named, found[1].split("/")):
                if name in refusal.members:
                    value = scalar(found[2].strip(".'\"`"))
                    yield Clue("assignment", name, (value,), Owner.WORD, needs=(name,))


def _is_sent(refusal: Refusal, name: str) -> bool:
    return name in refusal.arguments or any(
        sent == name or sent.startswith(f"{name}.") for sent, _ in refusal.sent
    )
