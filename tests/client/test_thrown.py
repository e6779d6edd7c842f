"""Exceptions of tools: what the runtime raised in the server's code is told from refusals and libraries."""

import pytest

from mcp_conformance.client.reply import Reply
from mcp_conformance.client.thrown import thrown
from mcp_conformance.protocol.jsonrpc import Line

SDK, LIBRARY = "/venv/lib/python3.12/site-packages/mcp/tools.py", "/venv/lib/python3.12/site-packages/xlib.py"
OWN, INSTALLED = "/srv/shop.py", "/venv/lib/python3.12/site-packages/shop/server.py"
RUNTIME = "/usr/lib/python3.12/json/decoder.py"
DIVIDES, REFUSES = "return total / count", 'raise ValueError("no such user")'


def traceback(last, *places):
    """Return a traceback with these places (file and code) and this last line."""
    frames = "".join(f'  File "{file}", line 5, in f\n    {code}\n' for file, code in places)
    return f"Traceback (most recent call last):\n{frames}{last}\n"


def reply(log, text="Error executing tool mean", **error):
    """Return the reply that reports an error, with what stood on stderr meanwhile."""
    result = {"content": [{"type": "text", "text": text}], "isError": True}
    message = {"error": error} if error else {"result": result}
    return Reply(Line.sending({}), Line.sending({}), message, log=log)


CALLS = (SDK, "return fn(**arguments)")
ZERO = "ZeroDivisionError: division by zero"
PROVEN = (
    traceback(ZERO, CALLS, (OWN, DIVIDES)),
    traceback(ZERO, CALLS, (INSTALLED, DIVIDES)),
    traceback("ValueError: max() arg is an empty sequence", CALLS, (OWN, "best = max(lines)")),
    traceback("OverflowError: date value out of range", CALLS, (OWN, "day += step")),
    traceback("KeyError: 'x'", CALLS, (OWN, "return PRICES[name]")),
    traceback("AssertionError", (OWN, "assert total"), (OWN, "assert count > 0")),
    traceback("TypeError: unsupported operand", CALLS, (RUNTIME, "return call()"), (OWN, "return a + b")),
)
REFUSALS = (
    traceback("ValueError: no such user", CALLS, (OWN, REFUSES)),
    traceback("KeyError: 'x'", CALLS, (OWN, "if name not in PRICES: raise KeyError(name)")),
    traceback("shop.NoSuchUser: x", CALLS, (OWN, "raise NoSuchUser(name) from None")),
    # A conversion names the value that it refuses.
    traceback("ValueError: Invalid isoformat string: 'x'", CALLS, (OWN, "date.fromisoformat(text)")),
    # The environment's, or a library's about its input.
    traceback("FileNotFoundError: [Errno 2] No such file: 'x'", CALLS, (OWN, "open(path)")),
    traceback("ModuleNotFoundError: No module named 'x'", CALLS, (OWN, "import x")),
    traceback("json.decoder.JSONDecodeError: Extra data", (OWN, "loads(text)"), (RUNTIME, "raise JSONDe")),
    traceback("sqlite3.OperationalError: near x", CALLS, (OWN, "db.execute(text)")),
    traceback("ValueError: bad shape", CALLS, (OWN, "xlib.fit(table)"), (LIBRARY, "raise ValueError(why)")),
    # Nothing of it is the server's.
    traceback(ZERO, CALLS, (SDK, DIVIDES)),
    traceback(ZERO, CALLS),
    "",
)


@pytest.mark.parametrize("log", PROVEN)
def test_what_the_runtime_raised_in_the_own_code_is_proven(log):
    found = thrown(reply(log))
    assert found is not None
    assert found.is_proven
    assert found.where in ("shop.py:5", "server.py:5")


@pytest.mark.parametrize("log", REFUSALS)
def test_refusals_and_libraries_are_no_defect(log):
    assert thrown(reply(log)) is None


def test_mistake_that_a_library_meets_is_only_likely():
    log = traceback("TypeError: not serializable", CALLS, (OWN, "dump(x)"), (LIBRARY, "raise TypeError()"))
    found = thrown(reply(log))
    assert str(found) == "TypeError: not serializable, shop.py:5"
    assert not found.is_proven


def test_exception_that_the_author_wraps_is_a_refusal():
    wrapped = traceback("ValueError: cannot be averaged", CALLS, (OWN, "raise ValueError(why) from error"))
    joint = "\nDuring handling of the above exception, another exception occurred:\n\n"
    assert thrown(reply(f"{PROVEN[0]}{joint}{wrapped}")) is None


def test_exception_that_the_sdk_wraps_is_the_tools():
    wrapped = traceback("mcp.UnexpectedToolError: Error executing tool", (SDK, "raise UnexpectedToolError"))
    joint = "\nThe above exception was the direct cause of the following exception:\n\n"
    assert str(thrown(reply(f"{PROVEN[0]}{joint}{wrapped}"))) == f"{ZERO}, shop.py:5"


def test_exception_that_the_server_handles_is_not_told():
    assert thrown(reply(PROVEN[4], "There is no article of that name.")) is None
    assert thrown(reply(PROVEN[0], code=-32602, message="An empty list has no mean.")) is None


@pytest.mark.parametrize(
    "message", ["Internal server error", "division by zero", "mean failed: division by zero"]
)
def test_internal_error_with_a_traceback_is_proven(message):
    assert thrown(reply(PROVEN[0], code=-32603, message=message)).is_proven


def test_words_alone_are_only_likely():
    found = thrown(reply("", "Error executing tool read: list index out of range"))
    assert (str(found), found.is_proven) == ("Error executing tool read: list index out of range", False)


def test_library_that_a_hidden_frame_calls_is_not_taken_for_the_server():
    box = "\n".join(
        f"│ {line:<70} │" if line else f"│{'':72}│"
        for line in (
            f"{SDK}:9 in call",
            "",
            "... 7 frames hidden ...",
            "",
            f"{LIBRARY}:5 in fit",
            "",
            "❱ 5 x / y",
        )
    )
    log = f"╭─ Traceback (most recent call last) ─╮\n{box}\n╰──╯\n{ZERO}\n"
    assert thrown(reply(log)) is None


SCRIPT = """\
const mean = (values) => values.total.count
const find = (name) => { throw new TypeError("name must not be empty") }
"""


@pytest.mark.parametrize(
    ("type", "line", "column", "is_defect"),
    [("TypeError", 1, 39, True), ("TypeError", 2, 32, False), ("SyntaxError", 1, 39, False)],
)
def test_source_shows_whether_an_exception_of_node_is_made_on_purpose(
    type, line, column, is_defect, tmp_path
):
    script = tmp_path / "shop.mjs"
    script.write_text(SCRIPT)
    frames = f"    at f ({script.as_uri()}:{line}:{column})\n    at node:internal/x:1:1\n"
    log = f"Error in tool: {type}: broken\n{frames}"
    found = thrown(reply(log, "broken"))
    assert (found is not None and found.is_proven) == is_defect


def test_stack_whose_source_is_elsewhere_proves_nothing():
    found = thrown(reply("TypeError: broken\n    at f (/nowhere/shop.mjs:1:5)\n", "broken"))
    assert found is not None
    assert not found.is_proven


def test_what_a_compiled_module_beside_the_file_raises_may_be_its_refusal(tmp_path):
    own = tmp_path / "server.py"
    log = traceback("ValueError: not found: flow x", CALLS, (own, "return native.get(id)"))
    assert thrown(reply(log)).is_proven
    (tmp_path / "_native.abi3.so").touch()
    assert thrown(reply(log)) is None
    divided = traceback(ZERO, CALLS, (own, DIVIDES))
    assert thrown(reply(divided)).is_proven
