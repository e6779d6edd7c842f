"""A server with one tool, which reads a file at an absolute path."""

import json
import sys
from pathlib import Path

READ = {
    "name": "read",
    "annotations": {"readOnlyHint": True},
    "inputSchema": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
}
INFO = {"name": "r", "version": "1"}
OPENING = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": INFO}
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    result = {"initialize": OPENING, "tools/list": {"tools": [READ]}}.get(message["method"], {})
    if message["method"] == "tools/call":
        path = message["params"]["arguments"]["path"]
        is_file = Path(path).is_absolute() and Path(path).is_file()
        text = str(Path(path).read_bytes()[:9]) if is_file else f"{path} is no absolute path of a file"
        result = {"content": [{"type": "text", "text": text}], "isError": not is_file}
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}) + "\n")
    sys.stdout.flush()
