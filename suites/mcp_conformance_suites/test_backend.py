"""The API behind a server, with --backend: what its tools answer while the API is sick."""

from __future__ import annotations

import pytest

from mcp_conformance.expect import require, require_some, skip
from mcp_conformance.protocol.text import shorten
from mcp_conformance.scenarios.api_inventory import NO_API, inventory
from mcp_conformance.scenarios.calls_at_once import CANCEL_SECONDS, at_once, words_in
from mcp_conformance.scenarios.sick_api import (
    MAX_REQUESTS,
    MAX_RESULT_BYTES,
    PAUSE_SECONDS,
    creating,
    depends,
    expect_no_treatment,
    failed_calls,
    failed_fetches,
    failures,
    fault_of,
    hurried,
    indistinct,
    most_repeated,
    noisy,
    opened_alone,
    oversized,
    repeated_after_limit,
    repeated_unanswered,
    sent_twice,
    size_of,
    treatments,
    unanswered,
)
from mcp_conformance.verdicts import Finding

pytestmark = pytest.mark.stage("late")
CHECKS_NOTHING = "NODE_TLS_REJECT_UNAUTHORIZED"
REFUSES_ALL = """\
each tool answers the same whatever its API does, and never with a success: nothing shows that it would \
report an outage (--example gives a tool arguments that work)"""


@pytest.mark.requirement("backend.failure-is-error")
def test_an_outage_of_the_api_is_not_told_as_a_success(server):
    """One call is sent again after its first success, with the answer held longer."""
    tried = failed_calls(server)
    successes = [one for one in tried if one.is_success]
    well = inventory(server).calls
    expect_no_treatment(successes, "a result with isError: true", tried, well=well)
    if not depends(server, tried):
        skip(REFUSES_ALL)


@pytest.mark.requirement("backend.failure-in-result")
def test_an_outage_of_the_api_is_not_a_protocol_error(server):
    tried = failed_calls(server)
    errors = [one for one in tried if one.reply.error is not None]
    expect_no_treatment(errors, "a result with isError: true", tried)


@pytest.mark.requirement("backend.fetch-fails")
def test_an_outage_of_the_api_is_an_error_of_a_fetch(server):
    tried = failed_fetches(server)
    made_up = [one for one in tried if one.is_success]
    expect_no_treatment(made_up, "a JSON-RPC error", tried, well=inventory(server).calls)
    if not depends(server, tried):
        skip(REFUSES_ALL)


@pytest.mark.requirement("backend.survives")
def test_no_sickness_of_the_api_ends_the_process(server):
    treated = require_some(treatments(server), skip=NO_API)
    ended = [one for one in treated if one.has_ended]
    expect_no_treatment(ended, "an answer, and a process that runs on", treated)


@pytest.mark.requirement("backend.wire-whole")
def test_nothing_that_the_api_sends_gets_between_the_messages(server):
    if found := noisy(server):
        one = found[0]
        got = f"{len(one.noise)} other lines, first {shorten(one.noise[0].text, 200)!r}"
        expected = f"JSON-RPC messages only, also while the API {one.sickness.says}"
        raise fault_of(one, expected, got, (one.reply.request, *one.noise[:2]))


@pytest.mark.requirement("backend.answer-bounded")
def test_an_answer_of_the_api_is_passed_on_in_part(server):
    if found := oversized(server):
        one = found[0]
        size = f"an answer of {size_of(one):,} bytes" if size_of(one) else str(one.reply.fault)
        got = f"{size} while the API {one.sickness.says}"
        expected = f"an answer of at most {MAX_RESULT_BYTES:,} bytes"
        raise fault_of(one, expected, got, one.lines[:1])


@pytest.mark.requirement("backend.answers")
def test_a_tool_answers_although_its_api_does_not(server):
    expect_no_treatment(unanswered(server), "an answer in time", inventory(server).judged)


@pytest.mark.requirement("backend.requests-bounded")
def test_a_call_does_not_repeat_a_request_without_end(server):
    for one in failures(server):
        if one.asked and (most := most_repeated(one))[1] > MAX_REQUESTS:
            got = f"{most[1]} times {most[0]} while the API {one.sickness.says}"
            expected = f"at most {MAX_REQUESTS} such requests in one call"
            raise fault_of(one, expected, got)


@pytest.mark.requirement("backend.retry-after")
def test_a_request_is_repeated_when_the_api_says(server):
    for one in repeated_after_limit(server):
        if (early := hurried(one)) is not None:
            got = f"{early[0]} again after {early[1]:.1f} s while the API {one.sickness.says}"
            expected = f"a pause of {PAUSE_SECONDS} s, as Retry-After says, or no further request"
            raise fault_of(one, expected, got)


@pytest.mark.requirement("backend.sent-once")
def test_what_may_have_been_carried_out_is_not_sent_again(server):
    for one in creating(server):
        if (again := sent_twice(one)) is not None:
            got = f"{again} again, although the API had it: it {one.sickness.says}"
            raise fault_of(one, "one such request in one call", got)


@pytest.mark.requirement("backend.sent-once")
def test_what_waits_for_an_answer_is_not_sent_again(server):
    if (found := repeated_unanswered(server)) is not None:
        again, usual = found
        got = f"{again} again, although the API had it: it {usual.sickness.says}"
        raise fault_of(usual, "one such request in one call", got, usual.lines[:1])


@pytest.mark.requirement("backend.failures-differ")
def test_a_refused_key_a_limit_and_an_outage_are_told_apart(server):
    if same := indistinct(server):
        got = f"{shorten(str(same[0].reply), 300)} for 401, 429 and an outage alike"
        raise fault_of(same[0], "answers that name the failure", got)


@pytest.mark.requirement("backend.calls-apart")
def test_calls_at_once_get_answers_of_their_own(server):
    for one in require_some(
        at_once(server).mixed, skip="no tool shows what its API answers to its arguments"
    ):
        for word, reply in one.wrong():
            others = ", ".join(sorted(words_in(reply)))
            got = f"an answer with the word {others} of another call, to that with {word}"
            raise Finding("what the API answered to this call", got, reply.lines, tool=one.tool)


@pytest.mark.requirement("backend.cancellation")
def test_a_cancelled_call_ends_its_request_to_the_api(server):
    unread = "no tool asks another host, or the server reads no cancellation during a call"
    for one in require_some(at_once(server).cancelled, skip=unread):
        if one.left:
            how = "the call's connection was closed" if one.is_closing else "the cancellation"
            got = f"{one.left[0]} still waits for an answer {CANCEL_SECONDS:g} s after {how}"
            raise Finding("no request to the API after the call is cancelled", got, one.lines, tool=one.tool)


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
    accepted = {one.where for one in found.contacts if one.is_encrypted and one.method}
    tried = [one for call in found.betrayed for one in call.contacts if one.where in accepted]
    require_some(tried, skip="no tool that may be called asks a host over TLS, with a certificate it trusts")
    for call in found.betrayed:
        if arrived := [one for one in call.asked if one.is_encrypted]:
            got = f"{arrived[0]} arrived at a host with a certificate of an authority that nobody trusts"
            raise fault_of(call, "no request", got)


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
    moved = require_some(treatments(server), skip=NO_API)
    followed = [one for one in moved if any(contact.is_elsewhere for contact in one.asked)]
    require_some(followed, skip="no request follows a redirect, or a link, to another host")
    sent = [one for one in followed if any(contact.has_credential for contact in one.asked)]
    require_some(sent, skip="no request has a credential that was given")
    for one in sent:
        carried = [contact for contact in one.asked if contact.is_elsewhere and contact.has_credential]
        if carried:
            origins = [each.where for each in one.asked if not each.is_elsewhere]
            got = f"{carried[0]} with a credential that was given, where {', '.join(origins[:1])} leads"
            raise fault_of(one, "no credential in a request to another host", got)


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
            raise fault_of(one, expected, got)
