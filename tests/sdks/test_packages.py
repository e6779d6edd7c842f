"""The packages of a program are read from files beside it, and never executed."""

import json
import os
import sys
import zipfile

import pytest

from mcp_conformance.sdks import packages as module
from mcp_conformance.sdks.names import Sdk
from mcp_conformance.sdks.packages import Package, packages

GO_INFO = b"\xff Go buildinf:..dep\tgithub.com/modelcontextprotocol/go-sdk\tv1.8.0\th1:abc\n"
NET_MANIFEST = b'"targets": {".NETCoreApp": {"ModelContextProtocol.Core/2.0.0-preview.3": {'
RUST_PATH = b"/index.crates.io-1949cf8c6b5b557f/rmcp-3.4.0/src/service.rs"
ELF = b"\x7fELF" + b"\0" * 300


@pytest.fixture
def make(tmp_path):
    """Return a function that writes a file below the folder, and returns its path."""

    def write(name, content=""):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        path.chmod(0o755)
        return path

    return write


def found(tmp_path, *command):
    return packages(list(map(str, command)), tmp_path, os.environ.get("PATH", ""))


@pytest.fixture
def environment(make):
    """Write an environment of Python with the SDK, and return its interpreter."""
    make("env/lib/python3.12/site-packages/mcp-1.30.0.dist-info/METADATA")
    return make("env/bin/python", ELF)


def test_the_python_sdk_is_that_of_the_interpreters_environment(tmp_path, environment):
    assert found(tmp_path, environment, "server.py") == [Package(Sdk.PYTHON_1, "1.30.0")]
    assert found(tmp_path, "env/bin/python", "-m", "server") == [Package(Sdk.PYTHON_1, "1.30.0")]


def test_a_console_script_names_its_interpreter(tmp_path, make, environment):
    program = make("env/bin/my-server", f"#!{environment}\nimport sys\n")
    assert found(tmp_path, program) == [Package(Sdk.PYTHON_1, "1.30.0")]


def test_uv_starts_from_the_environment_of_the_project(tmp_path, make):
    make("project/.venv/lib/python3.13/site-packages/mcp-2.3.0.dist-info/METADATA")
    make("tools/uv", ELF)
    uv = tmp_path / "tools/uv"
    assert found(tmp_path, uv, "run", "--directory", "project", "server.py") == [
        Package(Sdk.PYTHON_2, "2.3.0")
    ]
    assert found(tmp_path / "project", uv, "run", "server.py") == [Package(Sdk.PYTHON_2, "2.3.0")]
    assert found(tmp_path, uv, "run", "server.py") == []


def test_the_typescript_sdk_is_that_of_the_nearest_folder(tmp_path, make):
    manifest = json.dumps({"name": "@modelcontextprotocol/sdk", "version": "1.32.2"})
    make("node_modules/@modelcontextprotocol/sdk/package.json", manifest)
    make("node_modules/it/dist/index.js")
    make("other/node_modules/@modelcontextprotocol/server/package.json", '{"version": "2.4.0"}')
    make("other/src/index.js")
    node = make("tools/node", ELF)
    assert found(tmp_path, node, "node_modules/it/dist/index.js") == [Package(Sdk.TYPESCRIPT_1, "1.32.2")]
    assert found(tmp_path, node, "other/src/index.js", "stdio") == [Package(Sdk.TYPESCRIPT_2, "2.4.0")]


@pytest.mark.skipif(sys.platform == "win32", reason="links need a privilege")
def test_a_link_to_a_script_of_node_is_followed(tmp_path, make):
    make("node_modules/@modelcontextprotocol/sdk/package.json", '{"version": "1.32.2"}')
    make("node_modules/it/index.js", "#!/usr/bin/env node\n")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/it").symlink_to(tmp_path / "node_modules/it/index.js")
    assert found(tmp_path, "bin/it") == [Package(Sdk.TYPESCRIPT_1, "1.32.2")]


@pytest.mark.parametrize(
    ("content", "package"),
    [
        (GO_INFO, Package(Sdk.GO, "1.8.0")),
        (RUST_PATH, Package(Sdk.RUST, "3.4.0")),
        (NET_MANIFEST, Package(Sdk.CSHARP, "2.0.0-preview.3")),
    ],
)
@pytest.mark.parametrize("before", [0, module.CHUNK_BYTES - 330])
def test_a_compiled_program_has_the_version_in_it(tmp_path, make, content, package, before):
    assert found(tmp_path, make("server", ELF + b"\0" * before + content)) == [package]


def test_a_path_that_only_resembles_the_rust_sdk_is_none(tmp_path, make):
    assert found(tmp_path, make("server", ELF + b"/rmcp-tools/src /rmcp-3/ /rmcp-")) == []


def test_reading_a_program_ends_after_so_many_bytes(tmp_path, make, monkeypatch):
    monkeypatch.setattr(module, "MAX_PROGRAM_BYTES", 100)
    monkeypatch.setattr(module, "CHUNK_BYTES", 100)
    assert found(tmp_path, make("server", ELF + GO_INFO)) == []


def test_the_csharp_sdk_is_in_the_manifest_beside_the_program(tmp_path, make):
    manifest = {"libraries": {"server/1.0.0": {}, "ModelContextProtocol.Core/1.0.0": {}}}
    make("app/server.deps.json", json.dumps(manifest))
    make("app/server.dll", b"MZ")
    host, dotnet = make("app/server", ELF), make("tools/dotnet", ELF)
    assert found(tmp_path, host) == [Package(Sdk.CSHARP, "1.0.0")]
    assert found(tmp_path, dotnet, "app/server.dll") == [Package(Sdk.CSHARP, "1.0.0")]


def test_the_kotlin_sdk_is_a_jar_or_in_one(tmp_path, make):
    java = make("tools/java", ELF)
    with zipfile.ZipFile(tmp_path / "all.jar", "w") as jar:
        jar.writestr("io/modelcontextprotocol/kotlin/sdk/server/Server.class", b"")
    with zipfile.ZipFile(tmp_path / "other.jar", "w") as jar:
        jar.writestr("io/modelcontextprotocol/server/McpServer.class", b"")
    make("dist/lib/kotlin-sdk-server-jvm-0.14.0.jar", b"PK")
    script = make("dist/bin/server", "#!/bin/sh\n")
    assert found(tmp_path, java, "-jar", "all.jar") == [Package(Sdk.KOTLIN)]
    assert found(tmp_path, java, "-jar", "other.jar") == []
    assert found(tmp_path, script) == [Package(Sdk.KOTLIN, "0.14.0")]


@pytest.mark.parametrize(
    "command", [[], ["no-such-program"], ["http://127.0.0.1:80/mcp"], ["./missing", "a\0b"], [""]]
)
def test_what_is_not_a_program_has_no_packages(tmp_path, command):
    assert packages(command, tmp_path) == []


def test_broken_manifests_are_left_out(tmp_path, make):
    make("node_modules/@modelcontextprotocol/sdk/package.json", "[" * 100_000)
    make("app/server.deps.json", "not JSON")
    node = make("tools/node", ELF)
    assert found(tmp_path, node, make("index.js")) == []
    assert found(tmp_path, make("app/server", ELF)) == []
