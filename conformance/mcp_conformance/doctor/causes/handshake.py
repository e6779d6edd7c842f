"""Causes between the first request and an open session, and the diagnosis of a healthy server."""

from __future__ import annotations

from pathlib import Path

from mcp_conformance.client.reply import Silence
from mcp_conformance.doctor.diagnosis import (
    Cause,
    Diagnosis,
    clean_stdout_advice,
    command_line,
    is_noisy,
    language,
    noise_sample,
    quoted_last_words,
)
from mcp_conformance.doctor.observations import PARTS_OF_HERE, AttemptResult, Observations, StartVariant
from mcp_conformance.doctor.symptoms import FLUSHED
from mcp_conformance.protocol import revisions
from mcp_conformance.protocol.jsonrpc import show
from mcp_conformance.protocol.text import named

# Another variant helps ---------------------------------------------------------------------------


def stateless_server(seen: Observations) -> Diagnosis | None:
    """Detect a server without a handshake, which is right in 2026-07-28."""
    modern = seen.opened(StartVariant.MODERN)
    if modern is None:
        return None
    cause = f"The server is healthy: it is stateless ({modern.revision}) and has no initialize."
    fine = Diagnosis(cause, (command_line(seen, "run"),), is_healthy=True)
    return _oversized_list(seen, modern) or _failed_list(seen, modern) or _noise(seen, modern) or fine


def needs_environment(seen: Observations) -> Diagnosis | None:
    """Detect a server that starts in the user's environment, and not in the throwaway folder."""
    here = seen.here
    if here is None or not here.is_open or seen.first.is_open:
        return None
    parts = [one for one in PARTS_OF_HERE if seen.is_withheld(one)]
    enough = seen.opened(*parts)
    variant = enough.variant if enough is not None else parts[0] if len(parts) == 1 else StartVariant.HERE
    options, need = seen.options(variant), NEEDS[variant]
    advice = (f"it starts with {' '.join(options)}:", command_line(seen, "run", *options))
    return Diagnosis(f"The server needs {need}{quoted_last_words(seen.first)}.", advice)


NEEDS = {
    StartVariant.DIRECTORY: "its project directory, and was started in a throwaway directory",
    StartVariant.HOME: "your home directory, and got a throwaway one",
    StartVariant.CREDENTIALS: "a credential of your environment, which was withheld from it",
    StartVariant.HERE: "your own directory, home and environment, and got throwaway ones",
}


def carriage_returns_only(seen: Observations) -> Diagnosis | None:
    r"""Detect a server that answers only when the line ends with \r\n."""
    if seen.opened(StartVariant.CARRIAGE) is None:
        return None
    advice = ("end a line at \\n, and treat a \\r before it as white space",)
    return Diagnosis("The server reads only lines that end with \\r\\n; clients end theirs with \\n.", advice)


def buffered_answer(seen: Observations) -> Diagnosis | None:
    """Detect an answer that comes only when the process ends."""
    if seen.first.late is None:
        return None
    advice = FLUSHED.get(language(seen), "flush stdout after each message")
    if seen.opened(StartVariant.UNBUFFERED) is not None:
        cause = (
            "The answer stays in a buffer until the process ends; with PYTHONUNBUFFERED=1 it comes at once."
        )
        return Diagnosis(cause, (advice, command_line(seen, "run", "--env", "PYTHONUNBUFFERED=1")))
    cause = (
        "The answer came only when stdin was closed: it stays in a buffer, or the server reads stdin to its "
        "end first."
    )
    return Diagnosis(cause, (advice, "read stdin line by line, not as a whole"), is_sure=False)


# The answer does not open a session --------------------------------------------------------------


def slow_start(seen: Observations) -> Diagnosis | None:
    """Detect an answer that came too late."""
    opening, limit = seen.main.opening, seen.settings.start_timeout
    if not seen.main.is_open or opening is None or opening.line is None or opening.line.at <= limit:
        return None
    needed = str(round(2 * opening.line.at))
    advice = (command_line(seen, "run", "--start-timeout", needed), *_reuse_installation(seen))
    seconds = f"{opening.line.at:.1f} s"
    return Diagnosis(
        f"The server starts, but answers only {seconds} after its start (--start-timeout is {limit:g} s).",
        (*advice, "or answer first, and load everything else later"),
    )


def _reuse_installation(seen: Observations) -> tuple[str, ...]:
    """Return advice for a launcher that installs the server again for each throwaway home."""
    is_launcher = Path(seen.command[0]).stem in ("npx", "bunx", "uvx", "uv", "pipx", "deno", "dnx")
    if not is_launcher or seen.settings.inherit_home:
        return ()
    command = command_line(seen, "run", "--inherit-home")
    return (f"it installs the server at each start: {command} reuses the installation",)


def other_versions(seen: Observations) -> Diagnosis | None:
    """Detect a server that refuses the version, and may name those it supports."""
    reply = seen.main.opening
    if reply is None or reply.error is None:
        return None
    data = reply.error.get("data") if isinstance(reply.error, dict) else None
    versions = data.get("supported") if isinstance(data, dict) else None
    says = f"{reply.code} {reply.error_message}".lower()
    if versions is None and "version" not in says:
        return None
    supports = f"; it supports {show(versions)}" if versions is not None else ""
    advice = ["answer initialize with a version that the server supports, instead of an error"]
    known = [one for one in revisions.KNOWN if isinstance(versions, list) and one in versions]
    if known:
        advice.insert(0, command_line(seen, "run", "--revision", known[-1]))
    return Diagnosis(
        f"The server refuses the version {seen.main.revision} ({reply}){supports}.", tuple(advice)
    )


def opening_error(seen: Observations) -> Diagnosis | None:
    """Detect any other error in answer to initialize."""
    reply = seen.main.opening
    if reply is None or reply.error is None:
        return None
    is_unknown = reply.code == -32601
    advice = "implement initialize" if is_unknown else "read the message, and stderr, for the reason"
    return Diagnosis(f"The server answers initialize with an error: {reply}.", (advice,))


def missing_version(seen: Observations) -> Diagnosis | None:
    """Detect a result without a known protocolVersion."""
    attempt = seen.main
    value = attempt.opening.value if attempt.opening is not None else None
    if value is None or revisions.is_modern(attempt.revision):
        return None
    version = value.get("protocolVersion")
    if version is not None and version.json in revisions.HANDSHAKE:
        return None
    got = "no protocolVersion" if version is None else f"the protocolVersion {show(version.json, 60)}"
    known = ", ".join(revisions.HANDSHAKE)
    return Diagnosis(
        f"The answer to initialize has {got}.",
        (f"answer with the version in the request, or the newest of {known} that the server supports",),
    )


def oversized_list(seen: Observations) -> Diagnosis | None:
    """Detect a list that is longer than the line limit."""
    return _oversized_list(seen, seen.main)


def _oversized_list(seen: Observations, attempt: AttemptResult) -> Diagnosis | None:
    reply = attempt.listed
    if reply is None or not isinstance(reply.fault, Silence) or not reply.fault.unread:
        return None
    what = reply.fault.unread.partition(" (")[0]
    return Diagnosis(
        f"The server starts, but its answer to {reply.method} is {what}.",
        (command_line(seen, "run", "--max-line", "100"), "clients are likely to reject it, too"),
    )


def failed_list(seen: Observations) -> Diagnosis | None:
    """Detect a server that opens the session and then does not answer."""
    return _failed_list(seen, seen.main)


def _failed_list(seen: Observations, attempt: AttemptResult) -> Diagnosis | None:
    reply = attempt.listed
    if not attempt.is_open or reply is None or reply.value is not None:
        return None
    how = "was not answered:" if reply.fault is not None else "was answered with"
    words = quoted_last_words(attempt) if reply.fault is not None else ""
    cause = f"The server starts, but then {reply.method} {how} {named(str(reply), 300)}{words}."
    if is_noisy(attempt):
        return Diagnosis(f"{cause} It also {_prints(attempt)}", _clean_stdout(seen))
    return Diagnosis(cause, (command_line(seen, "run"),))


def stdout_noise(seen: Observations) -> Diagnosis | None:
    """Detect a server that answers, and prints other things to stdout."""
    return _noise(seen, seen.main)


def _noise(seen: Observations, attempt: AttemptResult) -> Diagnosis | None:
    if not attempt.is_open or not is_noisy(attempt):
        return None
    return Diagnosis(f"The server starts and answers, but also {_prints(attempt)}", _clean_stdout(seen))


def _prints(attempt: AttemptResult) -> str:
    return f"prints text to stdout that is not a message: {noise_sample(attempt)}"


def _clean_stdout(seen: Observations) -> tuple[str, ...]:
    """Return how to keep stdout clean, and the next command."""
    return clean_stdout_advice(seen), f"then: {command_line(seen, 'run')}"


def healthy(seen: Observations) -> Diagnosis | None:
    """Detect a healthy server."""
    if not seen.main.is_open:
        return None
    return Diagnosis("The server is healthy.", (command_line(seen, "run"),), is_healthy=True)


CAUSES: tuple[Cause, ...] = (
    stateless_server,
    needs_environment,
    carriage_returns_only,
    buffered_answer,
    slow_start,
    other_versions,
    opening_error,
    missing_version,
    oversized_list,
    failed_list,
    stdout_noise,
    healthy,
)
