"""The limits that show all of a list."""

import pytest

from mcp_conformance.state.paging import MAX_SHOWN, limits_for
from support.fake_tools import tool


@pytest.mark.parametrize(
    ("schema", "limit"), [({}, MAX_SHOWN), ({"maximum": 7}, 7), ({"maximum": 1e9}, MAX_SHOWN)], ids=str
)
def test_a_limit_is_as_high_as_the_schema_allows(schema, limit):
    log = tool("log", {"max_count": {"type": "integer", **schema}}, reads=True)
    assert limits_for(log, {}) == {("max_count",): limit}
    assert limits_for(log, {"max_count": 1}) == {}
