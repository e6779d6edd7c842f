"""Causes in the bytes on stdout: an answer that cannot be read as one message on one line."""

from __future__ import annotations

from mcp_conformance.doctor.diagnosis import Cause, Diagnosis, language
from mcp_conformance.doctor.observations import Observations, StartVariant, visible
from mcp_conformance.doctor.symptoms import TO_STDERR
from mcp_conformance.protocol.jsonrpc import Kind, Line, id_key, is_message, is_response, kind, show, torn

WITHOUT_MARK = "write UTF-8 without a byte order mark"


def content_length_headers(seen: Observations) -> Diagnosis | None:
    """Detect Content-Length headers before messages."""
    for attempt in (seen.main, seen.trials.get(StartVariant.HEADERS)):
        if attempt is not None and any(
            line.raw.lower().startswith(b"content-length:") for line in attempt.said
        ):
            advice = ("write each message on one line, as compact JSON and \\n; read lines the same way",)
            return Diagnosis(
                "The server frames messages with Content-Length headers, as language servers do.", advice
            )
    return None


def utf_16(seen: Observations) -> Diagnosis | None:
    """Detect UTF-16."""
    if seen.main.is_answered or not any(b"\0" in line.raw for line in seen.main.said):
        return None
    advice = {
        "python": "sys.stdout.reconfigure(encoding='utf-8') at the start, or PYTHONUTF8=1",
        "dotnet": "Console.OutputEncoding = new UTF8Encoding(false) at the start",
    }
    return Diagnosis(
        "The server writes UTF-16, and messages are UTF-8.", (advice.get(language(seen), WITHOUT_MARK),)
    )


def byte_order_mark(seen: Observations) -> Diagnosis | None:
    """Detect a byte order mark before a message."""
    marked = [line for line in seen.main.said if "byte order mark" in line.oddities]
    if not marked:
        return None
    advice = {"dotnet": "new UTF8Encoding(false) instead of Encoding.UTF8"}
    return Diagnosis(
        "The server writes a byte order mark before its first message, which many clients cannot read.",
        (advice.get(language(seen), WITHOUT_MARK),),
    )


def indented_json(seen: Observations) -> Diagnosis | None:
    """Detect JSON over several lines."""
    if seen.main.is_answered or not torn(seen.main.said):
        return None
    compact = {
        "python": "json.dumps(message) without indent",
        "node": "JSON.stringify(message) without its third argument",
    }
    return Diagnosis(
        "The answer is spread over several lines, and clients read each line as a message.",
        (f"write each message on one line: {compact.get(language(seen), 'JSON without line breaks')}",),
    )


def missing_line_end(seen: Observations) -> Diagnosis | None:
    """Detect a message without a line end."""
    attempt = seen.main
    if attempt.is_answered or not is_message(Line.received(attempt.unended).message):
        return None
    if attempt.unended.endswith(b"\r"):
        return Diagnosis(
            "The server ends its lines with \\r alone, and a message ends with \\n.",
            ("write \\n after each message",),
        )
    code = {
        "python": "sys.stdout.write(text + '\\n') and flush",
        "node": "process.stdout.write(text + '\\n')",
    }
    return Diagnosis(
        "The answer has no line end, so a client cannot know that it is complete.",
        (f"write \\n after each message: {code.get(language(seen), 'one for each')}",),
    )


def unfinished_message(seen: Observations) -> Diagnosis | None:
    """Detect a message that is not complete."""
    attempt = seen.first
    is_begun = attempt.unended.lstrip().startswith(b'{"') and attempt.late is None
    if attempt.is_answered or attempt.has_ended or not is_begun:
        return None
    return Diagnosis(
        f"The server began to write a message and did not finish it in time: {visible(attempt.unended, 100)}",
        ("write each message as a whole, with its line end, and flush",),
        is_sure=False,
    )


def echo(seen: Observations) -> Diagnosis | None:
    """Detect a program that sends our own line back."""
    asked = seen.main.asked
    if asked is None or asked.message not in list(seen.main.messages):
        return None
    return Diagnosis(
        "The program sends our own request back: it is not an MCP server.",
        ("name the server's own program after --",),
    )


def batch_answer(seen: Observations) -> Diagnosis | None:
    """Detect an answer in an array."""
    batches = [one for one in seen.main.messages if kind(one) is Kind.BATCH]
    if not any(is_response(part) for batch in batches for part in batch):
        return None
    advice = "write the response itself, not an array of it"
    return Diagnosis("The server answers a single request with an array.", (advice,))


def unreadable_request(seen: Observations) -> Diagnosis | None:
    """Detect an error without an id."""
    errors = [one for one in seen.main.messages if kind(one) is Kind.ERROR and one.get("id") is None]
    if seen.main.is_answered or not errors:
        return None
    error = show(errors[0].get("error"))
    return Diagnosis(
        f"The server could not read our request: it answers {error} without the id of the request.",
        ("read stdin line by line, as UTF-8, and pass each line to a JSON parser",),
        is_sure=False,
    )


def other_id(seen: Observations) -> Diagnosis | None:
    """Detect an answer with another id."""
    asked = seen.main.asked
    ids = [one.get("id") for one in seen.main.messages if is_response(one)]
    if seen.main.is_answered or asked is None or not ids:
        return None
    ours = asked.message["id"]
    same = "" if id_key(ids[0]) != id_key(str(ours)) else ", a string instead of a number"
    return Diagnosis(
        f"The server answers with the id {show(ids[0], 60)}{same}; the request has the id {show(ours)}.",
        ("return the id of the request unchanged, with its type",),
    )


def flood(seen: Observations) -> Diagnosis | None:
    """Detect more output than a client can read."""
    if not seen.main.is_flood:
        return None
    advice = TO_STDERR.get(language(seen), "write only messages to stdout")
    return Diagnosis("The server floods its stdout and answers nothing.", (advice,))


CAUSES: tuple[Cause, ...] = (
    content_length_headers,
    utf_16,
    byte_order_mark,
    indented_json,
    missing_line_end,
    unfinished_message,
    echo,
    batch_answer,
    unreadable_request,
    other_id,
    flood,
)


def has_unreadable_answer(seen: Observations) -> bool:
    """Return whether an answer came that a client cannot read."""
    readable = (byte_order_mark, flood)
    return any(cause(seen) is not None for cause in CAUSES if cause not in readable)
