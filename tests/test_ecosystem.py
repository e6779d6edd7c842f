"""What an SDK does wrong in every server is told as such; what a server does wrong itself is not."""

import sys
from pathlib import Path

from support import mutant, run_suite

IMITATION = (sys.executable, str(Path(__file__).with_name("talks_like_typescript.py")))
NOTE = "every server built on the TypeScript SDK 1.x"


def test_a_deviation_of_an_sdk_is_told_with_its_name():
    run = run_suite(IMITATION, "--select", "errors", "--profile", "none")
    known = [case.requirement for case in run.findings if f"{NOTE} does this" in case.text]
    assert "errors.invalid-params-code" in known
    assert f"Not yours alone: {NOTE} breaks" in run.output


def test_a_deviation_of_the_server_itself_is_not():
    name = "get_without_a_name_is_an_internal_error"
    run = run_suite(mutant(name), "--select", "errors", "--profile", "none")
    assert [case.requirement for case in run.findings] == ["errors.invalid-params-code"]
    assert "every server built on" not in run.output
