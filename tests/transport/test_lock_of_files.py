"""A lock between processes: one at a time has it, and the end of a process releases it."""

import subprocess
import sys

from mcp_conformance.transport.lock import locked

HOLDING = """\
import sys, time
from pathlib import Path
from mcp_conformance.transport.lock import locked
with locked(Path(sys.argv[1]), 0.0) as is_ours:
    print(is_ours, flush=True)
    time.sleep(60)
"""


def test_one_at_a_time_has_it(tmp_path):
    path = tmp_path / "new" / "a.lock"
    with locked(path, 0.0) as first, locked(path, 0.0) as second:
        assert (first, second) == (True, False)
    with locked(path, 0.0) as is_ours:
        assert is_ours


def test_a_process_that_is_killed_holds_it_no_longer(tmp_path):
    path = tmp_path / "a.lock"
    with subprocess.Popen([sys.executable, "-c", HOLDING, path], stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout.readline().strip() == b"True"
            with locked(path, 0.0) as is_ours:
                assert not is_ours
        finally:
            process.kill()
            process.wait()
    with locked(path, 0.0) as is_ours:
        assert is_ours


def test_where_no_file_can_be_made_nobody_has_it(tmp_path):
    (tmp_path / "file").write_text("")
    with locked(tmp_path / "file" / "a.lock", 60.0) as is_ours:
        assert not is_ours
