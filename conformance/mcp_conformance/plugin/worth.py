"""What a check is worth in a run that cannot wait (``--within``): what it may find, by what it costs."""

from __future__ import annotations

from collections.abc import Iterable

from mcp_conformance.requirements.catalogue import Requirement
from mcp_conformance.verdicts import NORMATIVE

# Not measured: a failure decides the verdict, and five warnings are worth one.
FAILS, WARNS, INFORMS = 1.0, 0.2, 0.05
QUICK_SECONDS = 0.005
"""What a check costs that is not in the table: the median on the reference."""
SECONDS = {
    "test_apps.py::test_tools_say_something_without_their_interface": 0.20,
    "test_batch.py::test_the_server_sends_no_batch": 0.12,
    "test_cancel.py::test_a_cancellation_of_an_unknown_request_is_ignored": 0.84,
    "test_cancel.py::test_a_cancellation_that_comes_too_late_is_ignored": 0.84,
    "test_cancel.py::test_a_cancellation_that_crosses_the_answer_does_no_harm": 0.94,
    "test_cancel.py::test_a_cancelled_request_is_not_answered": 1.68,
    "test_cancel.py::test_a_malformed_cancellation_is_ignored": 0.45,
    "test_cancel.py::test_a_task_is_not_cancelled_with_the_request_that_made_it": 1.76,
    "test_cancel.py::test_the_server_cancels_only_its_own_requests": 1.84,
    "test_cancel.py::test_work_on_a_cancelled_request_stops": 1.70,
    "test_clientfeature.py::test_a_client_without_usable_roots_is_served": 1.83,
    "test_clientfeature.py::test_a_completed_elicitation_was_requested_before": 0.91,
    "test_clientfeature.py::test_a_form_is_flat_and_of_primitive_fields": 1.82,
    "test_clientfeature.py::test_a_model_that_never_stops_using_tools_is_stopped": 0.87,
    "test_clientfeature.py::test_a_request_for_sampling_is_well_formed": 2.75,
    "test_clientfeature.py::test_a_sampled_message_without_content_does_no_harm": 0.86,
    "test_clientfeature.py::test_a_user_may_decline_or_cancel": 1.70,
    "test_clientfeature.py::test_an_elicitation_by_url_has_a_url_and_an_id": 2.62,
    "test_clientfeature.py::test_an_elicitation_has_a_message_and_a_known_mode": 1.82,
    "test_clientfeature.py::test_context_is_requested_only_if_declared": 0.88,
    "test_clientfeature.py::test_only_the_declared_modes_of_elicitation_are_used": 0.92,
    "test_clientfeature.py::test_sampling_tools_are_offered_only_if_declared": 1.73,
    "test_clientfeature.py::test_the_content_of_a_form_is_validated": 0.86,
    "test_clientfeature.py::test_the_url_of_an_elicitation_uses_https": 0.89,
    "test_clientfeature.py::test_the_use_of_a_tool_is_followed_by_its_result": 0.91,
    "test_content.py::test_no_credential_is_shown": 0.42,
    "test_errors.py::test_the_code_for_url_elicitation_lists_elicitations": 0.94,
    "test_fuzz_features.py::test_arguments_of_prompts_are_answered": 0.75,
    "test_fuzz_features.py::test_cursors_are_answered": 0.36,
    "test_fuzz_features.py::test_uris_of_resources_are_answered": 0.21,
    "test_fuzz_protocol.py::test_nothing_but_messages_is_on_stdout_whatever_was_asked": 1.74,
    "test_fuzz_protocol_lines.py::test_a_request_after_a_broken_line_is_answered": 0.15,
    "test_fuzz_protocol_lines.py::test_a_request_that_is_hard_to_read_is_answered": 0.33,
    "test_fuzz_protocol_lines.py::test_an_answer_to_a_broken_line_has_its_id_or_null": 0.36,
    "test_fuzz_protocol_lines.py::test_nothing_but_messages_is_on_stdout_after_a_broken_line": 0.79,
    "test_fuzz_tools.py::test_hostile_arguments_are_survived": 0.12,
    "test_fuzz_tools.py::test_invalid_arguments_are_refused": 0.37,
    "test_fuzz_tools.py::test_valid_arguments_are_handled": 0.12,
    "test_jsonrpc.py::test_a_response_is_not_answered": 1.35,
    "test_jsonschema.py::test_a_schema_without_a_dialect_is_read_as_2020_12": 0.05,
    "test_lifecycle.py::test_a_ping_before_initialize_is_answered": 0.86,
    "test_lifecycle.py::test_a_request_before_initialize_does_no_harm": 0.90,
    "test_lifecycle.py::test_a_request_before_initialized_does_no_harm": 0.89,
    "test_lifecycle.py::test_a_supported_revision_is_accepted": 1.69,
    "test_lifecycle.py::test_an_incomplete_initialize_is_answered": 0.92,
    "test_lifecycle.py::test_an_offered_revision_is_accepted": 1.74,
    "test_lifecycle.py::test_an_unknown_revision_gets_a_counter_offer": 0.89,
    "test_lifecycle.py::test_the_counter_offer_is_the_newest_revision": 2.49,
    "test_lifecycle.py::test_the_server_answers_initialize_first": 0.89,
    "test_lifecycle.py::test_the_server_requests_only_declared_client_features": 0.89,
    "test_lifecycle.py::test_the_server_sends_no_request_before_initialized": 0.88,
    "test_lifecycle.py::test_unknown_members_of_initialize_are_ignored": 0.87,
    "test_logging.py::test_a_level_excludes_lower_messages": 0.96,
    "test_logging.py::test_a_log_message_does_not_show_the_environment": 0.99,
    "test_logging.py::test_a_log_message_has_a_level": 0.92,
    "test_logging.py::test_a_log_message_has_data": 0.87,
    "test_logging.py::test_an_invalid_level_is_rejected": 0.87,
    "test_logging.py::test_each_level_can_be_set": 0.89,
    "test_logging.py::test_the_logger_of_a_log_message_is_a_string": 0.89,
    "test_messages.py::test_a_message_has_the_form_of_its_kind": 0.86,
    "test_meta.py::test_the_prefix_of_a_key_consists_of_labels": 0.08,
    "test_meta.py::test_unknown_keys_of_a_request_are_ignored": 0.09,
    "test_pagination.py::test_no_item_is_on_two_pages": 0.08,
    "test_ping.py::test_a_ping_is_answered_while_a_tool_runs": 0.93,
    "test_progress.py::test_open_requests_of_the_server_have_different_tokens": 0.92,
    "test_resources_changes.py::test_a_client_can_unsubscribe_from_a_resource": 0.88,
    "test_resources_changes.py::test_a_listed_resource_can_be_subscribed_to": 0.85,
    "test_resources_changes.py::test_an_unknown_resource_cannot_be_subscribed_to": 0.83,
    "test_result.py::test_meta_of_a_result_is_an_object": 0.12,
    "test_state.py::test_what_tools_make_and_change_is_announced": 0.88,
    "test_stdio.py::test_stdout_has_only_messages": 0.06,
    "test_tasks.py::test_a_task_begins_as_working": 0.88,
    "test_tasks.py::test_a_task_has_the_time_of_its_creation": 1.81,
    "test_tasks.py::test_a_task_that_has_ended_stays_as_it_is": 0.92,
    "test_tasks.py::test_a_tool_that_requires_a_task_refuses_a_plain_call": 0.84,
    "test_tasks.py::test_an_accepted_task_is_answered_with_the_task": 0.87,
    "test_tasks.py::test_no_two_tasks_have_the_same_id": 0.85,
    "test_tasks.py::test_the_client_cannot_choose_the_id": 0.90,
    "test_tasks.py::test_the_id_of_a_task_cannot_be_guessed": 0.86,
    "test_tasks.py::test_the_id_of_a_task_is_a_string": 0.91,
    "test_tasks.py::test_the_status_of_a_task_is_known": 0.93,
    "test_tasks_results.py::test_the_result_of_a_task_is_that_of_a_plain_call": 0.06,
    "test_tools_call.py::test_content_is_of_a_known_type": 0.12,
    "test_tools_call.py::test_is_error_is_a_boolean": 0.20,
    "test_tools_hints.py::test_a_repeated_call_of_an_idempotent_tool_changes_no_files": 0.40,
    "test_tools_hints.py::test_a_tool_that_only_reads_changes_nothing": 0.11,
    "test_tools_hints.py::test_a_tool_that_only_reads_writes_no_files": 0.35,
}
"""What checks cost on a server that starts in 0.8 s: mostly a process of their own (benchmarks/within.py)."""


def worth(suite: str, check: str, rows: Iterable[Requirement], revision: str) -> float:
    """Return what a check may find by what it costs, in units of a failure a second."""
    found = max((_weight(row, revision) for row in rows if row.holds_in(revision)), default=INFORMS)
    return found / SECONDS.get(f"{suite}::{check}", QUICK_SECONDS)


def _weight(row: Requirement, revision: str) -> float:
    if row.basis(revision) not in NORMATIVE:
        return INFORMS
    return FAILS if row.level(revision).startswith("MUST") else WARNS
