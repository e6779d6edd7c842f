"""The reference server, which also writes down every line of its conversation: recorder.py FOLDER."""

import os
import sys
from pathlib import Path

from conformance.fixtures.reference import Reference


class Recorder(Reference):
    """Marks what it was told with > and what it says with <."""

    def __init__(self, file):
        super().__init__()
        self.file = file

    def note(self, mark, data):
        self.file.write(mark + data.rstrip(b"\r\n") + b"\n")
        self.file.flush()

    def take(self, line):
        self.note(b">", line)
        super().take(line)

    def send_raw(self, data):
        self.note(b"<", data)
        super().send_raw(data)


if __name__ == "__main__":
    with Path(sys.argv[1], f"{os.getpid()}.txt").open("wb") as file:
        Recorder(file).serve(sys.stdin.buffer)
