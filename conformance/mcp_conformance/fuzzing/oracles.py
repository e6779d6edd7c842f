"""Judge answers to fuzzed values: one oracle for each kind of values."""

from __future__ import annotations

import json
import re
from binascii import crc32
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from mcp_conformance import remedies
from mcp_conformance.client.exceptions import is_unexpected, validator_error
from mcp_conformance.client.refusals import (
    NO_NETWORK,
    asks_client,
    complaint_about_files,
    complaint_about_network,
    fails_alike,
    refuses_in_words,
    words,
)
from mcp_conformance.client.reply import Closed, Reply, Unanswered
from mcp_conformance.client.session import Session
from mcp_conformance.client.thrown import INTERNAL_ERROR, thrown, with_log
from mcp_conformance.client.tool_call import Tool
from mcp_conformance.generation import Invalid
from mcp_conformance.generation.special import is_readable
from mcp_conformance.json_schema.validation import Unjudgeable, has_certain_formats, instance_errors
from mcp_conformance.outcome import Defect
from mcp_conformance.protocol.content import embeds, has_data, has_text, has_uri_and_name, is_base64
from mcp_conformance.protocol.jsonrpc import NOT_JSON, Line, show
from mcp_conformance.protocol.revisions import content_types, has_content, is_modern
from mcp_conformance.target.unanswered import NOT_FATAL
from mcp_conformance.verdicts import NOT_JSON_RULE, Finding, transport_of
from mcp_conformance.world.refusals.existence import MISSING
from mcp_conformance.world.success import leaves_of, says_failure
from mcp_conformance.world.wording import MARK, said

ANSWERED = "jsonrpc.response-every-request"
VALIDATED = "tools.call.inputs-validated"
CHANNEL = "tools.call.invalid-arguments-channel"
THROWS = "tools.call.no-exception"
BLOCKS: Mapping[Any, tuple[str, Callable[[Any], bool], str]] = {
    "text": ("content.text.text-string", has_text, "a string in text"),
    "image": ("content.image.fields", has_data, "strings in data and mimeType"),
    "audio": ("content.audio.fields", has_data, "strings in data and mimeType"),
    "resource_link": ("content.resource-link.fields", has_uri_and_name, "strings in uri and name"),
    "resource": ("content.embedded.fields", embeds, "an object resource with uri, and text or blob"),
}
"""The rule of each type of content blocks."""


@dataclass(frozen=True)
class Failure:
    """A wrong answer: the rule it breaks, what the rule expects, and its ``kind``.

    Failures of one ``kind`` count as the same failure.  ``advisory``, ``tool_bug`` and ``is_proven`` are
    those of a `mcp_conformance.verdicts.Finding`; ``got`` is what came if that is more than the answer,
    ``stderr`` what shows it there.  ``defect`` and ``fix`` are the finding's, if not those of its rule.
    """

    requirement: str
    expected: str
    kind: str
    advisory: bool = False
    tool_bug: bool = False
    is_proven: bool = False
    got: str = ""
    stderr: str = ""
    defect: Defect | None = None
    fix: str = ""

    def finding(self, got: str, lines: Sequence[Line], transcripts: Sequence[Path] = ()) -> Finding:
        """Return the finding that the failure is."""
        return Finding(
            self.expected,
            got,
            lines,
            self.requirement,
            advisory=self.advisory,
            tool_bug=self.tool_bug,
            is_proven=self.is_proven,
            stderr=self.stderr,
            transcripts=transcripts,
            defect=self.defect,
            fix=self.fix,
        )


Oracle = Callable[[Reply], Failure | None]
"""Returns the failure that an answer shows, None if it is right."""


@dataclass(frozen=True)
class Case:
    """A value to try, as JSON text, and the oracle for its answer.

    ``name`` describes a value that is too long to show; ``wrong`` is what was made invalid in it; ``seed`` is
    the one it was made from, if it was.  No answer to a ``hostile`` value is a `Finding` and not `Blocked`,
    unless the process ends.  The arguments of a ``valid`` case may be refused, but cause no exception.
    """

    text: bytes
    oracle: Oracle = field(repr=False)
    name: str = ""
    wrong: Invalid | None = field(default=None, repr=False)
    hostile: bool = False
    seed: int | None = field(default=None, repr=False)
    valid: bool = False

    def with_log(self, session: Session, reply: Reply) -> Reply:
        """Return the answer to the case, which was sent alone, with all that its oracle judges."""
        return with_log(session, reply) if self.valid else reply


def answers(reply: Reply) -> Failure | None:
    """Judge the answer to any request: one must come, or the status of a refusal over HTTP."""
    if isinstance(reply.fault, Closed):
        return Failure(
            ANSWERED, "an answer", f"dies {reply.fault.exit_code} {_last_words(reply.fault.stderr)}"
        )
    is_refused = isinstance(reply.fault, Unanswered) and reply.fault.is_refusal
    return None if reply.fault is None or is_refused else Failure(ANSWERED, "an answer", "never answers")


def _last_words(stderr: str) -> str:
    """Return the exception in the last line of stderr, else what that line is without parts that vary."""
    lines = stderr.strip().splitlines() or [""]
    exception = re.match(r"[\w.]+(Error|Exception)\b", lines[-1])
    return exception[0] if exception else _digest(re.sub(r"0x[0-9a-fA-F]+", "_", lines[-1]))


def _digest(text: str) -> str:
    """Return what stands for a text of the server's in a kind: values, numbers and quoted texts vary.

    A kind is a part of a file's name, where a credential in pieces could not be found.
    """
    plain = re.sub(r"'[^']*'|\"[^\"]*\"|-?\d+(\.\d+)?", "_", text)
    return f"{crc32(plain.encode('utf-8', 'surrogatepass')):08x}" if plain else ""


def has_array(requirement: str, *path: str) -> Oracle:
    """Return the oracle of a request that may be refused: a result must have an array at ``path``.

    One that requires input has none yet.
    """

    def oracle(reply: Reply) -> Failure | None:
        if reply.value is None or reply.needs_input:
            return answers(reply)
        array = reply.value.get(*path)
        if array is not None and array.is_a(list):
            return None
        name = ".".join(path)
        return Failure(requirement, f"an array in {name}", f"no array in {name}")

    return oracle


# Tools -------------------------------------------------------------------------------------------


def accepts_valid(tool: Tool, revision: str, reply: Reply, *, refuses_so: bool = False) -> Failure | None:
    """Judge the answer to valid arguments: a tool result of the right shape, as its schema says.

    ``refuses_so`` is as for `defect_of_error`.
    """
    failure = answers(reply) or _no_number(reply)
    if failure is not None and isinstance(reply.fault, Closed):
        return replace(failure, requirement=NOT_FATAL)
    if failure is not None or reply.fault is not None or asks_client(reply):
        return failure
    bug = tool_bug(tool, revision, reply)
    if bug is not None and bug.is_proven:
        return bug
    if reply.code == -32602:
        wrong = refuses_shape(tool, revision, reply)
        return Failure("tools.call.schema-honest", "a tool result", "error -32602") if wrong else None
    if reply.error is not None:
        id = "tools.call.execution-error-as-result"
        defect = defect_of_error(reply, refuses_so=refuses_so)
        refused = Failure(id, "a tool result", f"error {show(reply.code)}", defect=defect)
        return refused if is_readable(_arguments_of(reply)) else None
    failure = _type_failure(revision, reply.result) or _result_failure(tool, revision, reply.result)
    return failure or bug


FAILURE_AS_SUCCESS = Defect.MISLEADS
"""The defect of a result that says it failed, and does not report it."""


def defect_of_error(reply: Reply, *, refuses_so: bool = False) -> Defect | None:
    """Return the defect that an error after valid arguments shows by its code; a network may be missing.

    An error that says what does not exist refuses what it was given, in a way that no model gets to see; so
    does any error of a server that ``refuses_so``, with this code, what it has seen and named.
    """
    if reply.code != INTERNAL_ERROR or complaint_about_network(reply):
        return None
    text = said(reply)[0]
    is_refusal = refuses_so or complaint_about_files(reply) or MISSING.search(text) is not None
    is_refusal &= thrown(reply) is None and not is_unexpected(text)
    return Defect.MISLEADS if is_refusal else Defect.THROWS


def is_failure_as_success(reply: Reply) -> bool:
    """Return whether a result without isError says in its JSON that the call failed, and why."""
    return not reply.is_tool_error and says_failure(reply) and not NO_NETWORK.search(words(reply))


def refuses_shape(tool: Tool, revision: str, reply: Reply) -> bool:
    """Return whether error -32602 refuses arguments that its own schema allows.

    Not if it says that a thing they name does not exist: no schema has a list of those.
    """
    if reply.code != -32602 or not is_surely_valid(tool, revision, reply):
        return False
    text = said(reply)[0]
    given = [one for one in leaves_of(_arguments_of(reply)) if isinstance(one, str)]
    named = [one for one in given if len(one) > 1 and one in text]
    for one in named:
        text = text.replace(one, MARK)  # a blank name too is a word of the text
    is_blank = any(not one.strip() for one in given)  # and nobody sees whether an empty one is named
    return not ((named or is_blank) and MISSING.search(text))


def is_surely_valid(tool: Tool, revision: str, reply: Reply) -> bool:
    """Return whether the arguments of a call have the formats that the schema gives them, for certain.

    A schema may name a format that no other reader knows, and a tool may demand it.  Nor does a reader have
    to read each integer.
    """
    return is_readable(_arguments_of(reply)) and has_certain_formats(
        _arguments_of(reply), tool.input_schema, revision
    )


def _arguments_of(reply: Reply) -> Any:
    return json.loads(reply.request.raw)["params"].get("arguments", {})


def _no_number(reply: Reply) -> Failure | None:
    """Return the failure of an answer with NaN or an infinity; the log of a long session may have lost it."""
    constants = NOT_JSON.intersection(reply.line.oddities) if reply.line is not None else set()
    what = "JSON-RPC messages only"
    if not constants or reply.line is None:
        return None
    rule, fix = NOT_JSON_RULE[transport_of(reply.line)], remedies.of_oddities(constants)
    return Failure(rule, what, f"{min(constants)} in an answer", fix=fix)


def _type_failure(revision: str, result: Any) -> Failure | None:
    """Judge the type of a modern result to a client without extensions."""
    if not isinstance(result, dict) or not is_modern(revision):
        return None
    if "resultType" not in result:
        return Failure("result.result-type-present", "a member resultType", "no resultType")
    if result["resultType"] in ("complete", "input_required"):
        return None
    type = show(result["resultType"], 40)
    return Failure("result.result-type-known", "complete or input_required", f"resultType {type}")


def _result_failure(tool: Tool, revision: str, result: Any) -> Failure | None:
    if not isinstance(result, dict) or not has_content(revision):
        return None
    content = result.get("content")
    if not isinstance(content, list):
        return Failure("tools.call.result-content-array", "an array in content", "no content")
    unknown = _unknown_types(content, revision)
    if unknown:
        return Failure("tools.call.content-known-type", "known content types", f"content {unknown}")
    if not isinstance(result.get("isError", False), bool):
        return Failure("tools.call.is-error-boolean", "true or false in isError", "isError")
    if failure := next(filter(None, map(_block_failure, content)), None):
        return failure
    return _structured_failure(tool, revision, result)


def tool_bug(tool: Tool, revision: str, reply: Reply) -> Failure | None:
    """Judge a tool error after valid arguments: it is a refusal in words, or a failure of something else."""
    if found := thrown(reply):
        return Failure(
            *(THROWS, "a result, or a refusal in words", found.kind),
            tool_bug=True,
            is_proven=found.is_proven,
            got=str(found),
            stderr=found.excerpt,
        )
    if validator_error(reply) and is_surely_valid(tool, revision, reply):
        expected = "a schema that allows no more than the tool accepts"
        return Failure("tools.call.schema-honest", expected, "a validator refuses", tool_bug=True)
    return None


def _unknown_types(content: list[Any], revision: str) -> str:
    """Return the types of content blocks that the revision does not have; empty if there are none."""
    types = [block.get("type") if isinstance(block, dict) else None for block in content]
    known = tuple(content_types(revision))
    return ", ".join(sorted({show(type) for type in types if type not in known}))


def _block_failure(block: Any) -> Failure | None:
    """Judge a content block of a known type."""
    type = block["type"]
    rule, holds, expected = BLOCKS[type]
    if not holds(block):
        return Failure(rule, expected, f"{type} without {expected}")
    if type in ("image", "audio") and not is_base64(block["data"]):
        return Failure(f"content.{type}.base64", "base64 in data", f"{type} that is not base64")
    return None


def _structured_failure(tool: Tool, revision: str, result: dict[str, Any]) -> Failure | None:
    """Judge structured content: a result must have it, an error may leave it out."""
    schema, is_error = tool.output_schema, result.get("isError", False)
    if schema is None or revision < "2025-06-18":
        return None
    if "structuredContent" not in result:
        return (
            None
            if is_error
            else Failure("tools.structured.present", "structuredContent", "no structuredContent")
        )
    try:
        errors = instance_errors(result["structuredContent"], schema.json, revision)
    except Unjudgeable:
        return None
    if not errors:
        return None
    kind = f"breaks {_digest(errors[0])}"
    id = "tools.structured.error-conforms" if is_error else "tools.structured.conforms"
    return Failure(id, f"what the output schema says ({errors[0]})", kind)


def rejects_invalid(wrong: Invalid, usual: Reply, revision: str, reply: Reply) -> Failure | None:
    """Judge the answer to invalid arguments: a refusal, in the way that the revision requires.

    ``usual`` is the answer to valid arguments: a tool that fails with those alike can't be judged.
    A result that refuses in words accepts nothing, but does not report the refusal either; where a lenient
    reader may have repaired the value, it may refuse what came of that.
    """
    failure = answers(reply)
    if failure is not None or fails_alike(reply, usual):
        return failure
    if refuses_in_words(reply):
        if wrong.coercible or reply.result == usual.result:
            return None
        kind = "refuses in words"
        return Failure(CHANNEL, _channels(revision), kind, advisory=True, defect=Defect.MISLEADS)
    if reply.error is None and not reply.is_tool_error:
        kind = f"coerces {wrong.kind}" if wrong.coercible else f"accepts {fault_of(wrong)}"
        return Failure(VALIDATED, f"a refusal ({fault_of(wrong)})", kind, advisory=wrong.coercible)
    if _is_in_right_channel(revision, reply):
        failure = _type_failure(revision, reply.result)
        return None if failure == _type_failure(revision, usual.result) else failure
    return Failure(CHANNEL, _channels(revision), "wrong channel")


def _is_in_right_channel(revision: str, reply: Reply) -> bool:
    if revision == "2024-10-07":
        return reply.error is not None
    return reply.is_tool_error or (revision < "2025-11-25" and reply.code == -32602)


def _channels(revision: str) -> str:
    if revision == "2024-10-07":
        return "a JSON-RPC error"
    other = ", or error -32602" if revision < "2025-11-25" else ""
    return f"a tool result with isError true{other}"


def fault_of(wrong: Invalid) -> str:
    """Return what is wrong with invalid arguments, in a few words."""
    detail = f" {wrong.detail!r}" if wrong.detail else ""
    return f"{wrong.keyword}{detail} at {wrong.pointer or 'the root'}"


# Ignored or coerced ------------------------------------------------------------------------------


def grade(
    call: Callable[[Any], Reply], wrong: Invalid, accepted: Reply, is_valid: Callable[[Any], bool]
) -> str:
    """Return whether a tool ignored or coerced invalid arguments that it accepted; empty if unknown.

    The tool is called again without the invalid member, and with what a lenient reader makes of it; a tool
    that gives the same result in both cases, or another one each time, proves nothing.  Only a value that is
    valid in that place is one to coerce to.
    """
    path = [_key(word) for word in wrong.pointer.split("/")[1:]]
    path += [wrong.detail] if wrong.kind in ("additional", "name") else []
    try:
        inner = _at(wrong.arguments, path)
        without = _changed(wrong.arguments, path)
    except (LookupError, TypeError):  # the root, or a member that is missing
        return ""
    others = {
        show(value): _changed(wrong.arguments, path, value)
        for value in _coerced(inner)
        if not _alike(value, inner)
    }
    same = {text: arguments for text, arguments in others.items() if _same(call(arguments), accepted)}
    coerced = next((text for text, arguments in same.items() if is_valid(arguments)), None)
    if _same(call(without), accepted):
        is_ignored = coerced is None and len(same) < len(others)
        return "ignored: the result is the same without it" if is_ignored else ""
    return f"coerced: the result is the same as with {coerced}" if coerced is not None else ""


def _alike(one: Any, other: Any) -> bool:
    return type(one) is type(other) and bool(one == other)


def _same(one: Reply, other: Reply) -> bool:
    return one.fault is None and one.error is None and not one.is_tool_error and one.result == other.result


def _key(word: str) -> str | int:
    return int(word) if word.isdecimal() else word.replace("~1", "/").replace("~0", "~")


def _at(value: Any, path: list[Any]) -> Any:
    for key in path:
        value = value[str(key) if isinstance(value, dict) else key]
    return value


_REMOVED = object()


def _changed(value: Any, path: list[Any], new: Any = _REMOVED) -> Any:
    """Return a copy with ``new`` at ``path``, or without a value there."""
    copied = deepcopy(value)
    parent = _at(copied, path[:-1])
    key = str(path[-1]) if isinstance(parent, dict) else path[-1]
    if new is _REMOVED:
        del parent[key]
    else:
        parent[key] = new
    return copied


LENIENT_WORDS = (
    (True, ("true", "t", "yes", "y", "on", "1")),
    (False, ("false", "f", "no", "n", "off", "0")),
    (None, ("null", "none", "")),
)
"""The words that lenient readers, such as Pydantic's, take for a boolean, and those for null."""


def _coerced(value: Any) -> Iterator[Any]:
    """Yield what a lenient reader may make of a value."""
    if isinstance(value, str):
        yield from (meant for meant, words in LENIENT_WORDS if value.lower() in words)
        # Fifteen digits are exact in a float, so that no lenient reader changes them.
        if re.fullmatch(r"-?\d{1,15}", value):
            yield int(value)
        if re.fullmatch(r"-?\d+\.\d+", value):
            yield float(value)
    elif isinstance(value, bool):
        yield int(value)
        yield str(value).lower()
    elif isinstance(value, int | float):
        yield str(value)
        yield bool(value)
        yield int(value)
    elif isinstance(value, list) and len(value) == 1:
        yield value[0]
    if not isinstance(value, list | dict):
        yield [value]
