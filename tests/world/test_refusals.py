"""What refusals tell: each text is one that a real server wrote, named in the id of its case."""

import json
import time

import pytest

from mcp_conformance.world.known import Owner
from mcp_conformance.world.refusals import clues
from mcp_conformance.world.refusals.refusal import MAX_REFUSAL, Refusal

WORD, FOUND = Owner.WORD, Owner.FOUND
EMPTY = ("", (), None, False)


def schema(*names, **members):
    """Return the schema of arguments with these members, strings if only their name is given."""
    properties = {**{name: {"type": "string"} for name in names}, **members}
    return {"type": "object", "properties": properties}


def items(*names, **members):
    return {"type": "array", "items": schema(*names, **members)}


LIST = {"type": "array"}
NUMBER = {"type": "integer"}
GIT = schema("repo_path", "branch_name", "base_branch", "target", "revision", files={**LIST, "items": {}})
EXCEL = schema(
    "path", "sheet", "range", "at", "new_name", "csv_path", "content_base64", "name", "delimiter",
    overwrite={"type": "boolean"}, rows=LIST, sort_by=items("column", "order"),
    rule=schema("type", "source", colors=LIST, options=LIST),
)  # fmt: skip
FILES = schema("path", "source", "destination", "sortBy", head=NUMBER, tail=NUMBER, edits=items("oldText"))
BOOK = {"path": "/x/a.xlsx", "sheet": "Sheet1"}


def said(clue):
    """Return what a clue says: its member, and what it has that is not empty."""
    told = {
        name: getattr(clue, name) for name in clue.__dataclass_fields__ if name not in ("reader", "member")
    }
    if not clue.values:
        del told["owner"]
    return clue.member, {name: one for name, one in told.items() if not any(one is empty for empty in EMPTY)}


def read(text, arguments, schema, **more):
    return [said(clue) for clue in clues(text, arguments, schema, **more)]


def values(member, *values, owner=FOUND, **more):
    return member, {"values": values, "owner": owner, **more}


def needs(*names):
    return names[0], {"needs": names}


def case(server, text, arguments, schema, *wanted, **more):
    return pytest.param(text, arguments, schema, list(wanted), more, id=server)


def check(text, arguments, schema, wanted, more):
    assert read(text, arguments, schema, **more) == wanted


@pytest.mark.parametrize(
    ("text", "arguments", "schema", "wanted", "more"),
    [
        case(
            "mcp-server-git 2026.10.19: outside",
            "Error executing tool git_status: Repository path 'example' is outside the allowed repository "
            "'/r'",
            {"repo_path": "example", "branch_name": "example"}, GIT,
            values("repo_path", "/r", inside="/r"),
        ),
        case(
            "server-filesystem 2026.8.31: not in",
            "Access denied - path outside allowed directories: /etc/passwd not in /srv/one, /srv/two",
            {"path": "/etc/passwd"}, FILES,
            values("path", "/srv/one", inside="/srv/one"), values("path", "/srv/two", inside="/srv/two"),
        ),
        case(
            "server-filesystem 2026.8.31: resolved",
            "ENOENT: no such file or directory, open '/srv/one/example'", {"path": "example"}, FILES,
            ("path", {"inside": "/srv/one"}), ("path", {"is_missing": True}),
        ),
        case(
            "server-filesystem 2026.8.31: a file",
            "ENOTDIR: not a directory, scandir '/srv/one/example'", {"path": "example"}, FILES,
            ("path", {"inside": "/srv/one"}), ("path", {"kind": "directory"}),
        ),
        case(
            "excel-mcp-server 2.2.2: absolute",
            r"Error executing tool create_workbook: Path 'example' must be absolute, "
            r"e.g. 'C:\Reports\q1.xlsx' or '/home/me/q1.xlsx'.",
            {"path": "example", "sheet": "example"}, EXCEL,
            ("path", {"is_absolute": True, "ending": ".xlsx"}), ("path", {"ending": ".xlsx"}),
        ),
        case(
            "mcp-text-editor 1.0.2: absolute",
            "Error executing command: Error processing request: File path must be absolute: example",
            {"files": [{"file_path": "example"}]}, schema(files=items("file_path", ranges=LIST)),
            ("files.file_path", {"is_absolute": True}),
        ),
        case(
            "repomix 1.14.0: absolute, in JSON",
            '{\n  "errorMessage": "Directory must be an absolute path: example"\n}',
            {"directory": "example"}, schema("directory", "style"), ("directory", {"is_absolute": True}),
        ),
        case(
            "excel-mcp-server 2.2.2: an ending or another",
            "Error executing tool import_workbook: The uploaded content is not an .xlsx/.xlsm workbook.",
            {"path": "/x/a", "csv_path": "/x/b.csv"}, schema("path", "csv_path"),
            ("", {"ending": ".xlsx"}), ("", {"ending": ".xlsm"}),
        ),
        case(
            "a converter: endings",
            "Unsupported file type: .foo. Supported types: .csv, "
            ".xlsx", {"path": "/a.foo"}, schema("path", "to"),
            ("path", {"ending": ".csv"}), ("path", {"ending": ".xlsx"}),
            values("path", ".csv", ".xlsx", owner=WORD),
        ),
    ],
)  # fmt: skip
def test_paths(text, arguments, schema, wanted, more):
    check(text, arguments, schema, wanted, more)


@pytest.mark.parametrize(
    ("text", "arguments", "schema", "wanted", "more"),
    [
        case(
            "excel-mcp-server 2.2.2: available",
            "Error executing tool copy_sheet: Sheet 'Data' not found. Available sheets: 'example', 'My "
            "Sheet'.",
            {"sheet": "Data", "new_name": "example"}, EXCEL,
            values("sheet", "example", "My Sheet"), ("sheet", {"is_missing": True}),
        ),
        case(
            "excel-mcp-server 2.2.2: none available",
            "Error executing tool add_slicer: Sheet 'S' has no table or PivotTable 'example'. Available: "
            "none.",
            {"sheet": "S", "name": "example"}, EXCEL,
            ("sheet", {"is_missing": True}),
        ),
        case(
            "excel-mcp-server 2.2.2: allowed",
            "Invalid arguments for import_csv: delimiter: 'zz' is not valid; use 'auto', 'comma' or 'pipe'.",
            {"delimiter": "zz"}, EXCEL,
            values("delimiter", "auto", "comma", "pipe", owner=WORD),
        ),
        case(
            "excel-mcp-server 2.2.2: in brackets, and from A to C",
            "Error executing tool sort_range: Column 'example' is not in A1:C4. "
            "Use a header (n, v, w) or a column letter from A to C.",
            {**BOOK, "range": "A1:C4", "sort_by": [{"column": "example"}]}, EXCEL,
            values("sort_by.column", "n", "v", "w"), values("sort_by.column", "A", "C", owner=WORD),
            ("sort_by.column", {"is_missing": True}),
        ),
        case(
            "excel-mcp-server 2.2.2: examples",
            "Error executing tool set_note: Invalid range 'example'. Use A1 notation such as 'B2' or "
            "'A1:C10'.",
            {**BOOK, "at": "example"}, EXCEL,
            values("at", "B2", "A1:C10", owner=WORD), values("at", "A1:C10", "A1", owner=WORD),
        ),
        case(
            "dbhub 0.21.2: available, in JSON",
            json.dumps({"success": False, "error": "Schema 'zz' does not exist. Available schemas: main"}),
            {"schema": "zz", "object_type": "table"}, schema("object_type", "table", "schema"),
            values("schema", "main"), ("schema", {"is_missing": True}),
        ),
        case(
            "dbhub 0.21.2: zod 3 in a line",
            "MCP error -32602: Input validation error: Invalid arguments for tool search_objects: "
            "Invalid enum value. Expected 'schema' | 'table', received 'example' at object_type",
            {"object_type": "example"}, schema("object_type", "table"),
            values("object_type", "schema", "table", owner=WORD),
        ),
        case(
            "rmcp: serde",
            "failed to deserialize parameters: unknown variant `example`, expected one of `read`, `write`",
            {"mode": "example"}, schema("mode", "name"),
            values("mode", "read", "write", owner=WORD), ("mode", {"is_missing": True}),
        ),
        case(
            "Python SDK 1.x: jsonschema",
            "Input validation error: 'x' is not one of ['a', 'b']", {"mode": "x"}, schema("mode", "name"),
            values("mode", "a", "b", owner=WORD),
        ),
        case(
            "office-powerpoint-mcp-server 2.0.7: must be",
            '{"error": "Invalid operation: example. Must be \'analyze\', \'optimize\', or \'recommend\'"}',
            {"operation": "example"}, schema("operation", "font_path"),
            values("operation", "analyze", "optimize", "recommend", owner=WORD),
        ),
        case(
            "office-powerpoint-mcp-server 2.0.7: a list in JSON",
            '{"error": "Template \'x\' not found", "available_templates": ["a_1", "b_2"]}',
            {"template_id": "x"}, schema("template_id", "topic"),
            values("template_id", "a_1", "b_2"), ("template_id", {"is_missing": True}),
        ),
        case(
            "office-powerpoint-mcp-server 2.0.7: available types",
            "{\"error\": \"Unsupported shape type: 'x'. Available shape types: arrow, cloud, heart\"}",
            {"shape_type": "x"}, schema("shape_type", "id"),
            values("shape_type", "arrow", "cloud", "heart", owner=WORD),
        ),
        case(
            "excel-mcp-server 2.2.2: our own text, as Python writes it",
            "Error executing tool set_note: Invalid range '\\ue6f4\uba36'. Use A1 notation such as 'B2' or "
            "'A1:C10'.",
            {**BOOK, "at": "\ue6f4\uba36"}, EXCEL,
            values("at", "B2", "A1:C10", owner=WORD), values("at", "A1:C10", "A1", owner=WORD),
        ),
        case(
            "a server with words", "format must be text or json", {"format": "x"}, schema("format", "id"),
            values("format", "text", "json", owner=WORD),
        ),
        case(
            "a server with bullets",
            "Unknown topic 'x'. Available topics:\n- setup: how to begin\n- usage\n\nTry "
            "again.", {"topic": "x"},
            schema("topic", "page"),
            values("topic", "setup", "usage"), ("topic", {"is_missing": True}),
        ),
        case(
            "a server with a suggestion in JSON",
            '{"error": "no such topic", "available_topics": ["setup", "usage"]}', {"topic": "x"},
            schema("topic", "page"),
            values("topic", "setup", "usage"), ("topic", {"is_missing": True}),
        ),
        case(
            "a server that quotes",
            "The default branch of this project is 'trunk'.", {"branch": "x"}, schema("branch", "page"),
            values("branch", "trunk"),
        ),
    ],
)  # fmt: skip
def test_values(text, arguments, schema, wanted, more):
    check(text, arguments, schema, wanted, more)


@pytest.mark.parametrize(
    ("text", "arguments", "schema", "wanted", "more"),
    [
        case(
            "excel-mcp-server 2.2.2: either",
            "Error executing tool create_chart: Pass either source (a block of data) or series (explicit "
            "ranges), not both and not neither.", BOOK, schema("path", "sheet", "source", series=LIST),
            needs("source"), needs("series"),
        ),
        case(
            "excel-mcp-server 2.2.2: either, one level deeper",
            "Error executing tool add_data_validation: list validation needs either options or source.",
            {**BOOK, "rule": {"type": "list"}}, EXCEL,
            needs("rule.options"), needs("rule.source"),
        ),
        case(
            "excel-mcp-server 2.2.2: give", "Error executing tool set_table: Give `range` to create a table.",
            BOOK, EXCEL, needs("range"),
        ),
        case(
            "excel-mcp-server 2.2.2: a number of", "Error executing tool x: color_scale needs 2 or 3 colors.",
            {**BOOK, "rule": {"type": "color_scale"}}, EXCEL,
            needs("rule.colors"), ("rule.colors", {"low": 2, "high": 3}),
        ),
        case(
            "excel-mcp-server 2.2.2: two",
            "Error executing tool add_data_validation: date validation needs an operator and source.",
            {**BOOK, "rule": {"type": "date"}},
            schema("path", "sheet", rule=schema("type", "operator", "source")),
            needs("rule.operator"), needs("rule.source"),
        ),
        case(
            "excel-mcp-server 2.2.2: only for",
            "Error executing tool add_data_validation: options and source are only for list validation.",
            {**BOOK, "rule": {"type": "date", "options": ["a"]}}, EXCEL,
            ("rule.options", {"without": ("rule.options",)}),
        ),
        case(
            "excel-mcp-server 2.2.2: does not apply",
            "Error executing tool create_chart: rows does not apply to column charts; it works with lines.",
            {**BOOK, "rows": [1]}, EXCEL, ("rows", {"without": ("rows",)}),
        ),
        case(
            "excel-mcp-server 2.2.2: choose another",
            "Error executing tool create_pivot_table: The PivotTable would cover its own source data A1:C10. "
            "Choose a `at` outside it, or another `sheet`.",
            {**BOOK, "at": "A1", "range": "A1:C10"}, EXCEL, ("at", {}), ("sheet", {}),
        ),
        case(
            "excel-mcp-server 2.2.2: pass a value",
            "Error executing tool create_workbook: /x/a.xlsx already exists. Pass overwrite=true to "
            "replace it.",
            {"path": "/x/a.xlsx"}, EXCEL,
            needs("overwrite"), values("overwrite", True, owner=WORD, needs=("overwrite",)),
            ("path", {"is_taken": True}),
        ),
        case(
            "excel-mcp-server 2.2.2: a field too many",
            "Invalid arguments for read_range: zz: unknown field; valid fields: 'path', 'sheet', 'range'",
            {**BOOK, "zz": 1}, EXCEL,
            ("zz", {"without": ("zz",)}),
        ),
        case(
            "git-mcp-server 2.15.3: assignments",
            "Invalid arguments for tool git_add: Either paths must be provided, or all/update must be "
            "true. at "
            "paths", {}, schema(paths=LIST, all={"type": "boolean"}, update={"type": "boolean"}),
            needs("paths"), values("all", True, owner=WORD, needs=("all",)),
            values("update", True, owner=WORD, needs=("update",)),
        ),
        case(
            "git-mcp-server 2.15.3: pass a value",
            "Error: Path is not a git repository: example. Pass initialize: true to begin one.",
            {"path": "example"}, schema("path", initialize={"type": "boolean"}),
            needs("initialize"), values("initialize", True, owner=WORD, needs=("initialize",)),
        ),
        case(
            "mcp-go: required", 'required argument "name" not found', {}, schema("name", "query"),
            needs("name"), ("name", {"is_missing": True}),
        ),
        case(
            "C# SDK: required",
            "The arguments dictionary is missing a value for the required parameter 'title'.", {},
            schema("title", "text"), needs("title"),
        ),
        case(
            "a server with names in data", "Invalid params", {}, schema("title", "text"), needs("title"),
            data={"missing": ["title"]},
        ),
        case(
            "server-filesystem 2026.8.31: not both",
            "Cannot specify both head and tail parameters "
            "simultaneously", {"path": "/a", "head": 1, "tail": 1},
            FILES,
            ("tail", {"without": ("tail",)}), ("head", {"without": ("head",)}),
        ),
        case(
            "dbhub 0.21.2: one requires the other",
            '{"success": false, "error": "The \'table\' parameter requires \'schema\' to be specified"}',
            {"table": "zz"}, schema("object_type", "table", "schema"),
            needs("schema"),
        ),
        case(
            "kubernetes-mcp-server 0.0.67: missing", "failed to get node log, missing argument name", {},
            schema("name", "query"), needs("name"),
        ),
        case(
            "kubernetes-mcp-server 0.0.67: required", "failed to delete pod: name parameter required", {},
            schema("name", "namespace"), needs("name"),
        ),
        case(
            "github-mcp-server", "missing required parameter: "
            "owner", {}, schema("owner", "repo"), needs("owner")
        ),
        case("rmcp: serde", "failed to deserialize parameters: missing field "
        "`tool`", {}, schema("tool", "to"),
             needs("tool")),
        case(
            "Python SDK 1.x: jsonschema", "Input validation error: 'query' is a required property", {},
            schema("query", "page"), needs("query"),
        ),
        case(
            "Python SDK 1.x: one too many",
            "Input validation error: Additional properties are not allowed ('kind' was unexpected)",
            {"kind": "x", "directory": "y"}, schema("directory", "style"),
            ("kind", {"without": ("kind",)}),
        ),
    ],
)  # fmt: skip
def test_members(text, arguments, schema, wanted, more):
    check(text, arguments, schema, wanted, more)


@pytest.mark.parametrize(
    ("text", "arguments", "schema", "wanted", "more"),
    [
        case(
            "mcp-server-git 2026.10.19: missing",
            "Error executing tool git_show: Ref 'example' did not resolve to an object",
            {"repo_path": "/r", "revision": "example"}, GIT, ("revision", {"is_missing": True}),
        ),
        case(
            "mcp-server-git 2026.10.19: a command's stderr",
            "Error executing tool git_add: Cmd('git') failed due to: exit code(128)\n  cmdline: git add -- "
            "example\n"
            "  stderr: 'fatal: pathspec 'example' did not match any files'",
            {"repo_path": "/r", "files": ["example"]}, GIT,
            ("files", {"is_missing": True}), values("", "git"),
        ),
        case(
            "mcp-server-git 2026.10.19: taken",
            "Error executing tool git_create_branch: Cannot create branch 'b1': refs/heads/b1 already exists",
            {"repo_path": "/r", "branch_name": "b1"}, GIT, ("branch_name", {"is_taken": True}),
        ),
        case(
            "office-word-mcp-server 1.1.11: a path of ours", "Image file not found: /w/example",
            {"filename": "example", "image_path": "example"}, schema("filename", "image_path"),
            ("filename", {"inside": "/w"}), ("image_path", {"inside": "/w"}), ("image_path",
            {"is_missing": True}),
        ),
        case(
            "git-mcp-server 2.15.3: another tool first",
            "Error: No session working directory set. Please specify a 'path' or use 'git_set_working_dir' "
            "first.",
            {}, schema("path", "file"), needs("path"), ("", {"first": ("git_set_working_dir",)}),
            tools=("git_set_working_dir",),
        ),
        case(
            "mcp-server-git 2026.10.19: another tool first",
            "Error executing tool git_commit: No changes staged for commit. Use git_add to stage changes "
            "first.",
            {"repo_path": "/r"}, GIT, ("", {"first": ("git_add",)}), tools=("git_add", "git_log"),
        ),
        case(
            "excel-mcp-server 2.2.2: taken",
            "Error executing tool rename_sheet: A sheet named 'example' already exists.",
            {"sheet": "Sheet1", "new_name": "example"}, EXCEL, ("new_name", {"is_taken": True}),
        ),
        case(
            "server-filesystem 2026.8.31: no match on the next line",
            "Could not find exact match for "
            "edit:\nexample", {"path": "/a", "edits": [{"oldText": "example"}]},
            FILES, ("edits.oldText", {"is_missing": True}),
        ),
        case(
            "server-filesystem 2026.8.31: taken", "Destination already exists: /srv/b",
            {"source": "/srv/a", "destination": "/srv/b"}, FILES, ("destination", {"is_taken": True}),
        ),
        case(
            "excel-mcp-server 2.2.2: has no",
            "Error executing tool delete_chart: Sheet 'Sheet1' has no charts.",
            BOOK, EXCEL, ("sheet", {"is_missing": True}),
        ),
        case(
            "server-memory 2026.8.31", "Entity with name zz not "
            "found", {"observations": [{"entityName": "zz"}]},
            schema(observations=items("entityName", contents=LIST)),
            ("observations.entityName", {"is_missing": True}),
        ),
        case("mcp-server-sqlite 2025.4.25", "Database error: no such table: example", {"query": "SELECT"},
             schema("query"), ("query", {"is_missing": True})),
    ],
)  # fmt: skip
def test_existence(text, arguments, schema, wanted, more):
    check(text, arguments, schema, wanted, more)


@pytest.mark.parametrize(
    ("text", "arguments", "schema", "wanted", "more"),
    [
        case(
            "excel-mcp-server 2.2.2: base64", "Error executing tool x: content_base64 is not valid base64.",
            {"path": "/x", "content_base64": "example"}, EXCEL,
            values("content_base64", "ZXhhbXBsZQ==", owner=WORD),
        ),
        case(
            "mcp-server-time 2026.10.19: a time",
            "Error executing tool convert_time: Invalid time format. Expected HH:MM [24-hour format]",
            {"time": "example", "source_timezone": "UTC"}, schema("source_timezone", "time"),
            values("time", "12:30", owner=WORD, pattern="HH:MM"),
        ),
        case(
            "mcp-server-sqlite 2025.4.25: a statement", "Error: Only CREATE TABLE statements are allowed",
            {"query": "example"}, schema("query"),
            values("query", "CREATE TABLE mcp_conformance_example (id INTEGER, name TEXT)", owner=WORD),
        ),
        case(
            "excel-mcp-server 2.2.2: not empty", "Error executing tool x: rows must contain at least one "
            "value.",
            {**BOOK, "rows": []}, EXCEL, ("rows", {"low": 1}),
        ),
        case(
            "excel-mcp-server 2.2.2: bounds",
            "Invalid arguments for insert_rows:\n- start: must be at least 1\n- count: must be at most "
            "100000",
            {"start": 0, "count": 10**6}, schema(start=NUMBER, count=NUMBER),
            ("start", {"low": 1}), ("count", {"high": 100000}),
        ),
        case(
            "office-word-mcp-server 1.1.11: range", "Invalid table index. Document has 3 tables (0-2).",
            {"filename": "a", "table_index": 7}, schema("filename", table_index=NUMBER),
            ("table_index", {"low": 0, "high": 2}),
        ),
        case(
            "office-powerpoint-mcp-server 2.0.7: available numbers",
            '{"error": "Invalid slide index: 5. Available slides: 0-3"}',
            {"slide_index": 5}, schema("text", slide_index=NUMBER),
            values("slide_index", "0-3"), ("slide_index", {"low": 0, "high": 3}),
        ),
        case("a search", "limit must be between 1 and 100", {"limit": 0}, schema("query", limit=NUMBER),
             ("limit", {"low": 1, "high": 100})),
        case(
            "ruv-swarm 1.0.20: in data", "MCP tool error: topology must be of type string", {"topology": 5},
            schema("topology", "strategy"), ("topology", {"type": "string"}),
            data={"tool": "swarm_init", "error": "topology must be of type string"},
        ),
        case(
            "kubernetes-mcp-server 0.0.67", "failed to get configuration: minified parameter must be a "
            "boolean",
            {"minified": 5}, schema(minified={"type": "boolean"}), ("minified", {"type": "boolean"}),
        ),
        case(
            "Python SDK 1.x: jsonschema", "Input validation error: 5 is not of type 'string'", {"query": 5},
            schema("query", "page"), ("query", {"type": "string"}),
        ),
        case(
            "rmcp: serde", 'failed to deserialize parameters: invalid type: string "200", expected u32',
            {"limit": "200"}, schema("name", limit={}), ("limit", {"type": "integer"}),
        ),
        case(
            "sandboxed.sh: serde with a path", "Invalid params: state: invalid type: map, expected a string",
            {"state": {}}, schema("state", "name"), ("state", {"type": "string"}),
        ),
    ],
)  # fmt: skip
def test_types_bounds_and_formats(text, arguments, schema, wanted, more):
    check(text, arguments, schema, wanted, more)


ISSUES = schema("owner", "style", "mode", limit=NUMBER, opts=items("mode"))


@pytest.mark.parametrize(
    ("text", "arguments", "schema", "wanted", "more"),
    [
        case(
            "mcp-server-git 2026.10.19: pydantic 2",
            "Error executing tool git_add: 2 validation errors for addArguments\nrepo_path\n  Field required "
            "[type=missing, input_value={}, input_type=dict]\n    For further information visit "
            "https://x.y/z\n"
            "files\n  Input should be a valid list [type=list_type, input_value=5, input_type=int]\n"
            "    For further information visit "
            "https://errors.pydantic.dev/2.14/v/list_type", {"files": 5}, GIT,
            needs("repo_path"), ("files", {"type": "array"}),
        ),
        case(
            "mcp-server-motherduck 1.1.0, FastMCP: pydantic 2",
            "1 validation error for call[f]\nmode\n  Input should be 'a' or 'b' [type=literal_error, "
            "input_value='x', input_type=str]\n    For further information visit https://errors.pydantic.dev",
            {"mode": "x"}, ISSUES, values("mode", "a", "b", owner=WORD),
        ),
        case(
            "pydantic 2 in JSON",
            json.dumps([
                {"type": "literal_error", "loc": ["mode"], "msg": "Input should be 'a' or 'b'", "input": "x",
                 "ctx": {"expected": "'a' or 'b'"}},
                {"type": "greater_than", "loc": ["limit"], "msg": "Input", "ctx": {"gt": 0}},
                {"type": "extra_forbidden", "loc": ["zz"], "msg": "Extra inputs are not permitted"},
            ]),
            {"mode": "x", "limit": 0}, ISSUES,
            values("mode", "a", "b", owner=WORD), ("limit", {"low": 1}), ("zz", {"without": ("zz",)}),
        ),
        case(
            "server-github 2025.4.8: zod 3",
            'Invalid input: '
            '[{"code":"invalid_type","expected":"string","received":"undefined","path":["owner"],'
            '"message":"Required"},{"code":"invalid_type","expected":"string","received":"number",'
            '"path":["style"],"message":"Expected string, received number"}]', {"style": 5}, ISSUES,
            ("owner", {"needs": ("owner",), "type": "string"}), ("style", {"type": "string"}),
        ),
        case(
            "TypeScript SDK 1.10: zod 3, deep",
            'MCP error -32602: Invalid arguments for tool x: [\n  {\n    "code": "invalid_enum_value",\n'
            '    "options": [\n      "a",\n      "b"\n    ],\n    "path": [\n      "opts",\n      0,\n     '
            ' "mode"\n'
            '    ],\n    "message": "Wrong"\n  }\n]', {"opts": [{"mode": "x"}]}, ISSUES,
            values("opts.mode", "a", "b", owner=WORD),
        ),
        case(
            "zod 4 in JSON",
            json.dumps([
                {"code": "invalid_value", "values": ["xml", "json"], "path": ["style"], "message": "Invalid"},
                {"code": "too_small", "origin": "number", "minimum": 1, "path": ["limit"],
                "message": "Too small"},
                {"code": "unrecognized_keys", "keys": ["zz"], "path": [], "message": "Unrecognized key"},
            ]),
            {"style": "x", "limit": 0, "zz": 1}, ISSUES,
            values("style", "xml", "json", owner=WORD), ("limit", {"low": 1}), ("zz", {"without": ("zz",)}),
        ),
        case(
            "zod 4, prettified",
            "\u2716 Invalid input: expected string, received undefined\n  \u2192 at owner\n"
            "\u2716 Too small: expected value to be >=1\n  \u2192 at limit", {"limit": 0}, ISSUES,
            ("owner", {"needs": ("owner",), "type": "string"}), ("owner", {"type": "string"}),
            ("limit", {"low": 1}),
        ),
        case(
            "server-filesystem 2026.8.31, TypeScript SDK 1.32: zod 4",
            "MCP error -32602: Input validation error: Invalid arguments for tool list: Invalid input: "
            "expected "
            'string, received undefined at path\nInvalid option: expected one of "name"|"size" at sortBy',
            {"sortBy": 5}, FILES,
            ("path", {"needs": ("path",), "type": "string"}),
            values("sortBy", "name", "size", owner=WORD), ("path", {"type": "string"}),
        ),
        case(
            "context7 4.1.1, TypeScript SDK 2: zod 4",
            "Input validation error: Invalid arguments for tool find: owner: Invalid input: expected string, "
            "received undefined, style: Invalid input: expected string, received "
            "number", {"style": 5}, ISSUES,
            ("owner", {"needs": ("owner",), "type": "string"}), ("style", {"type": "string"}),
            ("owner", {"type": "string"}),
        ),
        case(
            "ajv in data", "Invalid params", {"mode": "x"}, ISSUES,
            values("mode", "p", "q", owner=WORD), ("owner", {"needs": ("owner",)}),
            data=[
                {"instancePath": "/mode", "keyword": "enum", "params": {"allowedValues": ["p", "q"]},
                 "message": "is wrong"},
                {"instancePath": "", "keyword": "required", "params": {"missingProperty": "owner"},
                 "message": "is wrong"},
            ],
        ),
        case(
            "mcp-grafana, mcp-go: encoding/json",
            "unmarshal args: json: cannot unmarshal string into Go struct field ListParams.limit of type int",
            {"limit": "5"}, ISSUES, ("limit", {"type": "integer"}),
        ),
        case(
            "go-sdk: missing", 'validating "arguments": validating root: required: missing properties: '
            '["owner" "mode"]', {}, ISSUES, needs("owner"), needs("mode"),
        ),
        case(
            "github-mcp-server on go-sdk: enum",
            'validating "arguments": validating root: validating /properties/mode: enum: nope does not equal '
            "any of: [get get_comments]", {"mode": "nope"}, ISSUES,
            values("mode", "get", "get_comments", owner=WORD),
        ),
        case(
            "go-sdk: pattern", 'validating root: validating /properties/style: pattern: "NOPE" does not '
            'match '
            'regular expression "^[a-z0-9]{10}$"', {"style": "NOPE"}, ISSUES,
            ("style", {"pattern": "^[a-z0-9]{10}$"}),
        ),
        case(
            "go-sdk: type", 'validating root: validating /properties/limit: type: 1, 100 has type "string", '
            'want "integer"', {"limit": "1, 100"}, ISSUES, ("limit", {"type": "integer"}),
        ),
        case(
            "go-sdk: bound", "validating root: validating /properties/limit: minimum: -3/1 is less than "
            "0.000000",
            {"limit": -3}, ISSUES, ("limit", {"low": 0.0}),
        ),
        case(
            "go-sdk: one too many", 'validating root: unexpected additional properties ["zz"]', {"zz": 1},
            ISSUES, ("zz", {"without": ("zz",)}),
        ),
        case(
            "excel-mcp-server 2.2.2: lines of its own",
            "Invalid arguments for add_slicer:\n- opts.mode: required\n- style: string should match pattern "
            "'^(Time)?Style\\d$' (got 'x')", {"style": "x"}, ISSUES,
            needs("opts.mode"), ("style", {"pattern": r"^(Time)?Style\d$"}),
        ),
    ],
)  # fmt: skip
def test_validators(text, arguments, schema, wanted, more):
    check(text, arguments, schema, wanted, more)


@pytest.mark.parametrize(
    "text",
    [
        "not found: example",
        "Invalid branch type: example",
        "'example' is wrong",
        'Traceback (most recent call last):\n  File "/srv/app/main.py", line 3, in call\n    raise x',
        "failed\n    at run (/srv/app/index.js:3:7)\n    at async main (/srv/app/index.js:9:1)",
        "",
    ],
)
def test_a_text_that_repeats_our_argument_and_a_traceback_give_no_values(text):
    assert [clue for clue in clues(text, {"branch": "example"}, schema("branch", "x")) if clue.values] == []


def test_a_schema_that_is_none_still_gives_clues():
    assert read("'a' is not one of ['b']", {"mode": "a"}, None) == [values("", "b", owner=WORD)]


@pytest.mark.parametrize("data", [[], 5, "x", {"a": [{"path": 5}]}, {"path": []}, [None, {"loc": [None]}]])
def test_data_of_any_shape_is_read(data):
    clues("Invalid params", {"a": 1}, schema("a"), data)


@pytest.mark.parametrize(
    "text",
    ["'" * 100_000, "[" * 100_000, '{"' * 50_000, "a, " * 40_000, "must be one of: " * 9000, "./" * 50_000,
     "x: " * 40_000, "e.g. " * 30_000, "expected 'a' | " * 9000, "between 1 and " * 9000, "aA1_" * 30_000]
)  # fmt: skip
def test_a_long_text_is_read_in_little_time(text):
    before = time.process_time()
    clues(
        text,
        {"path": "/a/b", "sheet": "x" * 5000},
        EXCEL,
        {"error": text, "all": [{"path": "a", "msg": text}]},
    )
    assert time.process_time() - before < 2


def test_a_long_text_is_cut():
    assert len("".join(Refusal("x y\n" * MAX_REFUSAL).lines)) <= MAX_REFUSAL
