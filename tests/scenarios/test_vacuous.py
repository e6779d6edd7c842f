"""A check that saw nothing of its kind happen is skipped: a server that refuses everything passes little."""

import itertools
import json
from dataclasses import replace
from functools import cache, partial

import pytest

from mcp_conformance_fixtures.mutants import answered, method, params, refused
from mcp_conformance_fixtures.reference import Reference
from mcp_conformance_fixtures.reference_http import HttpReference, Refused
from support.bench import SAMPLES, run_checks, settings_in_memory, settings_on_process
from support.http_in_thread import served
from support.in_memory import mutated
from support.nightly import nightly, some_of

REVISION = "2025-11-25"
LISTS = ("tools/list", "prompts/list", "resources/list", "resources/templates/list")
KEPT = ("initialize", "server/discover", "ping", *LISTS)
REFUSALS = {"initialize is required": -32600, "Invalid params": -32602, "Not found": -32602}
CHAPTERS = ("tools.", "prompts.", "resources.", "completion.", "tasks.")
VACUOUS = {
    "test_a_call_without_a_name_is_a_protocol_error",
    "test_a_call_without_a_name_has_the_code_of_invalid_params",
    "test_a_completion_that_fails_has_a_meaningful_code",
    "test_an_invalid_uri_is_never_read",
    "test_an_unknown_resource_is_not_empty",
    "test_an_unknown_task_is_refused",
    "test_a_tool_that_forbids_tasks_refuses_one",
    "test_a_tool_that_requires_a_task_refuses_a_plain_call",
    "test_a_listed_tool_can_be_called",
    "test_a_prompt_that_fails_has_a_meaningful_code",
    "test_a_read_without_a_uri_is_refused",
    "test_a_reference_of_an_unknown_type_is_refused",
    "test_a_request_that_names_no_prompt_is_refused",
    "test_a_resource_that_cannot_be_read_is_an_internal_error",
    "test_an_unknown_prompt_is_refused",
    "test_an_unknown_resource_is_refused",
    "test_an_unknown_resource_is_refused_as_not_found",
    "test_an_unknown_tool_has_the_code_of_invalid_params",
    "test_an_unknown_tool_is_a_protocol_error",
    "test_arguments_that_are_an_array_are_a_protocol_error",
    "test_invalid_arguments_are_not_accepted",
    "test_invalid_arguments_are_refused",
    "test_structured_content_of_an_error_conforms_too",
    "test_the_completion_of_an_unknown_prompt_is_refused",
    "test_valid_arguments_raise_no_exception",
}
"""Checks that expect a refusal, judge a failure among successes, or need a call that was carried out."""

OF_CALLS = {
    "test_a_result_has_been_awaited",
    "test_a_result_that_says_it_failed_has_is_error",
    "test_an_exception_is_not_reported_as_a_success",
    "test_arguments_are_put_into_a_prompt",
    "test_valid_arguments_give_a_tool_result",
}
"""Checks of what a call or a fetch gives, all of which are refused; one judges the refusals themselves."""
OF_LISTED = {
    "test_a_listed_prompt_is_known",
    "test_listed_arguments_can_be_completed",
    "test_valid_arguments_are_not_refused",
}
"""Checks of what is listed, which may rightly say that all of it is refused."""


@cache
def found(message):
    """Return what the checks of some chapters find in a server that lists, and refuses all else."""

    def refuses(server, request, reply):
        is_request = isinstance(request, dict) and "id" in request and method(request) is not None
        return (
            refused(request, REFUSALS[message], message)
            if is_request and method(request) not in KEPT
            else None
        )

    settings = settings_in_memory(mutated(refuses), timeout=5.0)
    return run_checks(
        settings, REVISION, lambda check: any(one.startswith(CHAPTERS) for one in check.ids), tools=["add"]
    )


@pytest.mark.parametrize("message", REFUSALS)
def test_a_server_that_refuses_everything_passes_no_check_of_refusals(message):
    assert found(message).passed & (VACUOUS | OF_CALLS | OF_LISTED) == set()


@pytest.mark.parametrize("message", REFUSALS)
def test_one_refusal_of_everything_is_not_told_of_each_kind_of_request(message):
    told = {one.check.name for one in found(message).verdicts} & VACUOUS
    assert told <= {
        "test_a_resource_that_cannot_be_read_is_an_internal_error"
    }  # -32600 fits no right request


OPENING = ("initialize", "server/discover")
ITEMS = ("tools.call.", "tools.structured.", "tools.hints.", "prompts.get.", "resources.read.", "completion.")
FEATURES = ("resources.subscribe.", "resources.templates.expansion-readable", "tasks.", "progress.", "mrtr.")
OF_USE = (*ITEMS, *FEATURES, "clientfeature.", "logging.", "subscriptions.")
"""The beginnings of the ids of rules on what is done with listed things."""
OF_DECLARATIONS = {
    "test_a_server_that_lists_tools_has_tools_call",
    "test_a_server_that_logs_to_the_client_declares_it",
    "test_a_server_that_makes_tasks_declares_them",
    "test_the_task_support_of_a_tool_is_a_known_one",
    "test_the_tasks_capability_is_made_of_objects",
}
"""Checks that judge what is declared, or listed."""
OF_TRAFFIC = {
    "test_a_call_with_valid_arguments_leaves_the_server_running",
    "test_a_request_with_an_invalid_level_is_rejected",
    "test_nothing_is_logged_without_a_request_for_it",
    "test_only_calls_gets_and_reads_require_input",
}
"""Checks that judge each answer, also a refusal, or what no message may be."""
OF_REMOVED = {"test_setting_a_level_is_an_unknown_method", "test_subscribe_methods_are_removed"}
"""Checks that expect -32601 of methods that the revision has removed."""
RIGHTLY_EMPTY = {
    "test_a_client_can_unsubscribe_from_a_resource",
    "test_a_listed_resource_can_be_subscribed_to",
    "test_each_level_can_be_set",
    "test_no_elicitation_is_required_for_what_does_not_exist",
}
"""Checks of requests to which {} is a right answer, and of the errors that unknown things get."""
OF_QUESTIONS = {
    "test_a_form_is_flat_and_of_primitive_fields",
    "test_a_request_for_sampling_is_well_formed",
    "test_an_elicitation_has_a_message_and_a_known_mode",
    "test_context_is_requested_only_if_declared",
    "test_sampling_tools_are_offered_only_if_declared",
}
"""Checks of the requests to the client that come."""
QUESTIONS = {
    "roots/list": {},
    "sampling/createMessage": {
        "messages": [{"role": "user", "content": {"type": "text", "text": "Hello"}}],
        "maxTokens": 5,
    },
    "elicitation/create": {
        "message": "What is your name?",
        "requestedSchema": {"type": "object", "properties": {"name": {"type": "string"}}},
    },
}


def refusal_with(code):
    """Return a function from a request to its refusal with a code."""
    return lambda message: refused(message, code, "Not now.")


def nothing(message):
    """Return an empty result."""
    return answered(message, {})


class Unwilling(Reference):
    """A server that answers some methods rightly, and all others alike; it may ask its client first."""

    def __init__(self, kept, answer, *, asks, out):
        super().__init__(out=out)
        self.kept, self.answer, self.asks = kept, answer, asks
        self.questions = itertools.count()

    def take(self, line):
        """Answer a request for what is not kept; answer all else as the reference server does."""
        try:
            message = json.loads(line)
        except ValueError:
            message = None
        if not (isinstance(message, dict) and "id" in message) or method(message) in (None, *self.kept):
            super().take(line)
            return
        if self.asks and is_declared(message):
            number = next(self.questions)
            name, given = list(QUESTIONS.items())[number % len(QUESTIONS)]
            self.send({"jsonrpc": "2.0", "id": f"question {number}", "method": name, "params": given})
        self.send(self.answer(message))


def is_declared(message):
    """Return whether a request is of a handshake revision, in which a server may ask."""
    return "_meta" not in params(message)


UNWILLING = {
    "refuses all": ((*OPENING,), refusal_with(-32601), False, OF_DECLARATIONS | OF_TRAFFIC | OF_REMOVED),
    "lists, and has no other method": (
        (*KEPT,),
        refusal_with(-32601),
        False,
        OF_DECLARATIONS | OF_TRAFFIC | OF_REMOVED,
    ),
    "lists, and takes no params": ((*KEPT,), refusal_with(-32602), False, OF_DECLARATIONS | OF_TRAFFIC),
    "lists, and answers {}": ((*KEPT,), nothing, False, OF_DECLARATIONS | OF_TRAFFIC | RIGHTLY_EMPTY),
    "asks, and refuses": (
        (*KEPT,),
        refusal_with(-32602),
        True,
        OF_DECLARATIONS | OF_TRAFFIC | OF_QUESTIONS,
    ),
}
"""Servers that serve nothing, and the checks of `OF_USE` that may pass all the same."""


def is_of_use(check):
    """Return whether a check judges only what is done with listed things."""
    return all(id.startswith(OF_USE) for id in check.ids)


@pytest.mark.parametrize("revision", [REVISION, "2026-07-28"])
@pytest.mark.parametrize("name", some_of(UNWILLING, 5))
def test_no_check_passes_without_what_it_judges(name, revision):
    *given, may_pass = UNWILLING[name]
    kept, answer, asks = given
    settings = settings_in_memory(lambda out, _: Unwilling(kept, answer, asks=asks, out=out), timeout=5.0)
    run = run_checks(settings, revision, is_of_use, tools=["add"])
    assert run.passed - may_pass == set()


class UnwillingOverHttp(HttpReference):
    """A server over HTTP that lists, and refuses each call, fetch and read before it is carried out."""

    def post(self, call):
        """Refuse a request for what is not kept."""
        try:
            message = json.loads(call.body)
        except ValueError:
            message = None
        if isinstance(message, dict) and "id" in message and method(message) not in (None, *KEPT):
            raise Refused(400, "Not now.", -32602)
        return super().post(call)


@nightly
@pytest.mark.parametrize("revision", [REVISION, "2026-07-28"])
def test_no_check_of_http_passes_without_what_it_judges(revision, tmp_path):
    """Nothing is changed, no progress is reported, and no change is announced."""

    def is_of_http(check):
        return any(row.transport == "http" for row in check.rows)

    with served(UnwillingOverHttp()) as http, settings_on_process((), tmp_path, timeout=5.0) as chosen:
        settings = replace(chosen, command=(http.url,), http=http, **SAMPLES)
        run = run_checks(settings, revision, is_of_http, tools=["add"])
    assert run.passed & OF_CALLS_OVER_HTTP == set()


OF_CALLS_OVER_HTTP = {
    "test_a_cut_connection_does_not_cancel_the_request",
    "test_a_message_comes_on_one_stream_only",
    "test_a_name_in_base64_is_decoded",
    "test_a_refused_call_is_not_executed",
    "test_a_resumed_stream_brings_what_was_missed",
    "test_a_value_in_base64_is_decoded",
    "test_another_value_than_the_argument_is_refused",
    "test_messages_of_a_running_request_do_not_come_on_a_get_stream",
    "test_progress_reaches_only_the_client_that_asked_for_it",
    "test_the_log_level_of_one_client_is_not_that_of_another",
    "test_updates_reach_only_the_client_that_has_subscribed",
}
"""Checks that need a call which is carried out."""


def test_a_resource_that_is_unknown_among_refused_ones_is_not_judged():
    serve = partial(Unwilling, KEPT, refusal_with(-32602), asks=False)
    settings = settings_in_memory(lambda out, _: serve(out=out), timeout=5.0)
    rule = "resources.read.not-found-not-empty"
    run = run_checks(settings, "2026-07-28", lambda check: rule in check.ids, is_whole=False)
    assert (run.passed, run.verdicts) == (set(), [])


FAILED = {"content": [{"type": "text", "text": "It did not work."}], "isError": True}
OF_A_WORKING_TOOL = {
    "test_invalid_arguments_are_not_accepted",
    "test_invalid_arguments_are_refused",
    "test_valid_arguments_are_not_refused",
    "test_valid_arguments_raise_no_exception",
}


@pytest.mark.parametrize(
    ("result", "wrong"), [(FAILED, OF_A_WORKING_TOOL), ({}, {"test_a_listed_tool_can_be_called"})]
)
def test_a_server_whose_tools_all_give_the_same_passes_no_check_of_what_they_do(result, wrong):
    """All calls get an error of the tool, or all an empty result, those of unknown tools too."""

    def same(server, request, reply):
        return answered(request, result) if method(request) == "tools/call" else None

    settings = settings_in_memory(mutated(same), timeout=5.0)
    run = run_checks(settings, REVISION, lambda check: check.suite == "test_tools_call", tools=["add"])
    assert run.passed & wrong == set()


@pytest.mark.parametrize("about", ["tool", "argument"])
def test_a_tool_that_names_nothing_is_unknown_only_if_its_arguments_do_not_matter(about):
    """Calls of `add` are refused as those of unknown tools; of an unknown order it says the same."""

    def refuses(server, request, reply):
        if method(request) != "tools/call":
            return None
        name, arguments = params(request).get("name"), params(request).get("arguments", {})
        is_right = isinstance(arguments.get("a"), int)
        if name not in server.tools() or (name == "add" and (about == "tool" or is_right)):
            return refused(request, -32602, "Not found")
        return None

    settings = settings_in_memory(mutated(refuses), timeout=5.0)
    rule = "tools.call.listed-is-callable"
    run = run_checks(settings, REVISION, lambda check: rule in check.ids, is_whole=False, tools=["add"])
    assert not run.failures
    assert {one.row.id for one in run.verdicts} == ({rule} if about == "tool" else set())


def test_a_list_that_differs_each_time_is_not_steady():
    def alternates(server, request, reply):
        if method(request) != "tools/list" or "nextCursor" in reply.get("result", {}):
            return
        server.memory["lists"] = server.memory.get("lists", 0) + 1
        if server.memory["lists"] % 2 == 0:
            del reply["result"]["tools"][-1]

    rules = {"tools.list.same-per-connection", "tools.list.no-side-effect-variation"}
    settings = settings_in_memory(mutated(alternates), timeout=5.0)
    run = run_checks(settings, "2026-07-28", lambda check: rules & check.ids, is_whole=False)
    assert run.passed == set()
