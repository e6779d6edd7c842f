"""Private APIs of libraries: each test names the version of a library that changed one."""

from inspect import signature

import hypothesis
import pytest
from _pytest.junitxml import LogXML, xml_key
from _pytest.outcomes import Skipped
from _pytest.runner import runtestprotocol
from hypothesis import strategies as st


def test_pytest_runs_one_check_by_a_private_function():
    """`mcp_conformance.plugin.deferral` runs a check, and drops its reports if it comes again later."""
    version = f"pytest {pytest.__version__} runs a check in another way: adapt plugin/deferral.py"
    assert [*signature(runtestprotocol).parameters] == ["item", "log", "nextitem"], version
    assert Skipped is pytest.skip.Exception, version


def test_pytest_takes_properties_of_a_suite_by_a_private_key():
    """`mcp_conformance.plugin.junit` adds the verdict and what was exercised to the XML of JUnit."""
    version = f"pytest {pytest.__version__} keeps its XML elsewhere: adapt plugin/junit.py"
    assert [*signature(LogXML.add_global_property).parameters] == ["self", "name", "value"], version
    assert isinstance(xml_key, pytest.StashKey), version


def test_hypothesis_stores_settings_in_a_private_attribute():
    """`plugin.own_tests` changes the default deadline and phases of a user's Hypothesis test."""
    version = f"Hypothesis {hypothesis.__version__} stores settings elsewhere: adapt plugin/own_tests.py"

    @hypothesis.settings(max_examples=7)
    @hypothesis.given(st.none())
    def test(value):
        """Take a value."""

    found = getattr(test, "_hypothesis_internal_use_settings", None)
    assert found is not None, version
    assert found.max_examples == 7, version
