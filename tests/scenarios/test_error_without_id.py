"""A refusal with the id null of a request that cannot be understood is an answer, and no silence."""

import pytest

from mcp_conformance_fixtures.mutants import answered, refused
from support.bench import run_checks, settings_in_memory
from support.in_memory import mutated

META, CURSOR = "test_meta_of_the_wrong_type_is_rejected", "test_a_cursor_that_is_not_a_string_is_rejected"


def found(mutate, name):
    """Return the verdicts of a check, with what each got."""
    run = run_checks(
        settings_in_memory(mutated(mutate)), "2026-07-28", lambda one: one.name == name, is_whole=False
    )
    return [one.error for one in run.verdicts]


def does_not_read(server, request, reply):
    """Answer a request that its types do not fit as one that was not understood."""
    if isinstance(request, dict) and reply and isinstance(request.get("params", {}).get("_meta"), list):
        return refused({"id": None}, -32700, "cannot unmarshal array into RequestMeta")
    return None


def test_an_error_with_the_id_null_is_an_answer():
    [error] = found(does_not_read, META)
    assert error.fault is None
    assert "error -32700" in error.got


@pytest.mark.parametrize("is_error", [True, False])
def test_an_error_for_a_cursor_is_not_said_to_be_a_page(is_error):
    def takes_numbers(server, request, reply):
        params = request.get("params", {}) if isinstance(request, dict) and reply else {}
        if "cursor" not in params or isinstance(params["cursor"], str):
            return None
        return refused(request, -32600, "cannot unmarshal") if is_error else answered(request, {"tools": []})

    errors = found(takes_numbers, CURSOR)
    assert errors
    assert all(error.got.startswith("a page of ") != is_error for error in errors)
