"""Tools that raise exceptions on valid arguments: the proven ones fail, the others warn."""

import re

import pytest

from support import mutant, run_suite

SELECT = ("--select", "tools.call.no-exception", "--call", "all")
READS_LIKE_ONE = mutant("a_tool_raises_on_the_plainest_arguments")
PROVEN = mutant("a_tool_meets_a_runtime_error")


@pytest.mark.parametrize(
    ("server", "options", "outcome", "exit"),
    [
        (READS_LIKE_ONE, (), "warned", 0),
        (READS_LIKE_ONE, ("--fuzz-errors", "fail"), "failed", 1),
        (PROVEN, (), "failed", 1),
        (PROVEN, ("--fuzz-errors", "inform"), "warned", 0),
    ],
)
def test_an_exception_warns_or_fails(server, options, outcome, exit):
    run = run_suite(server, *SELECT, "--fuzz", "none", *options)
    assert [(case.outcome, case.requirement) for case in run.findings] == [(outcome, SELECT[1])]
    assert run.exit == exit
    if server is PROVEN:
        assert "KeyError: 'weather', tools_call.py:" in run.findings[0].text
        assert 'return answered(request, params(request)["weather"])' in run.findings[0].text


def test_an_exception_that_only_some_values_raise_is_found():
    options = ("--select", "tools.call.no-exception[echo]", "--call", "all")
    run = run_suite(mutant("a_digit_meets_a_runtime_error"), *options)
    (found,) = run.of("failed")
    shown = r'valid arguments \{"text":".*"\}: ZeroDivisionError: division by zero, fuzz_tools.py:'
    assert re.search(shown, found.text)  # on a busy machine the text is not shrunk to "0"


def test_another_word_is_one_line():
    run = run_suite(READS_LIKE_ONE, *SELECT, "--fuzz-errors", "warn")
    assert run.exit == 4
    assert "--fuzz-errors: inform, proven or fail is expected, not 'warn'" in run.output
