"""A pytest plugin that edits files at the end of each run, and presses Ctrl-C when no edits are left.

``edits.jsonl`` in the working directory has an object for each run: new texts of files by their names.
"""

import json
import os
import signal
from pathlib import Path

EDITS = Path("edits.jsonl")


def pytest_unconfigure():
    lines = EDITS.read_text().splitlines()
    if not lines:
        os.kill(os.getpid(), signal.SIGINT)
        return
    EDITS.write_text("\n".join(lines[1:]))
    for name, text in json.loads(lines[0]).items():
        Path(name).write_text(text)
