"""A program between a client and a server, which keeps every line that the client sends.

    recording_proxy.py COMMAND...

It starts the command and passes its stdin on, byte by byte; stdout and stderr are the server's own.  Each
process keeps what it passed on in a file of its own, in the folder that the variable RECORDED_LINES names: a
variable of the environment, so that the command says nothing that the server's own does not.
"""

import os
import signal
import subprocess
import sys
from pathlib import Path

FOLDER = "RECORDED_LINES"


def main(command):
    """Pass stdin on until either end closes it; return the exit status of the server."""
    child = subprocess.Popen(command, stdin=subprocess.PIPE)
    signal.signal(signal.SIGTERM, lambda *_: child.terminate())
    with (Path(os.environ[FOLDER]) / f"{os.getpid()}.lines").open("wb", buffering=0) as kept:
        try:
            while chunk := os.read(0, 65536):
                kept.write(chunk)
                child.stdin.write(chunk)
                child.stdin.flush()
            child.stdin.close()
        except OSError:
            pass  # the server has closed its stdin, or has ended
    return child.wait()


def recorded(folder):
    """Return the lines that all processes kept in a folder."""
    return [line for path in sorted(folder.glob("*.lines")) for line in path.read_bytes().splitlines()]


if __name__ == "__main__":
    status = main(sys.argv[1:])
    sys.exit(status if status >= 0 else 128 - status)
