"""A JSON report that others have made: what has another type than ours is an error, wherever it is."""

import json
from copy import deepcopy
from random import Random

import pytest

from mcp_conformance.report.formats import json as json_format
from mcp_conformance.report.formats.terminal import concise
from mcp_conformance.transport.files import BadFile
from support.sample_report import REPORT

ODD = (None, True, -1, 1e308, "x", "\x1b[31m::error::", [], {}, [1], {"a": 1}, [[]])
DATA = json.loads(json_format.render(REPORT))


def places(value, path=()):
    yield path
    if isinstance(value, dict | list):
        for name in value if isinstance(value, dict) else range(len(value)):
            yield from places(value[name], (*path, name))


def changed(place, odd):
    data = part = deepcopy(DATA)
    for name in place[:-1]:
        part = part[name]
    part[place[-1]] = odd
    return json.dumps(data)


@pytest.mark.parametrize("seed", range(2))
def test_a_report_with_odd_members_is_read_as_one_or_refused(seed):
    random = Random(seed)
    known = [one for one in places(DATA) if one]
    refused = 0
    for _ in range(50):
        try:
            list(concise(json_format.read(changed(random.choice(known), random.choice(ODD)))))
        except BadFile:
            refused += 1
    assert refused > 10


def test_the_report_of_ours_fits():
    assert json_format.read(json_format.render(REPORT)).results
