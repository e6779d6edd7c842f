"""A small MCP server with one fault: ``broken_servers.py NAME``."""

import json
import os
import signal
import socket
import sys
import time
from importlib import import_module
from pathlib import Path

OUT = sys.stdout.buffer


def answer(request):
    """Return the result that a healthy server sends."""
    method, params = request["method"], request.get("params", {})
    if method == "initialize":
        version, info = params["protocolVersion"], {"name": "sick", "version": "1.0"}
        return {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info}
    return {"tools": []} if method == "tools/list" else {}


def write_line(text, to=sys.stderr):
    to.write(f"{text}\n")
    to.flush()


def response(request):
    return {"jsonrpc": "2.0", "id": request["id"], "result": answer(request)}


def send(data):
    OUT.write(data)
    OUT.flush()


def line(message):
    return json.dumps(message).encode() + b"\n"


def serve(write=lambda message: send(line(message)), reply=response, take=lambda raw: raw):
    """Answer every line; a faulty server replaces one of these functions."""
    for raw in sys.stdin.buffer:
        text = take(raw)
        request = json.loads(text) if text.strip() else {}
        if "id" in request:
            write(reply(request))


def prints_a_banner():
    write_line("My server 1.0 \x1b[1mis starting\x1b[0m", sys.stdout)
    serve()


def is_silent():
    sys.stdin.read()


def buffers():
    serve(write=lambda message: sys.stdout.write(f"{json.dumps(message)}\n"))


def reads_to_the_end():
    for raw in sys.stdin.read().splitlines():
        request = json.loads(raw)
        send(line(response(request)))


def lacks_a_module():
    import_module("mcp_server_of_nobody")


def lacks_a_file_here():
    Path("its_project.json").read_text()
    serve()


def lacks_a_home():
    Path.home().joinpath(".its_settings").read_text()
    serve()


def lacks_a_credential():
    if not os.environ.get("SICK_API_KEY"):
        raise SystemExit("SICK_API_KEY is not set")
    serve()


def lacks_a_variable():
    write_line(os.environ["SICK_DATABASE_URL"])


def lacks_an_argument():
    write_line("usage: sick [-h] DATABASE")
    raise SystemExit(2)


def ends_no_line():
    serve(write=lambda message: send(line(message).strip()))


def ends_lines_with_cr():
    serve(write=lambda message: send(line(message).strip() + b"\r"))


def indents():
    serve(write=lambda message: send(json.dumps(message, indent=2).encode() + b"\n"))


def writes_a_byte_order_mark():
    serve(write=lambda message: send(b"\xef\xbb\xbf" + line(message)))


def writes_utf16():
    serve(write=lambda message: send(line(message).decode().encode("utf-16")))


def answers_in_a_list():
    serve(write=lambda message: send(line([message])))


def answers_another():
    serve(reply=lambda request: response(request) | {"id": 77})


def answers_a_string():
    serve(reply=lambda request: response(request) | {"id": str(request["id"])})


def cannot_read():
    error = {"code": -32700, "message": "Parse error"}
    serve(reply=lambda _: {"jsonrpc": "2.0", "id": None, "error": error})


def echoes():
    serve(write=send, reply=line)


def answers_with_headers():
    serve(write=lambda message: send(b"Content-Length: %d\r\n\r\n%b" % (len(body := line(message)), body)))


def waits_for_headers():
    while (head := sys.stdin.buffer.readline()).strip():
        if head.startswith(b"Content-Length:"):
            sys.stdin.buffer.readline()
            request = json.loads(sys.stdin.buffer.read(int(head.split()[1])))
            body = line(response(request)).strip()
            send(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
            return is_silent()
    return is_silent()


def needs_carriage_returns():
    serve(take=lambda raw: raw if raw.endswith(b"\r\n") else b"")


def serves_http():
    write_line("INFO:     Uvicorn running on http://127.0.0.1:8000 (Press CTRL+C to quit)")
    is_silent()


def listens():
    with socket.create_server(("127.0.0.1", 0)):
        is_silent()


def asks_to_install():
    write_line("Need to install the following packages:\nserver-sick@1.0\nOk to proceed? (y) ")
    is_silent()


def ends_at_once():
    pass


def ends_with_status_3():
    raise SystemExit(3)


def raises():
    raise ValueError("the \x1b[31mmoon\x1b[0m is full")


def forgets_to_await():
    async def main():
        serve()

    _ = main()


def goes_on_in_the_background():
    if hasattr(os, "fork") and os.fork() == 0:
        is_silent()


def kills_itself():
    os.kill(os.getpid(), signal.SIGKILL)


def closes_stdout():
    os.close(1)
    is_silent()


def refuses_the_version():
    data = {"supported": ["2024-11-05"]}
    error = {"code": -32602, "message": "Unsupported protocol version", "data": data}
    serve(reply=lambda request: {"jsonrpc": "2.0", "id": request["id"], "error": error})


def refuses():
    error = {"code": -32603, "message": "The disk is full"}
    serve(reply=lambda request: {"jsonrpc": "2.0", "id": request["id"], "error": error})


def sends_no_version():
    serve(reply=lambda request: response(request) | {"result": {"capabilities": {}}})


def sends_an_odd_version():
    result = {"protocolVersion": "1.0", "capabilities": {}}
    serve(reply=lambda request: response(request) | {"result": result})


def exits_later():
    def reply(request):
        if request["method"] != "initialize":
            raise SystemExit("the tools are gone")
        return response(request)

    serve(reply=reply)


def prints_and_exits_later():
    write_line("My server 1.0", sys.stdout)
    exits_later()


def floods():
    while True:
        send(b"still starting\n" * 1000)


def never_stops():
    serve()
    time.sleep(600)


def is_stateless_and_prints():
    result = {"supportedVersions": ["2026-07-28"], "capabilities": {}, "resultType": "complete", "tools": []}
    error = {"code": -32601, "message": "There is no such method."}

    def reply(request):
        outcome = {"error": error} if request["method"] == "initialize" else {"result": result}
        return {"jsonrpc": "2.0", "id": request["id"], **outcome}

    write_line("My stateless server is starting", sys.stdout)
    serve(reply=reply)


def is_healthy():
    write_line("debug: a log line")
    serve()


if __name__ == "__main__":
    globals()[sys.argv[1]]()
