"""What ended a process: the panic or exception at the end of its log, with the server's own line."""

import pytest

from mcp_conformance.client.reply import Closed
from mcp_conformance.protocol.last_words import last_words, panic_at

GO = """\
listening
panic: runtime error: integer divide by zero
[signal SIGFPE: floating-point exception code=0x1 addr=0x6f0 pc=0x6f0]

goroutine 11 [running]:
strings.Repeat({0x1, 0x2}, 0x3)
\t/usr/local/go/src/strings/strings.go:624 +0x5a
main.average({0x392ed52f4f50?, 0xd?}, 0x10?, {{0xa7fc00?, 0x392ed52e3dd0?, 0x2c?}})
\t/srv/shop/main.go:29 +0x3a
github.com/modelcontextprotocol/go-sdk/mcp.toolForErr[...].func1(0x392ed52e3d40)
\t/root/go/pkg/mod/github.com/modelcontextprotocol/go-sdk@v1.8.0/mcp/server.go:378 +0x229
created by main.main in goroutine 1
\t/srv/shop/main.go:9 +0x10
exit status 2
"""
RUST = """\
thread 'tokio-runtime-worker' (812) panicked at src/shop.rs:7:21:
index out of bounds: the len is 0 but the index is 0
note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace
"""
PYTHON = """\
Traceback (most recent call last):
  File "/srv/shop.py", line 7, in mean
    return sum(values) / len(values)
  File "/usr/lib/python3.12/statistics.py", line 3, in inner
    raise
ZeroDivisionError: division by zero
"""
NODE = """\
file:///srv/shop.mjs:12
  console.log(a.length);
                ^

TypeError: Cannot read properties of undefined (reading 'length')
    at Timeout._onTimeout (file:///srv/shop.mjs:12:17)
    at listOnTimeout (node:internal/timers:581:17)

Node.js v22.20.2
"""

GROUP = """\
  + Exception Group Traceback (most recent call last):
  |   File "/srv/shop.py", line 8, in <module>
  |     anyio.run(serve)
  | ExceptionGroup: unhandled errors in a TaskGroup (1 sub-exception)
  +-+---------------- 1 ----------------
    | Traceback (most recent call last):
    |   File "/srv/shop.py", line 63, in read
    |     async for line in stdin:
    |   File "<frozen codecs>", line 322, in decode
    | UnicodeDecodeError: 'utf-8' codec can't decode byte 0xff in position 147
    +------------------------------------
"""


@pytest.mark.parametrize(
    ("log", "status", "words"),
    [
        (GO, 2, "panic: runtime error: integer divide by zero, main.go:29"),
        (RUST, 101, "panic: index out of bounds: the len is 0 but the index is 0, shop.rs:7"),
        (PYTHON, 1, "ZeroDivisionError: division by zero, shop.py:7"),
        (
            *(GROUP, 1),
            "UnicodeDecodeError: 'utf-8' codec can't decode byte 0xff in position 147, shop.py:63",
        ),
        (PYTHON.replace("ZeroDivisionError: division by zero", "Gone"), 1, "Gone, shop.py:7"),
        (NODE, 1, "TypeError: Cannot read properties of undefined (reading 'length'), shop.mjs:12"),
    ],
    ids=["go", "rust", "python", "group", "python-without-message", "node"],
)
def test_what_ended_a_process_is_named_with_its_place(log, status, words):
    assert last_words(log, status) == words
    assert str(Closed(status, log)) == f"the server process ended (exit status {status}): {words}"


@pytest.mark.parametrize(
    ("log", "status"),
    [
        (GO, 1),
        (RUST, 0),
        (f"{PYTHON}stopping\n", 1),
        (PYTHON, 3),
        ("panic: button pressed\nall is well\n", 2),
        ("", 2),
        ("usage: server FILE\n", 2),
    ],
)
def test_a_log_that_goes_on_or_another_status_names_nothing(log, status):
    assert last_words(log, status) == ""
    assert str(Closed(status, log)) == f"the server process ended (exit status {status})"


def test_a_panic_is_shown_from_its_begin():
    assert panic_at(GO) == GO.index("panic:")
    assert panic_at(RUST) is None
