"""Surroundings: the server on other machines, with --surroundings (not a rule of the specification)."""

from __future__ import annotations

import pytest

from mcp_conformance.scenarios.other_machines import (
    CODE_PAGES,
    FOLDERS,
    LOCALES,
    NO_GIT,
    NO_HOME,
    READ_ONLY,
    STDERR,
    TIME_ZONES,
)
from mcp_conformance.scenarios.surroundings import expect_conversation


@pytest.mark.requirement("surroundings.code-page")
def test_the_server_answers_with_another_code_page(server):
    expect_conversation(server, CODE_PAGES)


@pytest.mark.requirement("surroundings.time-zone")
def test_the_server_answers_in_another_time_zone(server):
    expect_conversation(server, TIME_ZONES)


@pytest.mark.requirement("surroundings.no-home")
def test_the_server_answers_without_a_home(server):
    expect_conversation(server, NO_HOME)


@pytest.mark.requirement("surroundings.stderr")
def test_the_server_answers_without_a_log(server):
    expect_conversation(server, STDERR)


@pytest.mark.requirement("surroundings.directory-name")
def test_the_server_answers_in_a_directory_with_an_unusual_name(server):
    expect_conversation(server, FOLDERS)


@pytest.mark.requirement("surroundings.locale")
def test_the_server_answers_with_another_locale(server):
    expect_conversation(server, LOCALES)


@pytest.mark.requirement("surroundings.read-only-directory")
def test_the_server_answers_in_a_read_only_directory(server):
    expect_conversation(server, READ_ONLY)


@pytest.mark.requirement("surroundings.no-git")
def test_the_server_answers_without_git(server):
    expect_conversation(server, NO_GIT)
