"""Text for people."""

import sys

import pytest

from mcp_conformance.protocol.text import shell_line

WORDS = ["run", "--select", "tools.call[echo]", "--", "C:\\My Tools\\server.exe", "it's"]


@pytest.mark.parametrize(
    ("platform", "line"),
    [
        ("win32", 'run --select tools.call[echo] -- "C:\\My Tools\\server.exe" it\'s'),
        ("linux", "run --select 'tools.call[echo]' -- 'C:\\My Tools\\server.exe' 'it'\"'\"'s'"),
    ],
)
def test_a_command_is_quoted_for_the_shell_of_the_system(platform, line, monkeypatch):
    monkeypatch.setattr(sys, "platform", platform)
    assert shell_line(WORDS) == line
