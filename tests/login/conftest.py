"""Where the tests keep logins."""

import pytest

from mcp_conformance.login import store


@pytest.fixture
def place(tmp_path, monkeypatch):
    """Keep logins in a folder of the test."""
    folder = tmp_path / "state" / "logins"
    monkeypatch.setattr(store, "folder", lambda: folder)
    return folder
