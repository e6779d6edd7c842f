"""Files with environment variables: lines, or a JSON object; an error names no value."""

import pytest

from mcp_conformance.project.env_file import read_env_file
from mcp_conformance.transport.files import BadFile


def test_a_json_object_has_values_of_any_text(tmp_path):
    file = tmp_path / "env"
    file.write_text('{"A": "of\\ntwo lines", "B": "\\"quoted\\""}', encoding="utf-8")
    assert read_env_file(file) == {"A": "of\ntwo lines", "B": '"quoted"'}


@pytest.mark.parametrize("text", ['{"A": "hush"', '{"A": 12345}', '{"A=B": "hush"}', "{" * 100_000])
def test_what_is_no_object_of_texts_is_refused(text, tmp_path):
    file = tmp_path / "env"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(BadFile) as found:
        read_env_file(file)
    assert not any(value in str(found.value) for value in ("hush", "12345"))
