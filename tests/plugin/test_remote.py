"""A server that others use too, at a URL of another machine, is tested with care."""

import pytest

from support import forked

PROBE = """
import pytest
from mcp_conformance.plugin.options import settings

@pytest.hookimpl(trylast=True)
def pytest_configure(config):
    chosen = settings(config)
    raise pytest.UsageError(f"{chosen.call} {chosen.http.turns.rate:g}")
"""


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        (["http://weather.example/mcp"], "() 20"),
        (["http://weather.example/mcp", "--conformance-call=readonly"], "('readonly', 'readonly') 20"),
        (["http://weather.example/mcp", "--conformance-rate=5"], "() 5"),
        (["http://127.0.0.1:1/mcp"], "('readonly',) inf"),
        (["http://weather.example/mcp", "--conformance-rate=0"], "--conformance-rate: a number over 0"),
    ],
)
def test_a_remote_server_gets_few_requests_and_no_calls(words, shown, tmp_path):
    (tmp_path / "conftest.py").write_text(PROBE, encoding="utf-8")
    url, *more = words
    options = ["--conformance", f"--conformance-url={url}", *more]
    status, output = forked(options, tmp_path, 60, program="pytest")
    assert (status, shown in output) == (4, True), output
