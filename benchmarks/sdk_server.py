"""A server of the official Python SDK with typed tools, for benchmarks/fuzz.py; needs ``mcp`` 2.x."""

from typing import Annotated, Literal

from mcp.server import MCPServer
from mcp_types import ToolAnnotations
from pydantic import BaseModel, Field

READ_ONLY = ToolAnnotations(read_only_hint=True)
server = MCPServer("typed", log_level="ERROR")


class Page(BaseModel):
    """A page of search results."""

    query: str
    found: int
    tags: list[str]


class Box(BaseModel):
    """A rectangle."""

    width: Annotated[float, Field(gt=0, le=1000)]
    height: Annotated[float, Field(gt=0, le=1000)]


@server.tool(annotations=READ_ONLY)
def add(a: int, b: int) -> int:
    """Add two integers."""
    return a + b


@server.tool(annotations=READ_ONLY)
def search(
    query: Annotated[str, Field(max_length=200)],
    limit: Annotated[int, Field(ge=1, le=100)] = 10,
    order: Literal["name", "date", "size"] = "name",
    tags: list[str] | None = None,
    exact: bool = False,
) -> Page:
    """Search for nothing in particular."""
    return Page(query=query, found=limit + len(order) + exact, tags=tags or [])


@server.tool(annotations=READ_ONLY)
def area(boxes: Annotated[list[Box], Field(max_length=20)]) -> float:
    """Sum up the areas of some rectangles."""
    return sum(box.width * box.height for box in boxes)


if __name__ == "__main__":
    server.run()
