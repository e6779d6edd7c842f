"""The package of a server, and the SDK it is built on."""

import json
import re
import stat
from importlib.metadata import distributions

NPM = "**/node_modules/@modelcontextprotocol/{}/package.json"
NPM_SDKS = ("sdk", "server")
"""The TypeScript SDK 1.x and 2.x."""
LINKED = (
    ("Go SDK", re.compile(rb"github\.com/modelcontextprotocol/go-sdk\tv([0-9.]+)")),
    ("mcp-go", re.compile(rb"github\.com/mark3labs/mcp-go\tv([0-9.]+)")),
    ("Rust SDK", re.compile(rb"/rmcp-([0-9]+\.[0-9]+\.[0-9]+)/")),
)
"""What a compiled program contains about its libraries."""
MIN_PROGRAM_BYTES, CHUNK_BYTES, OVERLAP_BYTES = 1_000_000, 1 << 24, 200


def package(server):
    """Return the package with the version that was requested."""
    name, _, version = server["install"][0].rpartition("==" if server["registry"] == "pypi" else "@")
    return f"{name} {version}"


def sdk(folder, report):
    """Return the SDK with its version; without one if only its behaviour shows it; empty if nothing does."""
    found = from_npm(folder) or from_pip(folder) or from_programs(folder)
    return found or ", ".join(f"{name}, bundled" for name in report.deviations)


def from_npm(folder):
    for name in NPM_SDKS:
        for path in sorted(folder.glob(NPM.format(name)), key=lambda path: len(path.parts)):
            return f"TypeScript SDK {json.loads(path.read_text(encoding='utf-8'))['version']}"
    return ""


def from_pip(folder):
    places = [str(place) for place in folder.glob("lib/python*/site-packages")]
    known = (
        {one.metadata["Name"].lower(): one.version for one in distributions(path=places)} if places else {}
    )
    names = [f"FastMCP {known['fastmcp']}"] if "fastmcp" in known else []
    names += [f"Python SDK {known['mcp']}"] if "mcp" in known else []
    return " on ".join(names)


def from_programs(folder):
    for path in sorted(folder.rglob("*")):
        if is_program(path):
            for name, version in linked(path):
                return f"{name} {version}"
    return ""


def is_program(path):
    facts = path.lstat()
    return stat.S_ISREG(facts.st_mode) and facts.st_mode & stat.S_IXUSR and facts.st_size > MIN_PROGRAM_BYTES


def linked(path):
    """Yield the libraries compiled into a program, with their versions."""
    with path.open("rb") as file:
        end = b""
        while piece := file.read(CHUNK_BYTES):
            for name, pattern in LINKED:
                if found := pattern.search(end + piece):
                    yield name, found[1].decode()
            end = piece[-OVERLAP_BYTES:]
