"""Servers that refuse a large body with 413: what they read of it is what they may read."""

from dataclasses import replace

import pytest

from mcp_conformance.protocol.revisions import LATEST_MODERN
from mcp_conformance_fixtures.http_mutants.http_post import LARGE_BODY, a_body_that_is_too_large_stays_unread
from mcp_conformance_fixtures.reference_http import HttpReference
from mcp_conformance_fixtures.reference_http_wire import Malformed
from support.bench import run_checks, settings_on_process
from support.http_in_thread import served

RULE = "http.post.body-read"


class ClosesAfterLargeBody(a_body_that_is_too_large_stays_unread):
    """A server that closes the connection after 413."""

    def malformed(self, malformed):
        """Return a response that is the last."""
        found = super().malformed(malformed)
        found.closes = True
        return found


class ReadsLargeBody(HttpReference):
    """A server that answers 413 when it has read the body."""

    def answer(self, call):
        """Refuse a body for its length."""
        is_large = len(call.body) > LARGE_BODY
        return self.malformed(Malformed(413, "It is too large.")) if is_large else super().answer(call)


@pytest.mark.parametrize(
    ("http", "found"),
    [
        (a_body_that_is_too_large_stays_unread, ["HTTP 413, and HTTP 404 to the beginning of the body"]),
        (ClosesAfterLargeBody, []),
        (ReadsLargeBody, []),
        (HttpReference, []),
    ],
)
def test_a_request_in_a_large_body_is_no_request(http, found, tmp_path):
    with served(http()) as server, settings_on_process((), tmp_path) as settings:
        chosen = replace(settings, http=server)
        ran = run_checks(
            chosen, LATEST_MODERN, lambda check: RULE in {one.id for one in check.rows}, is_whole=False
        )
    assert len(ran.verdicts) == len(found)
    assert all(got in one.text for got, one in zip(found, ran.verdicts, strict=True))
