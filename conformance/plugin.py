"""The pytest plugin: its options, and nothing heavier until a server is named."""

from __future__ import annotations

from importlib import import_module

import pytest

from conformance import options


def pytest_addoption(parser: pytest.Parser) -> None:
    """Register the options."""
    options.add_options(parser)


def pytest_configure(config: pytest.Config) -> None:
    """Load the suites' machinery if this run has a server to check."""
    config.addinivalue_line("markers", "requirement(id, ...): the specification clauses a check tests")
    if options.server_named(config):
        options.validate(config)
        for name in ("collection", "reporting"):
            config.pluginmanager.register(import_module(f"conformance.{name}"), f"mcp_conformance.{name}")
