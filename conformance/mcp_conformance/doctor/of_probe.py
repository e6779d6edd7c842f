"""Why no session opened, by what the probe saw: nothing is started again, and nothing is waited for again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from mcp_conformance.client.message_log import is_dropped
from mcp_conformance.client.reply import Closed, Flood, Silence
from mcp_conformance.client.session import Session
from mcp_conformance.doctor.attempts import MAX_LINES_KEPT, MAX_UNENDED_BYTES, TRIAL_SECONDS, StartAttempt
from mcp_conformance.doctor.causes import diagnose
from mcp_conformance.doctor.causes.exits import crash, silence
from mcp_conformance.doctor.observations import AttemptResult, Observations, StartVariant, withheld_variables
from mcp_conformance.doctor.program import find_program
from mcp_conformance.target.settings import Settings
from mcp_conformance.target.surface import START, ProbeFailure, Subject, Surface


def explained(subject: Subject) -> Subject:
    """Return the subject; the reason why it opened no session begins with the cause, and says what to do."""
    if subject.live or not any(one.name == START for each in subject.surfaces for one in each.failures):
        return subject
    return replace(subject, surfaces=tuple(_explained(subject, one) for one in subject.surfaces))


def _explained(subject: Subject, surface: Surface) -> Surface:
    """Return the surface; what broke a rule speaks for itself, what only blocks one gets its cause."""
    failures = tuple(
        _with_cause(subject, surface, one) if one.name == START and not one.expected else one
        for one in surface.failures
    )
    return replace(surface, failures=failures)


def _with_cause(subject: Subject, surface: Surface, failure: ProbeFailure) -> ProbeFailure:
    is_http = subject.settings.http is not None
    found = _of_http(subject, failure) if is_http else _of_process(subject, surface, failure)
    if found is None:
        return failure
    cause, advice = found
    reason = f"{cause.removesuffix('.')}; {failure.reason}"
    return replace(failure, reason=reason, fix="; or ".join(advice), hint="")


# Over stdio --------------------------------------------------------------------------------------


def _of_process(
    subject: Subject, surface: Surface, failure: ProbeFailure
) -> tuple[str, tuple[str, ...]] | None:
    """Return the cause and the advice that the doctor would give; None without a session to look at."""
    session = next((one for one in subject.ending if _has_opening(one, surface)), None)
    if session is None:
        return None
    settings = subject.settings
    seen = Observations(
        settings,
        find_program(settings),
        _attempt(settings, session, failure),
        withheld=withheld_variables(settings),
    )
    found = diagnose(seen)
    if found == silence(seen):
        # A server that waits for headers is as silent as any other; its answer to them takes no whole start.
        headers = StartAttempt(settings, StartVariant.HEADERS, min(TRIAL_SECONDS, settings.start_timeout))
        found = diagnose(seen.with_attempt(headers.run()))
    is_known = found.is_sure and found != crash(seen)
    return found.cause, found.advice if is_known else (*found.advice, *_more(settings))


def _more(settings: Settings) -> Iterator[str]:
    """Yield what the user may try when the cause is not certain."""
    if not settings.cwd:
        yield "it ran in a throwaway directory, --cwd . runs it here"
    yield "mcp-conformance doctor -- COMMAND tries further ways to start it"


def _has_opening(session: Session, surface: Surface) -> bool:
    return session.opening is not None and session.opening.lines == surface.opening


def _attempt(settings: Settings, session: Session, failure: ProbeFailure) -> AttemptResult:
    """Return what the probe saw of a process as the doctor sees one that it starts itself."""
    opening = session.opening
    assert opening is not None
    fault = opening.fault
    said = [line for line in session.lines if not line.sent]
    kept = [line for line in said[:MAX_LINES_KEPT] if not is_dropped(line)]
    unended = session.inbox.unended
    return AttemptResult(
        revision=session.revision,
        asked=opening.request,
        opening=opening,
        said=tuple(kept),
        left_out=len(said) - len(kept),
        unended=unended.raw[:MAX_UNENDED_BYTES] if unended is not None else session.process.unended,
        stderr=failure.stderr or session.process.stderr,
        seconds=settings.start_timeout if isinstance(fault, Silence) else 0.0,
        exit_code=fault.exit_code if isinstance(fault, Closed) else None,
        is_closed=isinstance(fault, Closed),
        is_flood=isinstance(fault, Flood),
        ports=failure.ports,
    )


# Over HTTP ---------------------------------------------------------------------------------------


def _of_http(subject: Subject, failure: ProbeFailure) -> tuple[str, tuple[str, ...]] | None:
    """Return the cause and the advice for a server over HTTP, which is asked once more if it has answered."""
    from mcp_conformance.doctor import http  # noqa: PLC0415  (only a server over HTTP needs it)

    settings = subject.settings
    assert settings.http is not None
    if not failure.lines:
        seen = http.HttpObservations(settings.http.url, failure.reason, failure.stderr)
    elif failure.is_end or not failure.is_mute:
        seen = http.observe(settings)
    else:
        seen = http.HttpObservations(settings.http.url)
    cause, advice = http.cause(seen)
    return None if seen.is_open else (cause, (advice,))
