"""The lines on which the servers of a configuration stand."""

from mcp_conformance.project.client_configs import without_comments
from mcp_conformance.project.places import json_lines, toml_lines

JSON = """{ // {
  "other": {"mcpServers": {"a": 1}}, /* "mcpServers": {
  */
  "mcpServers": {
    "a": {"env": {"b": "\\"}, {", "c": "x"}, "args": [{"b": 1}]},
    "b": {},
    "d\\u0041":
      {}
  },
  "b": {}
}"""
TOML = """
command = "[servers.x]"
[tool.other.servers.a]
[tool.mcp-conformance]
servers.q.command = "x"
[tool.mcp-conformance.servers]
r = { command = "x" }
[ tool . mcp-conformance . servers . "a.b" ] # why
command = [
  "servers = 1",
]
[tool.mcp-conformance.servers."a.b".env]
c = "1"
[tool.mcp-conformance.servers.d]
"""


def test_a_member_of_json_is_found_below_its_object():
    assert json_lines(without_comments(JSON), ("mcpServers",)) == {"a": 5, "b": 6, "dA": 7}
    assert json_lines(without_comments(JSON), ("mcpServers", "a", "env")) == {"b": 5, "c": 5}


def test_a_member_of_toml_is_found_where_its_table_begins():
    table = ("tool", "mcp-conformance", "servers")
    assert toml_lines(TOML, table) == {"q": 5, "r": 7, "a.b": 8, "d": 14}
