"""What content is read as: base64, and text."""

import pytest

from mcp_conformance.protocol.content import is_base64, is_text

PAGE = "<p>Letters that could not be read: \ufffd\ufffd, \ufffd and \ufffd, among all these others.</p>"


@pytest.mark.parametrize(
    ("text", "expected"),
    [("", True), ("+/8=", True), ("+/8", True), ("+/\n8=\n", True), ("-_8=", False), ("a", False), (5, True)],
)
def test_base64_has_the_standard_alphabet(text, expected):
    assert is_base64(text) is expected


@pytest.mark.parametrize(
    ("text", "expected"), [(PAGE, True), ("\ufffdPNG\ufffd\ufffd\ufffd", False), ("a\0b", False), ("", True)]
)
def test_a_text_with_some_replacement_characters_is_text(text, expected):
    assert is_text(text) is expected
