"""The whole suite over HTTP is silent on the reference server, and leaves out what is about stdio.

The tests run the newest revision of each era; with ``FUZZ=thorough`` (`tox -e thorough`) all, and fuzz one.
"""

import os
import sys

import pytest

from mcp_conformance.protocol.revisions import KNOWN, LATEST_HANDSHAKE, LATEST_MODERN
from support import EVERYTHING, run_suite
from support.nightly import IS_NIGHTLY

REFERENCE = (sys.executable, "-m", "mcp_conformance_fixtures.reference_http", "--port", "{port}")
REVISIONS = KNOWN[KNOWN.index("2025-03-26") :] if "FUZZ" in os.environ else (LATEST_HANDSHAKE, LATEST_MODERN)


@pytest.mark.parametrize("revision", REVISIONS if IS_NIGHTLY else REVISIONS[-1:])
def test_the_reference_server_is_clean(revision):
    fuzz = "quick" if "FUZZ" in os.environ and revision == LATEST_HANDSHAKE else "none"
    run = run_suite(REFERENCE, "--http", "--revision", revision, "--fuzz", fuzz, *EVERYTHING, timeout=600)
    assert [(case.check, case.text) for case in run.findings] == []
    assert run.exit == 0
    assert {case.revision for case in run.of("passed")} == {revision}
    assert not [case.check for case in run.cases if "stdio" in case.requirement]
