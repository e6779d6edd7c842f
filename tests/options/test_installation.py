"""How an extra is installed depends on what has installed this tool."""

import pytest

from mcp_conformance import installation


@pytest.mark.parametrize(
    ("file", "words"),
    [
        ("pipx_metadata.json", "pipx install --force 'pytest-mcp-conformance[http]'"),
        ("uv-receipt.toml", "uv tool install --force 'pytest-mcp-conformance[http]'"),
        ("pyvenv.cfg", "pip install 'pytest-mcp-conformance[http]'"),
    ],
)
def test_the_installer_is_known_by_its_file(tmp_path, monkeypatch, file, words):
    (tmp_path / file).touch()
    monkeypatch.setattr("sys.prefix", str(tmp_path))
    monkeypatch.setattr(installation, "find_spec", lambda _: object())
    assert installation.how_to_install("http") == words


def test_without_an_installer_only_the_extra_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr("sys.prefix", str(tmp_path))
    monkeypatch.setattr(installation, "find_spec", lambda _: None)
    wanted = "install 'pytest-mcp-conformance[survey]' in place of pytest-mcp-conformance"
    assert installation.how_to_install("survey") == wanted
