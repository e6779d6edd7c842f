"""A server with a hundred tools, each with a schema of six members, in the handshake era."""

from mcp_conformance_fixtures.awkward._base import Base, Json, Tool, text

SCHEMA: Json = {
    "type": "object",
    "properties": {
        "query": {"type": "string"},
        "limit": {"type": "integer"},
        "ratio": {"type": "number"},
        "deep": {"type": "boolean"},
        "tags": {"type": "array", "items": {"type": "string"}},
        "options": {"type": "object", "properties": {"name": {"type": "string"}}},
    },
    "required": ["query"],
}


class Server(Base):
    """Has a hundred tools."""

    known = tuple(
        Tool(f"tool_{n}", f"Finds what {n} is.", SCHEMA, lambda _: text("done")) for n in range(100)
    )

    def tools(self) -> list[Tool]:
        """Return the tools."""
        return list(self.known)


if __name__ == "__main__":
    Server().serve()
