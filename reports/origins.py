"""What was installed for a server: its package, and the SDK that it is built on."""

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
"""What a program that was compiled says of the libraries in it."""
SMALLEST, PIECE, OVERLAP = 1_000_000, 1 << 24, 200


def package(server):
    """The server's package with its version, as it was asked for."""
    name, _, version = server["install"][0].rpartition("==" if server["registry"] == "pypi" else "@")
    return f"{name} {version}"


def sdk(folder, report):
    """The SDK with its version; without one if it is told by how the server answers; empty if by nothing."""
    found = from_npm(folder) or from_pip(folder) or from_programs(folder)
    return found or ", ".join(f"{name}, bundled" for name in report.known)


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
    told = [f"FastMCP {known['fastmcp']}"] if "fastmcp" in known else []
    told += [f"Python SDK {known['mcp']}"] if "mcp" in known else []
    return " on ".join(told)


def from_programs(folder):
    for path in sorted(folder.rglob("*")):
        if is_program(path):
            for name, version in linked(path):
                return f"{name} {version}"
    return ""


def is_program(path):
    facts = path.lstat()
    return stat.S_ISREG(facts.st_mode) and facts.st_mode & stat.S_IXUSR and facts.st_size > SMALLEST


def linked(path):
    """The libraries that a program says are in it."""
    with path.open("rb") as file:
        end = b""
        while piece := file.read(PIECE):
            for name, pattern in LINKED:
                if found := pattern.search(end + piece):
                    yield name, found[1].decode()
            end = piece[-OVERLAP:]
