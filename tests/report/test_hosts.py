"""What a server asks of other hosts, in lines and in the JSON report."""

from collections import Counter

import pytest

from mcp_conformance.backend.contact import (
    AT_START,
    IN_CALL,
    IN_FETCH,
    IN_LISTS,
    NO_REQUEST,
    UNSPOKEN,
    Contact,
    HostUse,
)
from mcp_conformance.plugin.run_counts import RunCounts
from mcp_conformance.report.hosts import asked_hosts, host_lines

API = "https://api.example.com"
SEARCH = HostUse(IN_CALL, "search", API, "GET", "/v1/search?q")
USES = Counter(
    {
        SEARCH: 3,
        HostUse(IN_CALL, "add", API, "POST", "/v1/things", 20): 1,
        HostUse(AT_START, "", "https://registry.example", "GET", "/latest"): 1,
        HostUse(IN_LISTS, "", API, "GET", "/v1/tools"): 1,
        HostUse(IN_FETCH, "prompts/get one", API, "GET", "/v1/one"): 1,
        HostUse(IN_CALL, "java", "https://own.example", refusal="tlsv1 alert unknown ca"): 1,
    }
)


def test_requests_without_a_call_come_first():
    found = asked_hosts(USES)
    assert [(one.when, one.tool, one.times) for one in found] == [
        ("start", "", 1),
        ("lists", "", 1),
        ("call", "add", 1),
        ("call", "java", 1),
        ("call", "search", 3),
        ("fetch", "prompts/get one", 1),
    ]


def test_each_host_has_a_line():
    assert list(host_lines(asked_hosts(USES))) == [
        "asks https://registry.example at the start: GET /latest",
        (
            "asks https://api.example.com while it lists what it offers and in calls of add, search and in "
            "prompts/get one: GET /v1/tools, POST /v1/things, GET /v1/search?q and 1 more"
        ),
        (
            "https://own.example could not be judged: the server ends the TLS handshake in calls of java "
            "(tlsv1 alert unknown ca), as it trusts only certificate authorities of its own"
        ),
    ]


def test_a_client_that_goes_without_a_word_is_not_said_to_distrust():
    use = HostUse(IN_CALL, "look", API, refusal="unexpected eof while reading")
    (line,) = host_lines(asked_hosts({use: 1}))
    assert line.endswith(
        "(unexpected eof while reading), perhaps as it trusts only certificate authorities of its own"
    )


@pytest.mark.parametrize("refusal", UNSPOKEN)
def test_a_host_that_is_asked_otherwise_has_a_line(refusal):
    use = HostUse(IN_CALL, "look", API, refusal=refusal)
    (line,) = host_lines(asked_hosts({use: 1}))
    assert line == f"{API} could not be judged: the server asks it {refusal} in calls of look"


def test_a_connection_in_advance_is_not_told_beside_requests():
    idle = HostUse(IN_CALL, "look", API, refusal=f"{NO_REQUEST}: the connection was closed")
    assert len(list(host_lines(asked_hosts({idle: 1, SEARCH: 1})))) == 1


def test_lines_are_few():
    uses = {HostUse(IN_CALL, f"tool{at}", f"https://{at}.example", "GET", "/"): 1 for at in range(30)}
    lines = list(host_lines(asked_hosts(uses)))
    assert (len(lines), lines[-1]) == (21, "asks 10 more hosts")
    one = {HostUse(IN_CALL, f"tool{at}", API, "GET", f"/{at}"): 1 for at in range(9)}
    assert list(host_lines(asked_hosts(one))) == [
        f"asks {API} in calls of tool0, tool1, tool2 and 6 more: GET /0, GET /1, GET /2 and 6 more"
    ]


def test_workers_that_saw_the_same_count_once():
    one = RunCounts(hosts=Counter(USES))
    one.add(RunCounts.from_data(one.as_data()))
    assert one.hosts == USES


def test_values_of_a_call_are_left_out_of_the_path():
    contact = Contact("api.example.com", 443, "GET", "/v2/users/example/items?q", is_encrypted=True)
    found = HostUse.of(contact, IN_CALL, "items", {"example"})
    assert (found.host, found.path) == (API, "/v2/users/{}/items?q")
