"""Processes of the machine, as Linux shows them."""

import time
from pathlib import Path


def is_alive(pid):
    """Return whether a process runs; one that only waits for its parent does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def wait_until(holds, seconds=60.0):
    """Wait for what no event announces, such as the end of a process that is not our child."""
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.02)
