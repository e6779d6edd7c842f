"""A server object in this process: it answers, ends with its input, and what ends it is known."""

import asyncio
import sys
from contextlib import asynccontextmanager
from types import ModuleType, SimpleNamespace

import pytest

from mcp_conformance.transport.in_process import InProcess, NotServable, low_level
from mcp_conformance.transport.interface import EOF

SECONDS = 20.0


@asynccontextmanager
async def stdio_server(stdin, stdout):
    """Do what that of the SDKs does, with texts for messages."""

    async def write(text):
        await stdout.write(f"{text}\n")
        await stdout.flush()

    yield stdin, write


class Loud:
    """A low-level server that answers each line in capitals."""

    def __init__(self):
        self.is_cancelled = False

    def create_initialization_options(self):
        return None

    async def run(self, reading, write, options):
        del options
        async for line in reading:
            if line == "crash":
                raise ValueError("too loud")
            if line == "hang":
                try:
                    await asyncio.sleep(1000)
                finally:
                    self.is_cancelled = True
            await write(line.upper())


@pytest.fixture(autouse=True)
def sdk(monkeypatch):
    module = ModuleType("mcp.server.stdio")
    vars(module)["stdio_server"] = stdio_server
    for name, one in (("mcp", ModuleType("mcp")), ("mcp.server", ModuleType("mcp.server"))):
        monkeypatch.setitem(sys.modules, name, one)
    monkeypatch.setitem(sys.modules, "mcp.server.stdio", module)


def test_it_answers_lines_and_ends_with_its_input():
    talk = InProcess("shop:mcp", lambda: SimpleNamespace(_mcp_server=Loud()))
    talk.write("één\ntwo\n".encode())
    assert [talk.read(SECONDS)[1] for _ in "ab"] == ["ÉÉN".encode(), b"TWO"]
    assert talk.exit_code is None
    talk.close_stdin()
    assert talk.read(SECONDS)[1] is EOF
    assert talk.wait(SECONDS) == 0
    talk.write(b"late\n")
    talk.stop()
    assert talk.stderr == ""


def test_an_exception_ends_it_with_its_traceback():
    talk = InProcess("shop:mcp", Loud)
    talk.write(b"crash\n")
    assert talk.read(SECONDS)[1] is EOF
    assert talk.wait(SECONDS) == 1
    assert "ValueError: too loud" in talk.stderr
    assert talk.stderr_since(0.0) == talk.stderr


def test_stop_cancels_a_server_that_reads_no_more():
    server = Loud()
    talk = InProcess("shop:mcp", lambda: server)
    talk.write(b"first\nhang\n")
    talk.read(SECONDS)
    talk.begin_stop()
    talk.stop(grace=0.1)
    assert talk.wait(SECONDS) == 1
    assert server.is_cancelled


def test_the_lifespan_that_fastmcp_keeps_is_around_the_conversation():
    states = []

    @asynccontextmanager
    async def lifespan():
        states.append("begun")
        yield
        states.append("ended")

    talk = InProcess("shop:mcp", lambda: SimpleNamespace(_mcp_server=Loud(), _lifespan_manager=lifespan))
    talk.write(b"a\n")
    talk.read(SECONDS)
    assert states == ["begun"]
    talk.stop()
    assert states == ["begun", "ended"]


@pytest.mark.parametrize("holder", ["_mcp_server", "_lowlevel_server"])
def test_an_object_of_a_high_level_sdk_has_a_low_level_server(holder):
    server = Loud()
    assert low_level(SimpleNamespace(**{holder: server})) is server
    assert low_level(server) is server


def test_another_object_is_refused_by_its_type():
    with pytest.raises(NotServable, match=r"builtins\.dict is no server of the Python SDK or FastMCP"):
        low_level({})
