"""Text for people."""

import sys

import pytest

from mcp_conformance.protocol.text import last_line, shell_line

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


@pytest.mark.parametrize(
    ("stderr", "line"),
    [
        ("", ""),
        ("one\n  two  words\n\n", ": two words"),
        (
            "Error: invalid character 'h'\nUsage:\n  notes [flags]\n\nFlags:\n  --help\n",
            ": Error: invalid character 'h'",
        ),
        ("usage: notes [-h]\nnotes: error: no such file\n", ": notes: error: no such file"),
    ],
)
def test_what_a_process_wrote_last_is_no_help_on_its_options(stderr, line):
    assert last_line(stderr) == line
