"""The targets of a survey, from files, from the registry's answer and from a client's configuration."""

import json

import pytest

from mcp_conformance.survey.sources import from_config, from_registry
from mcp_conformance.survey.targets import Target, read_targets, write_targets
from mcp_conformance.transport.files import BadFile

WEATHER = {"name": "weather", "registry": "npm", "package": "@example/weather", "version": "1.2.3"}
OFFICIAL = "io.modelcontextprotocol.registry/official"


def entry(name, *packages, remotes=(), **about):
    """Return a server as the registry's answer has it."""
    server = {"name": name, "description": "", "version": "2.0.0", "packages": list(packages)}
    return {"server": {**server, "remotes": list(remotes)}, "_meta": {OFFICIAL: about}}


def package(kind, **more):
    return {"registryType": kind, "identifier": "weather", "transport": {"type": "stdio"}, **more}


def asked(name, **more):
    return {"name": name, **more}


ANSWER = {
    "servers": [
        entry("old", package("npm", version="1.0.0"), isLatest=False, status="active"),
        entry("old", package("npm", version="1.1.0"), isLatest=True, status="active"),
        entry("gone", package("npm", version="1.0.0"), status="deleted"),
        entry("boxed", package("oci", version="1.0.0"), status="active"),
        entry("remote", remotes=[{"type": "streamable-http", "url": "https://weather.example/mcp"}]),
        entry("empty"),
        entry(
            "keyed",
            package("nuget", version="1.0.0"),
            package(
                "pypi",
                version="3.0.0",
                environmentVariables=[
                    asked("TOKEN", isRequired=True, isSecret=True),
                    asked("REGION", isRequired=True, choices=["eu", "us"]),
                    asked("LEVEL", default="info"),
                    asked("COLOUR"),
                ],
                packageArguments=[
                    {"type": "named", "name": "--root", "isRequired": True, "format": "filepath"},
                    {"type": "named", "name": "--quiet"},
                    {"type": "positional", "value": "serve"},
                ],
            ),
            status="active",
        ),
    ],
    "metadata": {"count": 7},
}


def test_the_registry_has_the_latest_version_of_each_server(tmp_path):
    path = tmp_path / "answer.json"
    path.write_text(json.dumps(ANSWER), encoding="utf-8")
    found = from_registry(path)
    assert found.targets == (
        Target("old", "npm", "weather", "1.1.0"),
        Target("remote", url="https://weather.example/mcp"),
        Target(
            "keyed",
            "pypi",
            "weather",
            "3.0.0",
            arguments=("--root", "{WORK}", "serve"),
            env={"REGION": "eu", "LEVEL": "info"},
            secrets=("TOKEN",),
        ),
    )
    assert found.left_out == (
        "boxed: none of its packages (oci) can be installed here",
        "empty: it has no package",
    )


def test_a_configuration_has_commands_and_urls(tmp_path):
    path = tmp_path / "mcp.json"
    servers = {
        "local": {"command": "weather-server", "args": ["--fast"], "env": {"LEVEL": "info"}},
        "remote": {"url": "https://weather.example/mcp"},
        "off": {"command": "weather-server", "disabled": True},
    }
    path.write_text(json.dumps({"mcpServers": servers}), encoding="utf-8")
    found = from_config(path)
    assert found.targets == (
        Target("local", command=("weather-server", "--fast"), env={"LEVEL": "info"}),
        Target("remote", url="https://weather.example/mcp"),
    )
    assert found.left_out == ("off: it is disabled",)


def test_targets_are_the_same_from_both_kinds_of_files(tmp_path):
    lines, table = tmp_path / "targets.jsonl", tmp_path / "targets.toml"
    lines.write_text(json.dumps({**WEATHER, "env": {"A": "b"}}), encoding="utf-8")
    text = 'registry = "npm"\npackage = "@example/weather"\nversion = "1.2.3"\nenv = { A = "b" }\n'
    table.write_text(f"[weather]\n{text}", encoding="utf-8")
    assert read_targets(lines) == read_targets(table)
    lines.write_text(write_targets(read_targets(table)), encoding="utf-8")
    assert read_targets(lines) == read_targets(table)


@pytest.mark.parametrize(
    ("members", "reason"),
    [
        ({**WEATHER, "speed": "1"}, "weather: unknown members: speed"),
        ({**WEATHER, "command": "node"}, "weather: command has the wrong type"),
        ({**WEATHER, "registry": "oci"}, "registry is one of npm, pypi, not 'oci'"),
        ({"name": "weather", "registry": "npm"}, "a registry needs a package and its exact version"),
        ({"name": "weather"}, "it needs a registry, a command or a url"),
        ({"registry": "npm"}, "a target has no name"),
    ],
)
def test_a_target_that_cannot_be_used_is_named(members, reason):
    with pytest.raises(BadFile) as error:
        Target.from_members(members)
    assert reason in str(error.value)


INSTALLABLE = [
    ("npm", "@example/weather", "1.2.3", ("mcp@1", "x@^1.2.0", "y@latest", "@a/b")),
    ("npm", "JSONStream", "1.2.3-rc.1+a", ()),
    ("pypi", "zope.interface", "2026.1.2rc1", ("mcp<2", "httpx[http2]>=0.27; python_version>'3'")),
    ("pypi", "mcp[cli]", "1!2.0.post1", ()),
]
NO_NAMES = {
    "pypi": (
        "evil @ file:///x.tar.gz#",
        "evil @ https://host.example/x.tar.gz#",
        *["-r", "./x", "x/y", "x.zip", "a==1"],
        "a;b",
        "",
    ),
    "npm": ("--global", "../x", "a/b/c", "x.tgz", "file:x", "@a", "a@b", "\u212a", ""),
}
NO_VERSIONS = {
    "pypi": ("", "1.0 --pre", "latest", "1.0\n-r x", "1.*", "file:///x", " 1"),
    "npm": ("latest", "^1.0.0", "file:x", "1.0.0/..", "1.0.0 b", "../x", "1.0.0\n"),
}
NO_OTHERS = {
    "pypi": ("--pre", "b @ file:///x", "./b", "b.whl", "git+https://h/b"),
    "npm": ("--x", "b@file:c", "b@c/d", "b@npm:c", "x/y", "b@1.tgz", "b@./c", "b.tgz@1.0.0"),
}
GOOD_VERSION = {"pypi": "1.0", "npm": "1.0.0"}
NOT_INSTALLABLE = [
    *((one, name, GOOD_VERSION[one], ()) for one, names in NO_NAMES.items() for name in names),
    *((one, "a", version, ()) for one, versions in NO_VERSIONS.items() for version in versions),
    *((one, "a", GOOD_VERSION[one], (other,)) for one, others in NO_OTHERS.items() for other in others),
]


@pytest.mark.parametrize(("registry", "package", "version", "packages"), INSTALLABLE)
def test_a_package_of_a_registry_can_be_installed(registry, package, version, packages):
    Target("x", registry, package, version, packages).check()


@pytest.mark.parametrize(("registry", "package", "version", "packages"), NOT_INSTALLABLE)
def test_what_an_installer_would_build_or_obey_is_no_package(registry, package, version, packages):
    with pytest.raises(BadFile, match="x: "):
        Target("x", registry, package, version, packages).check()


WRONG_ENTRIES = [
    ({"name": "bad", "packages": "all"}, "bad: its packages is not a list of objects"),
    (
        {"name": "bad", "packages": [package("npm", version="1.0.0", packageArguments="x")]},
        "bad: its packageArguments is not",
    ),
    ({"name": "bad", "packages": [package("pypi", version="1", transport=3)]}, "bad: its transport is not"),
    (
        {"name": "bad", "packages": [package("pypi", version="1") | {"identifier": "x @ file:///y#"}]},
        "bad: 'x @ file:///y#' is no name of a package at pypi",
    ),
    ({"server": 3}, "servers[0]: its server is not an object"),
]


@pytest.mark.parametrize(("wrong", "line"), WRONG_ENTRIES)
def test_a_wrong_entry_is_left_out_with_its_name(wrong, line, tmp_path):
    path = tmp_path / "answer.json"
    path.write_text(json.dumps({"servers": [wrong, entry("good", package("npm", version="1.0.0"))]}))
    found = from_registry(path)
    assert [one.name for one in found.targets] == ["good"]
    assert [one.startswith(line) for one in found.left_out] == [True], found.left_out


@pytest.mark.parametrize("text", ["[" * 200_000, '{"servers": "x"}', '{"servers": [3]}', "3"])
def test_what_is_no_answer_of_a_registry_is_said(text, tmp_path):
    path = tmp_path / "answer.json"
    path.write_text(text)
    with pytest.raises(BadFile, match=r"is not an answer of a registry: |too deeply"):
        from_registry(path)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[" * 200_000, "nested too deeply"),
        ("{", "targets.jsonl: "),
        ("[]", "each line is a JSON object"),
        (f"{json.dumps(WEATHER)}\n" * 2, "several"),
    ],
)
def test_a_file_that_cannot_be_used_is_named(text, reason, tmp_path):
    path = tmp_path / "targets.jsonl"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(BadFile, match=reason):
        read_targets(path)
