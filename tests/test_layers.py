"""The layers of the packages, the records of scenarios, and the size of classes and functions."""

import ast
from collections import defaultdict
from functools import cache
from graphlib import CycleError, TopologicalSorter
from importlib.util import find_spec
from pathlib import Path

import mcp_conformance
from mcp_conformance.requirements.checks import suites_directory

ROOT = Path(mcp_conformance.__file__).parent
FIXTURES = Path(find_spec("mcp_conformance_fixtures").origin).parent
LAYERS = (
    {"deadline"},
    {"outcome", "protocol", "sandbox", "installation"},
    {"requirements"},
    {"transport"},
    {"json_schema", "project", "backend", "login"},
    {"generation", "clients"},
    {"client"},
    {"world", "tap"},
    {"state"},
    {"remedies"},
    {"verdicts"},
    {"expect"},
    {"target"},
    {"scenarios", "fuzzing", "report", "doctor", "testing"},
    {"options", "sdks"},
    {"plugin", "survey"},
    {"cli"},
    {"__main__"},
)
"""Each row imports only from the rows above it; packages of one row do not import each other."""
ROW = {package: number for number, row in enumerate(LAYERS) for package in row}
FOR_SUITES = {"expect", "verdicts", "remedies", "protocol", "client", "scenarios", "fuzzing"}
FOR_SUITES |= {"generation", "json_schema", "login"}
MODULES_FOR_SUITES = {"target.scenario"}
"""Modules that suites may import although their package is not for suites: the decorator of scenarios."""
FOR_SUITE_FIXTURES = {*FOR_SUITES, "plugin", "tap", "target"}
LIBRARIES = {"pytest", "hypothesis", "jsonschema", "__future__", "collections", "base64", "binascii"}
LIBRARIES |= {"contextlib", "datetime", "functools", "itertools", "json", "re", "typing", "urllib"}
MAX_METHODS = 30
"""How many public methods and properties a class may have, inherited ones included.

`Server` and `Session` have as many: they are what the checks know of a server.  A class that needs
more has a part that owns some of its state.
"""
MAX_FUNCTION_LINES = 45


def engine():
    """Return the modules of the engine; in a wheel the suites and the fixtures are beside them."""
    paths = [path for path in ROOT.rglob("*.py") if path != ROOT / "__init__.py"]
    return {dotted(path): path for path in paths if package_of(dotted(path)) not in ("suites", "fixtures")}


def suites():
    return {path.stem: path for path in suites_directory().glob("*.py")}


def dotted(path):
    """Return the name of a module below `mcp_conformance`."""
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def package_of(module):
    return module.partition(".")[0]


@cache
def nodes(path):
    """Return all nodes of a file's syntax tree, which no test changes."""
    return tuple(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))


@cache
def imports(path):
    """Return each import of a file, also inside functions: the module and the name, empty for a module."""
    found = []
    for node in nodes(path):
        if isinstance(node, ast.ImportFrom):
            found += [(node.module or "", alias.name) for alias in node.names]
        elif isinstance(node, ast.Import):
            found += [(alias.name, "") for alias in node.names]
    return found


def our_imports(path):
    """Yield the imports of modules of ours, named as in `engine`."""
    for module, name in imports(path):
        if module == "mcp_conformance":
            yield name, ""
        elif module.startswith("mcp_conformance."):
            yield module.removeprefix("mcp_conformance."), name


def module_of(module, name, modules):
    """Return the module that an import loads: ``name`` may be a module of a package."""
    inner = f"{module}.{name}"
    return inner if inner in modules else module


def test_packages_import_only_from_above_in_the_table():
    offences = [
        f"{module} imports {other}"
        for module, path in engine().items()
        for other, _ in our_imports(path)
        if package_of(other) != package_of(module)
        and ROW.get(package_of(other), 99) >= ROW.get(package_of(module), -1)
    ]
    assert offences == []


def test_every_package_is_in_the_table():
    assert {package_of(module) for module in engine()} == set(ROW)


def test_modules_of_a_package_form_no_circle():
    modules = engine()
    graphs = defaultdict(lambda: defaultdict(set))
    for module, path in modules.items():
        for other, name in our_imports(path):
            imported = module_of(other, name, modules)
            if package_of(imported) == package_of(module) and imported in modules:
                graphs[package_of(module)][module].add(imported)
    circles = []
    for graph in graphs.values():
        try:
            TopologicalSorter(graph).prepare()
        except CycleError as error:
            circles.append(" -> ".join(error.args[1]))
    assert circles == []


def test_private_names_stay_in_their_module():
    offences = [
        f"{path.name} imports {module}.{name}"
        for path in (*engine().values(), *suites().values())
        for module, name in our_imports(path)
        if name.startswith("_")
    ]
    assert offences == []


def test_suites_import_only_modules_for_checks():
    offences = []
    for name, path in suites().items():
        allowed = FOR_SUITE_FIXTURES if name == "fixtures" else FOR_SUITES
        modules = {module for module, _ in our_imports(path)} - MODULES_FOR_SUITES
        ours = set(map(package_of, modules))
        others = {module.partition(".")[0] for module, _ in imports(path)} - {"mcp_conformance"}
        offences += [f"{name} imports {one}" for one in sorted((ours - allowed) | (others - LIBRARIES))]
    assert offences == []


def test_fixtures_import_only_each_other():
    offences = [
        f"{path.stem} imports {module}"
        for path in FIXTURES.rglob("*.py")
        for module, _ in our_imports(path)
        if package_of(module) != "fixtures"
    ]
    assert offences == []


MUTABLE = {"list", "dict", "set", "Counter", "deque", "bytearray"}
MUTABLE_DISPLAYS = (ast.List, ast.ListComp, ast.Dict, ast.DictComp, ast.Set, ast.SetComp)


def scenarios():
    """Yield the functions with the decorator `scenario`, with their file."""
    for path in (*engine().values(), *suites().values()):
        for node in nodes(path):
            if isinstance(node, ast.FunctionDef) and "scenario" in map(ast.unparse, node.decorator_list):
                yield path, node


def is_mutable(node):
    """Return whether a scenario returns something mutable, by its annotation; without one, by its returns."""
    if node.returns is not None:
        return bool(MUTABLE & {part.id for part in ast.walk(node.returns) if isinstance(part, ast.Name)})
    returned = (part.value for part in ast.walk(node) if isinstance(part, ast.Return))
    return any(isinstance(value, MUTABLE_DISPLAYS) for value in returned)


def test_a_scenario_returns_a_record_that_no_check_can_change():
    """Else it is a variable that several checks share: state belongs to a part of the server."""
    found = list(scenarios())
    assert len(found) > 100
    assert [f"{path.name}: {node.name}" for path, node in found if is_mutable(node)] == []


def test_a_scenario_that_returns_a_list_is_noticed():
    sources = ("def a() -> tuple[str, list[int]]: ...", "def a(): return [1]", "def a(): return (1,)")
    assert [is_mutable(ast.parse(source).body[0]) for source in sources] == [True, True, False]


def classes():
    """Return the classes of the engine by their names."""
    found = defaultdict(list)
    for path in engine().values():
        for node in nodes(path):
            if isinstance(node, ast.ClassDef):
                found[node.name].append(node)
    return found


def public_methods(node, known):
    """Return the names of the public methods and properties of a class, and of its bases of ours."""
    own = {one.name for one in node.body if isinstance(one, ast.FunctionDef) and not one.name.startswith("_")}
    bases = [base for name in map(ast.unparse, node.bases) for base in known.get(name.partition("[")[0], ())]
    return own.union(*(public_methods(base, known) for base in bases if base is not node))


def test_classes_have_few_public_methods():
    known = classes()
    numbers = {name: max(len(public_methods(node, known)) for node in nodes) for name, nodes in known.items()}
    assert max(numbers.values()) > MAX_METHODS / 2
    assert {name: number for name, number in numbers.items() if number > MAX_METHODS} == {}


def test_functions_are_short():
    offences = []
    for path in (*engine().values(), *suites().values()):
        for node in nodes(path):
            if isinstance(node, ast.FunctionDef):
                length = (node.end_lineno or 0) - node.lineno + 1
                if length > MAX_FUNCTION_LINES:
                    offences.append(f"{path.name}: {node.name} has {length} lines")
    assert offences == []
