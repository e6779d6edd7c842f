"""Tools that raise exceptions on valid arguments: they inform, and fail if the user wants it."""

import pytest

from support import mutant, run_suite

SELECT = ("--select", "tools.call.execution-error-actionable", "--call", "all")
RAISES = mutant("a_tool_raises_on_the_plainest_arguments")


@pytest.mark.parametrize(
    ("options", "outcome", "exit"), [((), "info", 0), (("--fuzz-errors", "fail"), "failed", 1)]
)
def test_an_exception_informs_or_fails(options, outcome, exit):
    run = run_suite(RAISES, *SELECT, "--fuzz", "none", *options)
    assert [(case.outcome, case.requirement) for case in run.findings] == [(outcome, SELECT[1])]
    assert "Error executing tool echo: 'mood'" in run.findings[0].text
    assert run.exit == exit


def test_an_exception_that_only_some_values_raise_is_found_and_shrunk():
    options = ("--select", "jsonrpc.response-every-request[echo]", "--fuzz-errors", "fail", "--call", "all")
    run = run_suite(mutant("an_empty_text_raises_an_exception"), *options)
    (found,) = run.of("failed")
    assert found.requirement == SELECT[1]
    assert 'valid arguments {"text":""}' in found.text


def test_another_word_is_one_line():
    run = run_suite(RAISES, *SELECT, "--fuzz-errors", "warn")
    assert run.exit == 4
    assert "--fuzz-errors: inform or fail is expected, not 'warn'" in run.output
