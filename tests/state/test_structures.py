"""What an answer shows, by where it stands."""

import pytest

from mcp_conformance.protocol.jsonrpc import ABSENT
from mcp_conformance.state.noise import Noise
from mcp_conformance.state.places import structure_of


@pytest.mark.parametrize("result", [ABSENT, None], ids=str)
def test_a_result_that_is_no_object_shows_nothing(result):
    """A call that is answered with an error of the protocol has no result."""
    noise = Noise()
    noise.learn("read", structure_of(result), structure_of({"structuredContent": {"at": 1}}))
    assert structure_of(result) is None
    assert ("at",) in noise.places("read")
