"""A server that escapes, without a sandbox and in each: what happens to the things of the test itself."""

import ctypes
import json
import os
import platform
import re
import select
import signal
import socket
import subprocess
import sys
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

import mcp_conformance_fixtures
from mcp_conformance.client.session import Session
from mcp_conformance.sandbox.landlock import SIGNAL_ABI
from mcp_conformance.sandbox.sandbox import BUBBLEWRAP, DOCKER, LANDLOCK, NAMESPACES, NONE
from mcp_conformance.sandbox.system_calls import ARCHITECTURES
from mcp_conformance.target.settings import Settings
from mcp_conformance.transport.throwaway import throwaway_folder
from support import HANDSHAKE
from support.sandboxes import require_sandbox

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "hostile.md"
KINDS = (NONE, LANDLOCK, BUBBLEWRAP, NAMESPACES, DOCKER)
IMAGE = os.environ.get("ESCAPES_IMAGE", "")
"""An image of Docker that has Python; without it, nothing runs in a container."""
ROW = re.compile(r"^\| ([^|]+)" + r" \| (yes|no)" * len(KINDS) + r" \|$", re.MULTILINE)
SERVER = ("-m", "mcp_conformance_fixtures.hostile.escapes")
FIXTURES = Path(mcp_conformance_fixtures.__file__).parents[1]
SHADOW = Path("/etc/shadow")
OF_ROOT = ("rules", "shadow")
"""The deeds that nobody but root can do, sandbox or not."""
FILES = ("secret", "changed", "deleted", "modes", "dates", "labels")
KEYCTL = {"x86_64": 250, "aarch64": 219}
SEARCH_KEY, INVALIDATE_KEY, USER_KEYRING = 10, 21, -4
CREATE = 0o1000
MESSAGE_BYTES = 64

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="these sandboxes are of Linux"),
    pytest.mark.skipif(platform.machine() not in ARCHITECTURES, reason="there is no filter for this machine"),
]


@pytest.fixture(params=KINDS)
def sandbox(request):
    """Return each sandbox; skip the test for one that does not work here in full."""
    if request.param == DOCKER and not IMAGE:
        pytest.skip("no image of Docker is named (ESCAPES_IMAGE)")
    found = require_sandbox(request.param if request.param != DOCKER else f"{DOCKER}:{IMAGE}")
    if found is not None and found.kind == LANDLOCK and found.abi < SIGNAL_ABI:
        pytest.skip("this Landlock does not hold signals")
    return found


def test_the_page_says_what_a_server_reaches(sandbox, tmp_path):
    rows = [(what, cells) for what, *cells in ROW.findall(PAGE.read_text(encoding="utf-8"))]
    column = KINDS.index(sandbox.kind if sandbox is not None else NONE)
    reached = escaped(sandbox, tmp_path)
    said = dict(zip(reached, rows, strict=True))
    expected = {deed: cells[column] == "yes" for deed, (_, cells) in said.items()}
    if os.getuid():
        expected |= dict.fromkeys(OF_ROOT, False)
    assert {said[deed][0]: held for deed, held in reached.items()} == {
        said[deed][0]: held for deed, held in expected.items()
    }


def escaped(sandbox, folder):
    """Return whether each deed of the server succeeded, in the order of the page.

    Where the deed leaves nothing to be seen, the server reports it.
    """
    name = f"escapes-{os.getpid()}-{os.urandom(4).hex()}"
    for one in FILES:
        (folder / one).write_text("mine")
        (folder / one).chmod(0o600)
    with ExitStack() as stack:
        victim = stack.enter_context(subprocess.Popen(["/bin/sleep", "600"]))
        stack.callback(victim.kill)
        unix = stack.enter_context(socket.socket(socket.AF_UNIX))
        unix.bind(str(folder / "socket"))
        unix.listen()
        tcp = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        udp = stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        udp.bind(("127.0.0.1", 0))
        memory, queue = stack.enter_context(Memory()), stack.enter_context(Queue(f"/{name}"))
        env = {
            "ESCAPES_TO": str(folder).removeprefix("/"),
            "ESCAPES_PROCESS": str(victim.pid),
            "ESCAPES_TCP": str(tcp.getsockname()[1]),
            "ESCAPES_UDP": str(udp.getsockname()[1]),
            "ESCAPES_MEMORY": str(memory.id),
            "ESCAPES_QUEUE": f"/{name}",
            "ESCAPES_KEY": name,
            "ESCAPES_SHADOW": str(SHADOW.stat().st_ino) if SHADOW.exists() else "0",
        }
        claimed = call(sandbox, env)
        met, _, _ = select.select([tcp, udp, unix], [], [], 0)
        return {
            "reads": "reads" in claimed,
            "sees": "sees" in claimed,
            "watches": "watches" in claimed,
            "spies": "spies" in claimed,
            "names": "names" in claimed,
            "changes": (folder / "changed").read_text() != "mine",
            "deletes": not (folder / "deleted").exists(),
            "leaves": (folder / "left").exists(),
            "modes": (folder / "modes").stat().st_mode & 0o777 != 0o600,
            "dates": (folder / "dates").stat().st_mtime == 1,
            "labels": bool(os.listxattr(folder / "labels")),
            "connects": tcp in met,
            "sends": udp in met,
            "asks": unix in met,
            "shares": memory.read() == b"was here",
            "queues": queue.has_message(),
            "keeps": took_key(name),
            "limits": limit_of(victim) == 7,
            "slows": os.getpriority(os.PRIO_PROCESS, victim.pid) == 19,
            "stops": "stops" in claimed,
            "kills": victim.poll() == -9 if "kills" not in claimed else victim.wait(30) == -9,
            "multiplies": "multiplies" in claimed,
            "stays": left_behind(name),
            "rules": "rules" in claimed,
            "shadow": "shadow" in claimed,
        }


def call(sandbox, env):
    """Call the tool that escapes; return the deeds that the server says it could do."""
    is_elsewhere = sandbox is not None and sandbox.kind == DOCKER
    command = ("python3" if is_elsewhere else sys.executable, *SERVER)
    env |= {"PYTHONPATH": str(FIXTURES)} if is_elsewhere else {}
    with throwaway_folder() as throwaway:
        process = Settings(command, env=env, throwaway=throwaway, sandbox=sandbox).start()
        session = Session(process, revision=HANDSHAKE, timeout=60)
        try:
            session.open(60)
            result = session.request("tools/call", {"name": "escape", "arguments": {}}).result
            return json.loads(result["structuredContent"]["done"])
        finally:
            session.close()


# What is attacked ----------------------------------------------------------------------------------


def libc():
    return ctypes.CDLL(None, use_errno=True)


class Memory:
    """A segment of System V memory, with the number ``id``, whose first bytes it reads."""

    def __enter__(self):
        self.id = libc().shmget(0, 4096, CREATE | 0o600)
        attach = libc().shmat
        attach.restype = ctypes.c_void_p
        self._place = attach(self.id, None, 0)
        return self

    def read(self):
        return ctypes.string_at(self._place, 8)

    def __exit__(self, *_):
        libc().shmctl(self.id, 0, None)
        libc().shmdt(ctypes.c_void_p(self._place))


class Queue:
    """A queue of messages, which the user can open by its name."""

    def __init__(self, name):
        self._name = name.encode()

    def __enter__(self):
        flags = os.O_CREAT | os.O_RDONLY | os.O_NONBLOCK
        about = (ctypes.c_long * 8)(0, 1, MESSAGE_BYTES)
        self._id = libc().mq_open(self._name, flags, 0o600, ctypes.byref(about))
        return self

    def has_message(self):
        room = ctypes.create_string_buffer(MESSAGE_BYTES)
        return libc().mq_receive(self._id, room, ctypes.c_size_t(MESSAGE_BYTES), None) >= 0

    def __exit__(self, *_):
        libc().mq_close(self._id)
        libc().mq_unlink(self._name)


def took_key(name):
    """Return whether the user has a key of this name; drop it."""

    def keyctl(*words):
        return libc().syscall(ctypes.c_long(KEYCTL[platform.machine()]), *words)

    key = keyctl(SEARCH_KEY, USER_KEYRING, b"user", name.encode(), 0)
    return key >= 0 and keyctl(INVALIDATE_KEY, key) == 0


def limit_of(process):
    import resource  # noqa: PLC0415  (POSIX only)

    with suppress(ProcessLookupError):
        return resource.prlimit(process.pid, resource.RLIMIT_NOFILE)[0]


def left_behind(name):
    """Return whether a process has this name in its command; end it."""
    found = False
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            if name.encode() in file.read_bytes():
                os.kill(int(file.parent.name), signal.SIGKILL)
                found = True
    return found
