"""Processes of the machine, as Linux shows them."""

from pathlib import Path


def is_alive(pid):
    """Return whether a process runs; one that only waits for its parent does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"
