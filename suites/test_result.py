"""Members that any result may have (spec: basic, "Messages")."""

from __future__ import annotations

import pytest

from conformance.value import members
from conformance.verdict import expect_each, some
from conformance.wire import Kind


@pytest.mark.requirement("result.meta-object")
def test_meta_of_a_result_is_an_object(traffic):
    results = some(members(traffic(Kind.RESULT), "result"), "no request gave a result")
    expect_each(members(results, "_meta"), lambda meta: isinstance(meta, dict), "an object")
