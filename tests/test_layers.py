"""A module imports only from the layers below its own."""

import ast
from importlib.util import find_spec
from pathlib import Path

import pytest

import conformance
from conformance.checks import suites_directory

ROOT = Path(conformance.__file__).parent
RENDERINGS = (
    *("rendering_badge", "rendering_github", "rendering_html"),
    *("rendering_json", "rendering_markdown", "rendering_sarif"),
)
LAYERS = [
    {"watcher", "matching", "ports"},
    {"tree"},
    {"pace", "wire", "revisions", "catalogue", "checks", "sandbox", "schema", "uris", "climbing"},
    {"recognising", "client_configs"},
    {"initialising"},
    {"value", "process", "keeping", "dialects", "challenges", "messages", "redaction"},
    {"session", "generation", "subschemas"},
    {"transcript", "client", "progress", "rounds", "refusals", "subscriptions"},
    {"verdict", "surface", "window"},
    {"document"},
    {"calling", "starting", "report", "assembling", *RENDERINGS, "replaying", "testing", "invariants"},
    {"rendering_terminal", "sessions", "doctor", "symptoms"},
    {"server", "diagnosis"},
    {"completions", "content", "wrong_requests", "changes"},
    {"templates", "judges", "targets", "meeting", "ecosystem", "conversation", "envelope", "logs"},
    {"proving", "sameness", "asking", "cancelling", "listening", "tasks", "machine", "drills"},
    {"fuzzing", "protocol", "news"},
    {"schema_changes"},
    {"baseline", "comparing"},
    {"options", "soak"},
    {"collection"},
    {"baselining"},
    {"reporting", "doctoring"},
    {"updating", "several"},
    {"publishing"},
    {"soaking", "ticker"},
    {"plugin", "cli"},
    {"__main__", "acting"},
]
RANK = {module: rank for rank, layer in enumerate(LAYERS) for module in layer}


def imported(path):
    """The names of our modules that a file imports, at its top and inside functions."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module == "conformance":
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("conformance."):
            yield node.module.split(".")[1]
        elif isinstance(node, ast.Import):
            yield from (
                alias.name.split(".")[1] for alias in node.names if alias.name.startswith("conformance.")
            )


def modules():
    """The engine's modules; in a wheel the suites and the fixtures lie beside them."""
    paths = [path for path in ROOT.rglob("*.py") if path != ROOT / "__init__.py"]
    return [path for path in paths if name_of(path) not in ("suites", "fixtures")]


def name_of(path):
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


@pytest.mark.parametrize("path", modules(), ids=name_of)
def test_a_module_imports_only_from_below(path):
    for other in set(imported(path)) - {name_of(path)}:
        assert RANK[other] < RANK[name_of(path)], f"{name_of(path)} imports {other}"


def test_every_module_has_a_layer():
    assert {name_of(path) for path in modules()} == set(RANK)


@pytest.mark.parametrize("path", sorted(suites_directory().glob("*.py")), ids=lambda path: path.stem)
def test_suites_import_little(path):
    allowed = {"conformance", "pytest", "hypothesis", "jsonschema", "__future__", "collections"}
    allowed |= {"base64", "binascii", "datetime", "json", "re", "typing", "urllib"}
    roots = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom):
            roots.add(node.module.split(".")[0])
        elif isinstance(node, ast.Import):
            roots |= {alias.name.split(".")[0] for alias in node.names}
    assert roots <= allowed


FIXTURES = Path(find_spec("conformance.fixtures").origin).parent


@pytest.mark.parametrize("path", sorted(FIXTURES.rglob("*.py")), ids=lambda path: path.stem)
def test_fixtures_import_nothing_of_ours_but_each_other(path):
    assert set(imported(path)) <= {"fixtures"}
