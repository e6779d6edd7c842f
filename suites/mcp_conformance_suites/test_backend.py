"""The API behind a server, with --backend: what its tools answer while the API is sick."""

from __future__ import annotations

import pytest

from mcp_conformance.expect import require, require_some, skip
from mcp_conformance.protocol.text import shorten
from mcp_conformance.scenarios.api_inventory import NO_API, inventory
from mcp_conformance.scenarios.sick_api import (
    MAX_REQUESTS,
    PAUSE_SECONDS,
    expect_no_treatment,
    failures,
    hurried,
    most_repeated,
    opened_alone,
    repeated_after_limit,
    treatments,
    unanswered,
)
from mcp_conformance.verdicts import Finding

pytestmark = pytest.mark.stage("late")
CHECKS_NOTHING = "NODE_TLS_REJECT_UNAUTHORIZED"


@pytest.mark.requirement("backend.failure-is-error")
def test_an_outage_of_the_api_is_not_told_as_a_success(server):
    """One call is sent again after its first success, with the answer held longer."""
    tried = failures(server)
    successes = [one for one in tried if one.is_success]
    well = inventory(server).calls
    expect_no_treatment(successes, "a result with isError: true", tried, well=well)


@pytest.mark.requirement("backend.failure-in-result")
def test_an_outage_of_the_api_is_not_a_protocol_error(server):
    tried = failures(server)
    errors = [one for one in tried if one.reply.error is not None]
    expect_no_treatment(errors, "a result with isError: true", tried)


@pytest.mark.requirement("backend.survives")
def test_no_sickness_of_the_api_ends_the_process(server):
    treated = require_some(treatments(server), skip=NO_API)
    ended = [one for one in treated if one.has_ended]
    expect_no_treatment(ended, "an answer, and a process that runs on", treated)


@pytest.mark.requirement("backend.answers")
def test_a_tool_answers_although_its_api_does_not(server):
    expect_no_treatment(unanswered(server), "an answer in time", inventory(server).judged)


@pytest.mark.requirement("backend.requests-bounded")
def test_a_call_does_not_repeat_a_request_without_end(server):
    for one in failures(server):
        if one.asked and (most := most_repeated(one))[1] > MAX_REQUESTS:
            got = f"{most[1]} times {most[0]} while the API {one.sickness.says}"
            expected = f"at most {MAX_REQUESTS} such requests in one call"
            raise Finding(expected, got, one.lines, tool=one.tool)


@pytest.mark.requirement("backend.retry-after")
def test_a_request_is_repeated_when_the_api_says(server):
    for one in repeated_after_limit(server):
        if (early := hurried(one)) is not None:
            got = f"{early[0]} again after {early[1]:.1f} s"
            expected = f"a pause of {PAUSE_SECONDS} s, as Retry-After says, or no further request"
            raise Finding(expected, got, one.lines, tool=one.tool)


@pytest.mark.requirement("backend.starts-alone")
def test_the_server_starts_while_no_host_answers(server):
    for reply in opened_alone(server):
        if reply.fault is not None:
            asked = sorted(map(str, {*inventory(server).start, *inventory(server).lists}))
            hosts = f"; while hosts answer it first asks {shorten(', '.join(asked), 200)}" if asked else ""
            got = f"{reply.method} is not answered while no other host answers: {reply.fault}{hosts}"
            raise Finding("an answer", got, reply.lines, fault=reply.fault)


@pytest.mark.requirement("backend.certificates")
def test_the_server_sends_nothing_to_an_authority_that_it_does_not_trust(server):
    if CHECKS_NOTHING in server.settings.env:
        skip(f"{CHECKS_NOTHING} is given")
    found = inventory(server)
    encrypted = [one for call in found.betrayed for one in call.contacts if one.is_encrypted]
    require_some(encrypted, skip="no tool that may be called asks a host over TLS")
    for call in found.betrayed:
        if arrived := [one for one in call.asked if one.is_encrypted]:
            got = f"{arrived[0]} arrived at a host with a certificate of an authority that nobody trusts"
            raise Finding("no request", got, call.lines, tool=call.tool)


@pytest.mark.requirement("backend.credential-encrypted")
def test_no_credential_is_sent_in_plain_text(server):
    found = inventory(server)
    require(next(iter(server.settings.redaction.of_names.hidden), None), skip="no credential was given")
    asked = [one for one in found.contacts if one.method and one.has_credential]
    require_some(asked, skip="no request has a credential that was given")
    if plain := [one for one in asked if not one.is_encrypted]:
        raise Finding(
            "TLS for a request with a credential", f"{plain[0]} with a credential that was given", ()
        )


@pytest.mark.requirement("backend.credential-stays")
def test_no_credential_follows_a_redirect_to_another_host(server):
    moved = [one for one in treatments(server) if one.sickness.name == "elsewhere"]
    followed = [one for one in moved if any(contact.is_elsewhere for contact in one.asked)]
    require_some(followed, skip="no request was redirected to another host and followed there")
    sent = [one for one in followed if any(contact.has_credential for contact in one.asked)]
    require_some(sent, skip="no request has a credential that was given")
    for one in sent:
        carried = [contact for contact in one.asked if contact.is_elsewhere and contact.has_credential]
        if carried:
            path = carried[0].path
            origins = [each.where for each in one.asked if each.path == path and not each.is_elsewhere]
            got = (
                f"{carried[0]} with a credential that was given, after a redirect by {', '.join(origins[:1])}"
            )
            raise Finding("no credential in a request to another host", got, one.lines, tool=one.tool)


@pytest.mark.requirement("backend.credential-not-shown")
def test_no_failure_shows_a_credential(server):
    given = server.settings.redaction.of_names
    require(next(iter(given.hidden), None), skip="no credential was given")
    for one in require_some(treatments(server), skip=NO_API):
        received = "\n".join(line.text for line in one.lines if not line.sent)
        place = "its answer" if given.finds(received) else "stderr" if given.finds(one.stderr) else ""
        if place:
            got = f"a credential that was given, in {place}"
            expected = f"a failure reported without credentials while the API {one.sickness.says}"
            raise Finding(expected, got, one.lines, tool=one.tool)
