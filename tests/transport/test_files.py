"""Files that others name: a pipe, a device or a huge file neither stops a run nor fills the memory."""

import os
import sys
from contextlib import nullcontext

import pytest

from mcp_conformance.client.thrown import _source
from mcp_conformance.options import configuration
from mcp_conformance.options.configuration import BadConfiguration, nearest_configuration
from mcp_conformance.protocol.tracebacks import Frame
from mcp_conformance.scenarios.folder_contents import _digest
from mcp_conformance.transport.files import BadFile, read_file, regular_bytes

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="such files are of POSIX")


@pytest.fixture
def files(tmp_path):
    """Return a pipe that nobody writes to, a link to a device without end, and a file."""
    pipe, link, file = (tmp_path / name for name in ("pipe", "link", "file"))
    os.mkfifo(pipe)
    link.symlink_to("/dev/zero")
    file.write_text("throw new Error()\n")
    return pipe, link, file


def test_only_a_file_that_is_not_too_long_is_read(files):
    assert [regular_bytes(one, 100) for one in files] == [None, None, b"throw new Error()\n"]
    assert regular_bytes(files[-1], 5) is None


def test_a_traceback_names_no_pipe_and_no_device_that_is_read(files):
    found = [_source(Frame(str(one), line=1, column=1)) for one in files]
    assert found == ["", "", "throw new Error()"]


def test_what_a_server_leaves_is_digested_only_if_it_is_a_file(files):
    assert [bool(_digest(one, 0)) for one in files] == [False, False, True]


def test_only_a_file_that_the_user_names_is_read(files):
    for one, kind in zip(files[:2], ("a pipe", "a device"), strict=True):
        with pytest.raises(BadFile, match=f"{kind}, not a file"):
            read_file(one, str)
    assert read_file(files[2], str).startswith("throw")


@pytest.mark.parametrize(
    ("owners", "is_refused"), [((1001, 1002), True), ((1002, 1002), False), ((0, 1002), False)]
)
def test_a_configuration_that_another_user_put_above_the_folder_is_refused(
    owners, is_refused, tmp_path, monkeypatch
):
    file, folder = tmp_path / "mcp-conformance.toml", tmp_path / "mine"
    file.write_text('command = "server"\n')
    folder.mkdir()
    of_file, of_folder = owners
    monkeypatch.setattr(os, "getuid", lambda: 1003)
    monkeypatch.setattr(configuration, "_owner", lambda path: of_file if path == file else of_folder)
    with pytest.raises(BadConfiguration, match="belongs to another user") if is_refused else nullcontext():
        nearest_configuration(folder)
