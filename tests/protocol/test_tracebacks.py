"""Exceptions in logs: the traceback of each runtime is read to its class, its message and its frames."""

import pytest

from mcp_conformance.protocol.tracebacks import Frame, exceptions_in

PLAIN = """\
starting
Traceback (most recent call last):
  File "/venv/lib/python3.12/site-packages/mcp/server/tools.py", line 179, in run
    result = await self.call(
             ^^^^^^^^^^^^^^^^
  File "/srv/shop.py", line 7, in mean
    return sum(values) / len(values)
           ~~~~~~~~~~~~^~~~~~~~~~~~~
ZeroDivisionError: division by zero
next line
"""
CHAINED = f"""{PLAIN}
The above exception was the direct cause of the following exception:

Traceback (most recent call last):
  File "/venv/lib/python3.12/site-packages/mcp/server/tools.py", line 213, in run
    raise UnexpectedToolError(name) from error
mcp.server.exceptions.UnexpectedToolError: Error executing tool mean
"""
GROUP = """\
  + Exception Group Traceback (most recent call last):
  |   File "/srv/shop.py", line 3, in main
  |     await everything()
  | ExceptionGroup: unhandled errors in a TaskGroup (1 sub-exception)
  +-+---------------- 1 ----------------
    | Traceback (most recent call last):
    |   File "/srv/shop.py", line 9, in price
    |     return PRICES[name]
    |            ~~~~~~^^^^^^
    | KeyError: 'x'
    +------------------------------------
"""
BOXED = """\
[10/01/26 10:00:00] Error calling tool 'mean'
                    ╭─────── Traceback (most recent call last) ───────╮
                    │ /venv/lib/python3.12/site-packages/fastmcp/serv │
                    │ er/server.py:1598 in call_tool                  │
                    │                                                 │
                    │           ... 10 frames hidden ...              │
                    │                                                 │
                    │ /srv/shop.py:7 in mean                          │
                    │                                                 │
                    │    5 def mean(values):                          │
                    │    6 │   if values is not None:                 │
                    │ ❱  7 │   │   return sum(values) / len(values)   │
                    │    8 │   return 0                               │
                    ╰─────────────────────────────────────────────────╯
                    ZeroDivisionError: division by zero
"""
STACK = """\
Error in tool: TypeError: Cannot read properties of undefined (reading 'length')
    at mean (file:///srv/shop.mjs:12:20)
    at async Server.handle (/srv/node_modules/@modelcontextprotocol/sdk/dist/server.js:80:9)
    at node:internal/process/task_queues:95:5
Error: no such user
    at find (/srv/shop.mjs:3:11)
"""
OWN = Frame("/srv/shop.py", 7, "return sum(values) / len(values)")


def test_plain_traceback_has_its_frames_and_their_code():
    (found,) = exceptions_in(PLAIN)
    assert (found.type, found.message, found.frames[-1]) == ("ZeroDivisionError", "division by zero", OWN)
    assert [frame.line for frame in found.frames] == [179, 7]


def test_chain_is_one_exception_with_its_causes():
    (found,) = exceptions_in(CHAINED.replace("next line\n", ""))
    assert found.type == "mcp.server.exceptions.UnexpectedToolError"
    assert [(one.type, one.frames[-1]) for one in found.causes] == [("ZeroDivisionError", OWN)]


def test_exception_of_a_group_is_found():
    found = exceptions_in(GROUP)[-1]
    assert (found.type, found.message) == ("KeyError", "'x'")
    assert found.frames == (Frame("/srv/shop.py", 9, "return PRICES[name]"),)


def test_box_is_read_also_where_a_path_is_broken():
    (found,) = exceptions_in(BOXED)
    assert (found.type, found.message, found.hidden) == ("ZeroDivisionError", "division by zero", 1)
    assert found.frames == (
        Frame("/venv/lib/python3.12/site-packages/fastmcp/server/server.py", 1598),
        OWN,
    )


def test_stack_of_node_ends_with_the_place_of_the_exception():
    first, second = exceptions_in(STACK)
    assert (first.type, first.frames[-1]) == ("TypeError", Frame("file:///srv/shop.mjs", 12, column=20))
    assert first.message == "Cannot read properties of undefined (reading 'length')"
    assert (second.type, second.message, second.frames[-1].line) == ("Error", "no such user", 3)


@pytest.mark.parametrize("text", [PLAIN, CHAINED, GROUP, BOXED, STACK])
def test_log_that_is_cut_anywhere_is_read_as_far_as_it_goes(text):
    lines = text.splitlines()
    for number in range(len(lines)):
        exceptions_in("\n".join(lines[:number]))
        exceptions_in("\n".join(lines[number:]))


@pytest.mark.parametrize("text", ["", "ValueError: 5", "    at noon (12:30)", "╭─ Traceback ─╮", "  │ │\n╰─"])
def test_other_lines_are_no_exceptions(text):
    assert exceptions_in(text) == []
