"""Protocol fuzzing: broken lines, ids of every kind, many requests at once, and all of it in any order.

Two processes take broken lines, a third one right messages only.  Each conversation is held once; then every
check looks at what came back for its own rule.
"""

from __future__ import annotations

import json

import pytest
from hypothesis import HealthCheck, Phase, Verbosity, given, seed, settings
from hypothesis import strategies as st
from hypothesis.errors import Flaky
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule, run_state_machine_as_test

from conformance.value import members
from conformance.verdict import Blocked, Finding, NotExercised, heard, not_exercised, some
from conformance.wire import ABSENT, Line, encode, id_key, shorten, show

SEED = 0
EXAMPLES = 10
STEPS = 15
RANDOM_LINES = 40
MOST_REPEATS = 60
PATIENCE = 10.0
GRACE = 1.0
QUICK = 0.5
MOST_LINES = 6
MOST_CALLED = 20
MOST_PROCESSES = 4
AT_ONCE = 16
UNKNOWN = "conformance/no-such-method"
BROKEN_ID = "conformance broken line"
DEEP = 5000
MEBIBYTE = 2**20
PING = b'{"jsonrpc":"2.0","id":"conformance broken line","method":"ping"}'


def damaged(**changes):
    """A ping with some members changed, or left out if they are `ABSENT`."""
    message = {"jsonrpc": "2.0", "id": BROKEN_ID, "method": "ping", **changes}
    return encode({name: value for name, value in message.items() if value is not ABSENT})


def with_params(params):
    """A ping with params, its id to be put in."""
    return b'{"jsonrpc":"2.0","id":%d,"method":"ping","params":' + params + b"}"


OWN = "cut-short"
# fmt: off
BROKEN_LINES = {
    "not-json": (
        b"", b" \t ", b"hello", b"GET / HTTP/1.1", b"Content-Length: 20\r", b"\r", b"\x00", b"\x00" * 64,
        PING + PING, PING + b" " + PING, PING + b"]", b"\xef\xbb\xbf" + PING, PING.replace(b'"', b"'"), b"-",
        PING[:-1] + b",}", b'{"jsonrpc":"2.0",,"method":"ping"}', b"// " + PING, b"NaN", b"\xff\xfe",
        PING.replace(b"broken", b"\xc3\x28"), PING.replace(b"broken", b"\xed\xa0\x80"), b"\xc3(", b"01",
        PING[:-1] + b',"params":{"n":NaN}}', PING[:-1] + b',"params":{"n":-Infinity}}', b"nul", b"tru", b"\\",
        PING.replace(b"broken", b"\x00"), PING.replace(b"broken", b"\\x"), PING.replace(b"broken", b"\t"),
    ),
    "no-message": (
        b"null", b"true", b"0", b"-1.5e3", b"1e400", b'""', b'"ping"', b"[]", b"{}", b"[[]]", b"[1]", b"[{}]",
        b'{"jsonrpc":"2.0"}', b'{"a":1}', b'{"":null}', b'{"__proto__":{"method":"ping"}}',
        *(damaged(method=ABSENT, **more) for more in ({}, {"id": ABSENT, "params": {}}, {"result": 1})),
        b'{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Invalid Request"}}',
        b'{"jsonrpc":"2.0","id":"conformance never asked","result":{}}',
        b'{"jsonrpc":"2.0","id":"conformance never asked","result":{},"error":{"code":0,"message":""}}',
    ),
    "wrong-members": (
        *(damaged(jsonrpc=version) for version in (ABSENT, "1.0", 2.0, None, "", [], "2.0 ")),
        *(damaged(method=method) for method in (1, None, True, [], {}, ["ping"])),
        *(damaged(id=id) for id in (None, True, 1.5, [], {}, [1], {"a": 1})),
        *(damaged(params=params) for params in ("text", 1, None, True, [], ["a"], {"_meta": []})),
        PING[:-1] + b',"method":"tools/list"}', PING[:-1] + b',"id":"conformance broken line"}',
        PING[:-1] + b',"params":{"a":1,"a":2}}', damaged(result={}), damaged(error={"code": 1}),
    ),
    "huge": (
        b"[" * DEEP + b"]" * DEEP, b'{"a":' * DEEP + b"1" + b"}" * DEEP, b"]" * DEEP, b"9" * 10_000,
        b"x" * MEBIBYTE, b'"' + b"x" * MEBIBYTE + b'"', b" " * MEBIBYTE,
        b"{" + b",".join(b'"m%d":0' % number for number in range(20_000)) + b"}",
    ),
    OWN: (
        PING[:-1], PING[: PING.index(b":")], PING[:-3], b"{", b"[", b'"', b'{"jsonrpc":', b'{"a":[{"b":',
        PING[:-1] + b',"params":{"a":"\\u00', b"[" + PING, PING[:-1] + b',"params":{"n":-', b"[" * DEEP,
    ),
}
"""Lines that are no message, by what is wrong with them.

None of them can do harm: the only method named with an id is ping.  A line that is cut short may be taken
together with the next one by a server that does not read by the line.
"""

IDS = (
    0, -1, 2**31 - 1, 2**31, 2**32, -(2**31) - 1, 2**53 - 1, -(2**53) + 1,
    "", "0", "1", "-1", "1.0", "null", "true", " 1 ", "undefined", "x" * 1000, "0" * 100, "__proto__",
    'a "quoted" \\ id', "tab\tand\nnewline", "\u00e9\u6f22\U0001f600", "e\u0301", "\u2028", "\u202eright",
    "a/b?c=d&e#f", "%s %d {0} ${x}", "\x00", "3fa85f64-5717-4562-b3fc-2c963f66afa6",
)
"""Ids that every server has to take.  The opening of a session has used 1, so ``"1"`` stands beside it."""

LARGE_IDS = (2**53 + 1, 2**64)

ODD_REQUESTS = {
    "params nested 500 deep": with_params(b'{"a":' + b"[" * 500 + b"]" * 500 + b"}"),
    "params nested 5,000 deep": with_params(b'{"a":' + b"[" * DEEP + b"]" * DEEP + b"}"),
    "a string of 1 MiB": with_params(b'{"a":"' + b"x" * MEBIBYTE + b'"}'),
    "a NUL escape": with_params(b'{"a":"\\u0000"}'),
    "half a surrogate pair": with_params(b'{"a":"\\ud800"}'),
    "the number 1e400": with_params(b'{"a":1e400}'),
    "an empty name": with_params(b'{"":{"":""}}'),
    "an unknown member of _meta": with_params(b'{"_meta":{"org.example/a":[1]}}'),
    "an unknown member": b'{"jsonrpc":"2.0","id":%d,"method":"ping","conformance":true}',
    "the members in another order": b'{"method":"ping","params":{},"id":%d,"jsonrpc":"2.0"}',
    "blanks around everything": b' \t{ "jsonrpc" :\t"2.0" , "id" : %d , "method" : "ping" } \t\r',
    "escapes in names and method": b'{"jsonrp\\u0063":"2.0","id":%d,"method":"p\\u0069ng"}',
}
"""Requests that are right and hard to read."""
# fmt: on

NOTIFICATIONS = tuple(
    {"jsonrpc": "2.0", "method": method} | ({} if params is None else {"params": params})
    for method, params in (
        ("notifications/initialized", None),
        ("notifications/conformance", None),
        (UNKNOWN, {}),
        ("ping", None),
        ("notifications/cancelled", {"requestId": "conformance never asked"}),
        ("notifications/cancelled", {"requestId": {"a": 1}}),
        ("notifications/cancelled", None),
        ("notifications/progress", {"progressToken": "conformance never given", "progress": 1}),
    )
)


# Broken lines ------------------------------------------------------------------------------------


@pytest.mark.requirement("jsonrpc.garbage-not-fatal")
@pytest.mark.parametrize("what", BROKEN_LINES)
def test_a_request_after_a_broken_line_is_answered(server, what):
    raise_any(broken_talk(server).troubles.get(what))


@pytest.mark.requirement("jsonrpc.garbage-not-fatal")
def test_a_request_after_a_random_line_is_answered(server):
    raise_any(broken_talk(server).troubles.get("random"))


@pytest.mark.requirement("jsonrpc.response-every-request")
def test_a_request_that_is_hard_to_read_is_answered(server):
    talk = broken_talk(server)
    raise_any(talk.troubles.get("odd"))
    if talk.unanswered:
        names = [name for name, _ in talk.unanswered]
        raise Finding("an answer to each ping", f"none to one with {', '.join(names)}", talk.unanswered[0][1])


@pytest.mark.requirement("jsonrpc.error-id-unreadable")
def test_an_answer_to_a_broken_line_makes_up_no_id(server):
    talk = broken_talk(server)
    for sent, line, id in some(talk.answers, "the server does not answer broken lines"):
        if id is not ABSENT:
            raise Finding("the id of the line, null or none", f"id {show(id)}", (sent, line))


@pytest.mark.requirement("stdio.stdout-purity")
def test_nothing_but_messages_is_on_stdout_whatever_was_sent(server):
    noise = [
        line
        for talk in (broken_talk(server), right_talk(server))
        for line in talk.lines
        if line.fault.startswith(("not JSON", "not UTF-8"))
    ]
    if noise:
        raise Finding(
            "JSON-RPC messages only", f"{len(noise)} other lines, first {noise[0].text!r}", noise[:3]
        )


# Ids and many requests ---------------------------------------------------------------------------


@pytest.mark.requirement("jsonrpc.id-types-accepted")
def test_an_id_of_any_kind_is_accepted(server):
    talk = right_talk(server)
    raise_any(talk.troubles.get("ids"))
    wrong = [(id, lines) for id, what, lines in talk.ids if what == "refused"]
    if wrong:
        refused = ", ".join(show(id, 40) for id, _ in wrong)
        raise Finding("the answer that any ping has", f"an error for the ids {refused}", wrong[0][1])
    lost = [(id, lines) for id, what, lines in talk.ids if what == "lost"]
    if lost:
        raise Blocked(
            f"a ping with id {', '.join(show(id, 40) for id, _ in lost)} is never answered", lost[0][1]
        )


@pytest.mark.requirement("jsonrpc.id-types-accepted")
def test_an_integer_id_beyond_2_to_the_53_is_accepted_and_kept(server):
    talk = right_talk(server)
    raise_any(talk.troubles.get("large ids"))
    wrong = [(id, what, lines) for id, what, lines in talk.large_ids if what != "right"]
    if wrong:
        got = ", ".join(f"{show(id)}: {what}" for id, what, _ in wrong)
        raise Finding("an answer with the id of the request", got, wrong[0][2])


@pytest.mark.requirement("jsonrpc.response-every-request")
def test_each_of_16_requests_in_flight_is_answered(server):
    raise_any(right_talk(server).troubles.get("many"))


@pytest.mark.requirement("jsonrpc.response-every-request")
def test_a_request_is_answered_whatever_came_before(server):
    talk = right_talk(server)
    for stage in ("notifications", "calls", "any order"):
        raise_any(talk.troubles.get(stage))


# What holds for all that came back on right messages ---------------------------------------------


@pytest.mark.requirement("jsonrpc.response-id-echo")
def test_an_answer_has_the_id_of_its_request(server):
    raise_any(right_talk(server).findings.get("jsonrpc.response-id-echo"))


@pytest.mark.requirement("jsonrpc.response-exactly-once")
def test_a_request_is_answered_once(server):
    raise_any(right_talk(server).findings.get("jsonrpc.response-exactly-once"))


@pytest.mark.requirement("jsonrpc.no-response-to-notification")
def test_a_notification_is_not_answered(server):
    raise_any(right_talk(server).findings.get("jsonrpc.no-response-to-notification"))


@pytest.mark.requirement("jsonrpc.result-xor-error")
def test_an_answer_has_either_a_result_or_an_error(server):
    raise_any(right_talk(server).findings.get("jsonrpc.result-xor-error"))


@pytest.mark.requirement("jsonrpc.result-object")
def test_a_result_is_an_object(server):
    raise_any(right_talk(server).findings.get("jsonrpc.result-object"))


@pytest.mark.requirement("jsonrpc.version-member")
def test_a_message_says_that_it_is_json_rpc_2(server):
    raise_any(right_talk(server).findings.get("jsonrpc.version-member"))


@pytest.mark.requirement("jsonrpc.message-shape")
def test_a_line_is_a_message(server):
    raise_any(right_talk(server).findings.get("jsonrpc.message-shape"))


@pytest.mark.requirement("progress.token-known")
def test_progress_names_a_token_that_was_given(server):
    raise_any(progress_of(server).findings.get("progress.token-known"))


@pytest.mark.requirement("progress.increasing")
def test_progress_grows(server):
    raise_any(progress_of(server).findings.get("progress.increasing"))


def progress_of(server):
    """The conversation, if there was any progress in it."""
    talk = right_talk(server)
    told = [line for line in talk.lines for part in line.parts() if is_progress(line, part)]
    some(told, "no tool that may be called and is quick told its progress")
    return talk


def raise_any(trouble):
    if trouble is not None:
        raise trouble


# The conversation of broken lines ----------------------------------------------------------------


class Stop(BaseException):
    """Ends a run of Hypothesis at once: what it would do next costs more than it tells."""


class Talk:
    """What came of a conversation: the trouble of each stage, and the findings for each rule.

    ``ids`` and ``large_ids`` hold the id, ``right``, ``refused``, ``lost`` or another id, and the lines.
    Of broken lines, ``answers`` holds each answer with the id it made up, ``read`` the ids that can be read.
    """

    def __init__(self):
        self.troubles = {}
        self.findings = {}
        self.lines = []
        self.ids = []
        self.large_ids = []
        self.unanswered = []
        self.answers = []
        self.read = {key_of(BROKEN_ID)}


TALKS = {}


def held_once(server, hold):
    """The talk that ``hold`` has with the server, held for the first check that asks for it."""
    if (server, hold) not in TALKS:
        TALKS[server, hold] = hold(server)
    return TALKS[server, hold]


def broken_talk(server):
    return held_once(server, hold_broken_talk)


def right_talk(server):
    return held_once(server, hold_right_talk)


def connect(server):
    """A process of our own, apart from the conversations that other checks judge."""
    session = server.connect()
    server.sessions.remove(session)
    return session


def hold_broken_talk(server):
    talk, sessions = Talk(), []

    def usable(*, own):
        if any(session.silent for session in sessions):
            not_exercised("the server fell silent before: see the blocked check")
        if own or not sessions or sessions[-1].closed:
            if len(sessions) >= MOST_PROCESSES:
                not_exercised(f"{MOST_PROCESSES} processes took broken lines, and no more are started")
            for session in sessions:
                session.close()
            sessions.append(connect(server))
        return sessions[-1]

    stages = {"odd": lambda session: each_odd(talk, session)}
    stages |= {
        what: lambda session, w=what: each_broken(talk, session, BROKEN_LINES[w]) for what in BROKEN_LINES
    }
    stages["random"] = lambda session: each_random(talk, session)
    stages[OWN] = stages.pop(OWN)  # the last one
    try:
        for stage, hold in stages.items():
            talk.troubles[stage] = trouble_in(lambda hold=hold, own=stage == OWN: hold(usable(own=own)))
    finally:
        for session in sessions:
            session.close()
            talk.lines += session.lines
    return talk


def trouble_in(stage):
    """What a stage raised, or None."""
    try:
        stage()
    except (Finding, Blocked, NotExercised) as trouble:
        return trouble
    return None


def each_broken(talk, session, lines):
    for raw in lines:
        send_broken(talk, session, raw)


def send_broken(talk, session, raw):
    """Send a broken line; raise `Blocked` or `Finding` if the requests after it are not answered."""
    sent, window = beside_two_pings(session, raw)
    talk.read.add(key_of(id_of(raw)))
    for line, part in window.unasked:
        id = part.get("id")
        read = id is None or "\ufffd" in str(id) or key_of(id) in talk.read
        talk.answers.append((sent, line, ABSENT if read else id))
    if window.unanswered:
        got = f"only the one after it, after {shorten(sent.text, 200)}"
        raise Finding("an answer to the next request", got, (sent, window.unanswered[0]))


def id_of(raw):
    """The id in a line, if one can be read."""
    try:
        message = json.loads(raw)
    except (ValueError, RecursionError):
        return None
    return message.get("id") if isinstance(message, dict) else None


def each_random(talk, session):
    """Send damaged messages and random JSON."""
    held = []

    @seed(SEED)
    @settings(QUIET, max_examples=RANDOM_LINES, phases=[Phase.generate])
    @given(damaged_lines())
    def send(raw):
        try:
            send_broken(talk, session, raw)
        except (Finding, Blocked) as trouble:
            held.append(trouble)
            raise Stop from trouble

    try:
        send()
    except Stop:
        raise held[0] from None


QUIET = settings(
    deadline=None,
    database=None,
    derandomize=False,
    print_blob=False,
    report_multiple_bugs=False,
    verbosity=Verbosity.quiet,
    suppress_health_check=list(HealthCheck),
)


@st.composite
def damaged_lines(draw):
    """A ping with bytes put in, left out or replaced; or any JSON value that is no message."""
    if draw(st.integers(0, 3)) == 0:
        return json.dumps(draw(values()), ensure_ascii=draw(st.booleans())).encode("utf-8", "surrogatepass")
    raw = bytearray(PING)
    for _ in range(draw(st.integers(1, 3))):
        start = draw(st.integers(0, len(raw)))
        length = draw(st.sampled_from([0, 1, 1, 2, 8]))
        raw[start : start + length] = draw(st.sampled_from(PIECES) | st.binary(max_size=4))
    return bytes(raw).replace(b"\n", b" ")


PIECES = (
    b"",
    b'"',
    b"{",
    b"}",
    b"[",
    b"]",
    b",",
    b":",
    b"\\",
    b"\x00",
    b"\xff",
    b"null",
    b"1e9",
    b"-",
    b"\r",
)


def values():
    leaves = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20)
    names = st.sampled_from(["jsonrpc", "id", "params", "result", "error"]) | st.text(max_size=5)
    return st.recursive(
        leaves, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(names, inner, max_size=4)
    )


def each_odd(talk, session):
    for number, (name, form) in enumerate(ODD_REQUESTS.items()):
        id = 1_000_000 + number
        sent, window = beside_two_pings(session, form % id, {"id": id, "method": "ping"})
        refused = any(part.get("id") is None for _, part in window.unasked)  # it says that it cannot read it
        if sent in window.unanswered and not refused:
            talk.unanswered.append((name, (sent,)))


def beside_two_pings(session, raw, message=ABSENT):
    """Send a line and two pings, and wait for the second ping: the line, and what came back.

    Two, because a server may take a line that is cut short together with the next one.  Raises `Blocked` if
    the second ping is not answered.
    """
    before = Window(session.lines)
    sent = session.send_raw(raw, message)
    session.send("ping")
    reply = session.await_reply(session.send("ping"), min(session.timeout, PATIENCE))
    if reply.fault is not None:
        reason = f"after the line {shorten(sent.text, 200)!r}: {reply.fault}"
        raise Blocked(reason, (sent, *reply.lines), reply.fault.stderr)
    session.wait_for(lambda: is_over(Window(session.lines, before), sent), GRACE)
    return sent, Window(session.lines, before)


def is_over(window, sent):
    return not window.unanswered or (window.unanswered == [sent] and window.unasked)


# The conversation of right messages --------------------------------------------------------------


def hold_right_talk(server):
    talk = Talk()
    calls = [call for call in server.calls() if call.reply.fault is None and call.reply.seconds < QUICK]
    session = connect(server)
    stages = {
        "ids": lambda: each_id(session, talk, IDS, talk.ids),
        "large ids": lambda: each_id(session, Talk(), LARGE_IDS, talk.large_ids),
        "notifications": lambda: each_notification(session, talk),
        "many": lambda: many_at_once(server, session, talk),
        "calls": lambda: each_call(session, talk, calls),
        "any order": lambda: in_any_order(server, session, talk, calls),
    }
    try:
        for stage, hold in stages.items():
            if any(isinstance(trouble, Blocked) for trouble in talk.troubles.values()):
                talk.troubles[stage] = NotExercised("the conversation ended before: see the blocked check")
                continue
            talk.troubles[stage] = trouble_in(hold)
    finally:
        session.close()
        talk.lines = session.lines
    return talk


def note(talk, window):
    """Keep for each rule the finding with the fewest lines."""
    keep(talk, broken_rules(window))


def keep(talk, found):
    for requirement, finding in found:
        known = talk.findings.get(requirement)
        if known is None or len(finding.lines) < len(known.lines):
            talk.findings[requirement] = finding


def each_id(session, talk, ids, told):
    """Ping under each id, and tell what became of it."""
    usual = session.request("ping")
    for id in ids:
        message = {"jsonrpc": "2.0", "id": id, "method": "ping"}
        sent, window = beside_two_pings(session, encode(message), message)
        note(talk, window)
        came = window.answers.get(key_of(id))
        if came is None:
            other = window.unasked[0] if window.unasked else None
            what = "lost" if other is None else f"answered with id {show(other[1].get('id'))}"
            told.append((id, what, (sent,) if other is None else (sent, other[0])))
        else:
            refused = came[0][1].get("error") is not None and usual.error is None
            told.append((id, "refused" if refused else "right", (sent, came[0][0])))


def each_notification(session, talk):
    """Send each notification, and pings after it."""
    for message in NOTIFICATIONS:
        _, window = beside_two_pings(session, encode(message), message)
        note(talk, window)


def many_at_once(server, session, talk):
    """Send requests in one write; each must be answered with its own id and in its own way."""
    methods = ("ping", UNKNOWN, "tools/list" if server.declares("tools") else "ping")
    alone = [session.request(method, timeout=min(session.timeout, PATIENCE)) for method in methods]
    usual = {reply.method: form_of(heard(reply).message) for reply in alone}
    before = Window(session.lines)
    messages = [
        {"jsonrpc": "2.0", "id": id if number % 2 else str(id - 1), "method": methods[number % 3]}
        for number, id in enumerate(range(2_000_000, 2_000_000 + AT_ONCE))
    ]
    for message in messages:
        session.lines.append(Line(sent=True, raw=encode(message), at=session.process.age, message=message))
    session.process.write(b"".join(encode(message) + b"\n" for message in messages))
    window = wait_for_answers(session, before, lambda window: note(talk, window))
    for id, request in window.asked.items():
        method = request.message["method"]
        for line, answer in window.answers.get(id, ()):
            if form_of(answer) != usual[method]:
                wanted = f"{usual[method]}, as {method} alone is answered"
                finding = Finding(wanted, form_of(answer), (request, line))
                keep(talk, [("jsonrpc.response-id-echo", finding)])


def form_of(answer):
    """What an answer is, roughly."""
    if answer.get("error") is not None:
        return "an error"
    result = answer.get("result")
    return "a list of tools" if isinstance(result, dict) and "tools" in result else "a result without tools"


def each_call(session, talk, calls):
    """Call the first tools at once, each with a token; those that told progress again with other tokens."""
    before = Window(session.lines)
    for number, call in enumerate(calls[:MOST_CALLED]):
        send_call(session, call, first_token(number))
    wait_for_answers(session, before, lambda window: note(talk, window))
    before = Window(session.lines)
    for number, call in enumerate(telling(session, calls), 1_500_000):
        for token in (None, number, f"token {number}"):
            send_call(session, call, token)
    wait_for_answers(session, before, lambda window: note(talk, window))


def first_token(number):
    return number if number % 2 else f"token {number}"


def telling(session, calls):
    """The calls that told their progress when they were called first."""
    told = {token_of(part) for line in session.lines for part in line.parts() if is_progress(line, part)}
    return [call for number, call in enumerate(calls[:MOST_CALLED]) if key_of(first_token(number)) in told]


def send_call(session, call, token=None):
    params = {"name": call.tool.name, "arguments": call.arguments}
    if token is not None:
        params["_meta"] = {"progressToken": token}
    return session.send("tools/call", params)


def wait_for_answers(session, before, look):
    """Wait until all that was asked is answered, and ``look`` at what came.

    Raises `Blocked` if an answer is missing, and none came under another id.
    """

    def come():
        return Window(session.lines, before)

    session.wait_for(lambda: len(come().extra) >= len(come().unanswered), min(session.timeout, PATIENCE))
    session.wait_for(lambda: not come().unanswered, GRACE)
    window, blocked = come(), None
    if window.unanswered and (session.closed or not window.extra):
        sent, after = window.unanswered[0], session.settle()
        what = shorten(f"{sent.message['method']} with id {show(sent.message['id'], 60)}", 120)
        reason = f"{what} was never answered: {after.fault or 'a later ping is answered'}"
        blocked = Blocked(reason, lines_around(window, sent), getattr(after.fault, "stderr", ""))
        window.unanswered = []
    look(window)
    raise_any(blocked)
    return window


def lines_around(window, sent):
    """The whole window if it is short, else what was sent around a line."""
    if len(window.lines) <= MOST_LINES:
        return window.lines
    ours = [line for line in window.lines if line.sent]
    start = max(0, ours.index(sent) - MOST_LINES + 2)
    return ours[start : start + MOST_LINES]


# In any order ------------------------------------------------------------------------------------


def in_any_order(server, session, talk, calls):
    """Let Hypothesis hold many short conversations; then more for each broken rule, to shorten it."""
    hunt = Hunt()
    first = telling(session, calls)
    machine = machine_for(server, session, hunt, first + [call for call in calls if call not in first])
    run_machine(machine, hunt, [Phase.generate])
    for requirement in list(hunt.found):
        hunt.wanted, hunt.left = requirement, MOST_REPEATS
        run_machine(machine, hunt, [Phase.generate, Phase.shrink])
    keep(talk, ((requirement, finding) for requirement, (_, finding) in hunt.found.items()))
    raise_any(hunt.blocked)


def run_machine(machine, hunt, phases):
    """Run the machine; the hunt keeps what is found, so what Hypothesis makes of it does not matter."""
    chosen = settings(QUIET, max_examples=EXAMPLES, stateful_step_count=STEPS, phases=phases)
    try:
        run_state_machine_as_test(machine, settings=chosen)
    except (Stop, Finding):
        return
    except Flaky:
        if hunt.wanted is None:
            raise  # then it is a mistake of ours: only a hunt raises what the server does


class Hunt:
    """The rules that were found broken, each with its finding and the length of the conversation around it.

    ``wanted`` is the rule whose findings are raised, for at most ``left`` more looks.
    """

    def __init__(self):
        self.found = {}
        self.blocked = None
        self.wanted = None
        self.left = 0

    def look(self, window):
        """Keep what was broken in a window; raise it if it is what is wanted."""
        wanted, lines = None, window.lines
        for requirement, finding in broken_rules(window):
            if len(finding.lines) <= len(lines) <= MOST_LINES:
                finding.lines = tuple(lines)
            if requirement not in self.found or len(lines) < self.found[requirement][0]:
                self.found[requirement] = (len(lines), finding)
            wanted = finding if requirement == self.wanted else wanted
        self.left -= 1
        if self.wanted is not None and self.left < 0:
            raise Stop
        raise_any(wanted)


def machine_for(server, session, hunt, calls):
    """A state machine whose steps are what the server offers."""
    lists = server.listing()
    uris = [uri.json for uri in members(server.listed("resources/list"), "uri") if uri.is_a(str)]
    has_calls, has_levels = bool(calls), server.declares("logging")
    subscribes = bool(uris) and server.declares("resources", "subscribe")

    class InAnyOrder(RuleBasedStateMachine):
        def __init__(self):
            super().__init__()
            self.before, self.over = Window(session.lines), False

        @rule(method=st.sampled_from(["ping", UNKNOWN, *lists]), text=st.booleans())
        def ask(self, method, text):
            session.send(method, id=f"conformance {len(session.lines)}" if text else ABSENT)

        @precondition(lambda _: has_calls)
        @rule(call=st.sampled_from(calls or [None]), token=st.sampled_from([None, "text", "number"]))
        def call(self, call, token):
            number = 3_000_000 + len(session.lines)
            send_call(session, call, {None: None, "text": f"token {number}", "number": number}[token])

        @rule(method=st.sampled_from(["ping", *lists]))
        def ask_and_cancel(self, method):
            sent = session.send(method)
            session.notify("notifications/cancelled", {"requestId": sent.message["id"], "reason": "test"})

        @precondition(lambda _: has_calls)
        @rule(call=st.sampled_from(calls or [None]))
        def call_and_cancel(self, call):
            sent = send_call(session, call, f"token {3_000_000 + len(session.lines)}")
            session.notify("notifications/cancelled", {"requestId": sent.message["id"]})

        @rule(message=st.sampled_from(NOTIFICATIONS))
        def notify(self, message):
            session.send_message(message)

        @precondition(lambda _: has_levels)
        @rule(level=st.sampled_from(["debug", "info", "error", "emergency"]))
        def set_level(self, level):
            session.send("logging/setLevel", {"level": level})

        @precondition(lambda _: subscribes)
        @rule(uri=st.sampled_from(uris or [None]), method=st.sampled_from(["subscribe", "unsubscribe"]))
        def subscribe(self, uri, method):
            session.send(f"resources/{method}", {"uri": uri})

        @rule()
        def wait(self):
            self.over = True  # unless all of this succeeds
            try:
                wait_for_answers(session, self.before, hunt.look)
            except Blocked as blocked:
                hunt.blocked = hunt.blocked or blocked
                raise Stop from blocked
            self.over = False

        def teardown(self):
            if not self.over:
                self.wait()

    return seed(SEED)(InAnyOrder)


# The rules of a conversation ---------------------------------------------------------------------


class Window:
    """What was asked and what came back after ``before``, another window, or else from the first line on.

    ``asked`` are the requests by id, ``answers`` their answers, ``unasked`` the answers under other ids,
    ``extra`` those and all second ones, ``unanswered`` the requests neither answered nor cancelled.
    """

    def __init__(self, lines, before=None):
        since = 0 if before is None else before.until
        self.until, self.lines, self.before = len(lines), lines[since:], before
        self.asked, self.answers, self.unasked, self.notified = {}, {}, [], []
        self.tokens = {} if before is None else dict(before.tokens)
        self.owed = set() if before is None else set(before.owed)
        cancelled = set()
        for line in self.lines:
            message = line.message
            if not line.sent:
                for part in line.parts():
                    if is_answer(part):
                        self._take(line, part)
            elif isinstance(message, dict) and "method" in message:
                params = message.get("params") if isinstance(message.get("params"), dict) else {}
                if "id" in message:
                    self.asked[key_of(message["id"])] = line
                    self.tokens.update(token_given(params, line))
                else:
                    self.notified.append(line)
                    if message["method"] == "notifications/cancelled":
                        cancelled.add(key_of(params.get("requestId")))
        second = [answer for came in self.answers.values() for answer in came[1:]]
        self.extra = [*self.unasked, *second]
        still_open = self.asked.keys() - self.answers.keys()
        self.owed |= still_open
        self.unanswered = [line for id, line in self.asked.items() if id in still_open - cancelled]

    def _take(self, line, part):
        id = key_of(part.get("id"))
        if id in self.asked:
            self.answers.setdefault(id, []).append((line, part))
        elif id in self.owed:
            self.owed.discard(id)
        else:
            self.unasked.append((line, part))

    def request(self, id):
        """The request that had an id, in this window or before; None if there was none."""
        earlier = self.before.request(id) if self.before is not None else None
        return self.asked.get(id, earlier)

    def answers_to(self, id):
        """The answers to a request, in this window and before."""
        earlier = self.before.answers_to(id) if self.before is not None else []
        return [*earlier, *self.answers.get(id, ())]


def key_of(id):
    """A key that holds "1" and 1 apart, but not 1 and 1.0, which JSON does not tell apart either."""
    return id_key(int(id) if isinstance(id, float) and id.is_integer() else id)


def is_answer(part):
    return (
        isinstance(part, dict)
        and "method" not in part
        and any(name in part for name in ("id", "result", "error"))
    )


def is_progress(line, part):
    return not line.sent and isinstance(part, dict) and part.get("method") == "notifications/progress"


def token_given(params, line):
    meta = params.get("_meta")
    given = isinstance(meta, dict) and "progressToken" in meta
    return {key_of(meta["progressToken"]): line} if given else {}


def token_of(part):
    params = part.get("params")
    return key_of(params.get("progressToken") if isinstance(params, dict) else None)


def broken_rules(window):
    """Each rule that was broken, with a finding."""
    yield from wrong_ids(window)
    yield from wrong_answers(window)
    yield from wrong_messages(window.lines)
    yield from wrong_progress(window)


def wrong_ids(window):
    for line, part in window.extra:
        id = part.get("id", ABSENT)
        earlier = window.request(key_of(part.get("id")))
        if window.unanswered:
            request = window.unanswered[0]
            finding = Finding(f"id {show(request.message['id'])}", f"id {show(id)}", (request, line))
            yield "jsonrpc.response-id-echo", finding
        elif earlier is not None:
            answers = [one for one, _ in window.answers_to(key_of(id))]
            lines = (earlier, *answers) if line in answers else (earlier, *answers, line)
            finding = Finding("one answer", "another one", lines)
            yield "jsonrpc.response-exactly-once", finding
        elif id in (ABSENT, None):  # the handshake had a notification, so there is always one
            told = [one for one in window.notified if one.at <= line.at] or window.notified
            finding = Finding("no answer to a notification", "one", (*told[-1:], line))
            yield "jsonrpc.no-response-to-notification", finding
        else:
            finding = Finding("an id that a request had", f"id {show(id)}", (line,))
            yield "jsonrpc.response-id-echo", finding


def wrong_answers(window):
    for id, came in window.answers.items():
        for line, part in came:
            lines = (window.asked[id], line)
            if ("result" in part) == ("error" in part):
                got = "both" if "result" in part else "neither"
                yield "jsonrpc.result-xor-error", Finding("either a result or an error", got, lines)
            if "result" in part and not isinstance(part["result"], dict):
                finding = Finding("an object as result", show(part["result"]), lines)
                yield "jsonrpc.result-object", finding


def wrong_messages(lines):
    for line in lines:
        if line.sent:
            continue
        if isinstance(line.message, list):
            finding = Finding("a message", "an array, though no array was sent", (line,))
            yield "jsonrpc.message-shape", finding
        for part in line.parts():
            named = isinstance(part, dict) and isinstance(part.get("method"), str)
            if not named and not is_answer(part):
                finding = Finding("a request, a notification or an answer", show(part), (line,))
                yield "jsonrpc.message-shape", finding
            elif part.get("jsonrpc") != "2.0":
                finding = Finding('jsonrpc with the string "2.0"', show(part.get("jsonrpc", ABSENT)), (line,))
                yield "jsonrpc.version-member", finding


def wrong_progress(window):
    last = {}
    for line in window.lines:
        for part in line.parts():
            if not is_progress(line, part):
                continue
            token, value = token_of(part), progress_in(part)
            if token not in window.tokens:
                finding = Finding("a token that was given", show(part.get("params")), (line,))
                yield "progress.token-known", finding
            elif value is not None:
                if token in last and value <= last[token][0]:
                    lines = (window.tokens[token], last[token][1], line)
                    finding = Finding(f"more than {show(last[token][0])}", show(value), lines)
                    yield "progress.increasing", finding
                last[token] = (value, line)


def progress_in(part):
    value = part["params"].get("progress")
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None
