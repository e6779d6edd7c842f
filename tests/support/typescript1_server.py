"""The reference server with the errors of the TypeScript SDK 1.x."""

import json
import sys

from mcp_conformance_fixtures.reference import main

ISSUE = {"expected": "string", "code": "invalid_type", "path": ["params"], "message": "Invalid input"}


def mutate(server, request, reply):
    """Report unfit params as that SDK does."""
    error = reply.get("error", {}) if isinstance(reply, dict) else {}
    if error.get("code") == -32601:
        reply["error"] = {"code": -32601, "message": "Method not found"}
    if error.get("code") == -32602:
        reply["error"] = {"code": -32603, "message": json.dumps([ISSUE], indent=2)}


if __name__ == "__main__":
    sys.exit(main(mutate))
