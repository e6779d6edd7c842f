"""A server and its authorization server that are out to harm whoever logs in; each test changes one step."""

import json
import threading
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qsl, urlencode, urlsplit

TOKEN, REFRESH, CODE, SECRET = (
    "ACCESS-token-0123",
    "REFRESH-token-456",
    "SECRET-code-78901",
    "CLIENT-secret-2345",
)
REGISTRATION = "REGISTRATION-token-6"
SECRETS = (TOKEN, REFRESH, CODE, SECRET, REGISTRATION)
ASKED, METADATA, SERVER, REGISTER, AUTHORIZE, GIVE, USE = [
    "ask",
    "metadata",
    "server",
    "register",
    "authorize",
    "give",
    "use",
]
STEPS = {
    "/meta": METADATA,
    "/.well-known/oauth-protected-resource/mcp": METADATA,
    "/.well-known/oauth-authorization-server": SERVER,
    "/register": REGISTER,
    "/authorize": AUTHORIZE,
    "/token": GIVE,
}


@dataclass(frozen=True)
class Reply:
    """A response; the body of JSON is a dict.  With ``chunk`` it goes on for ever, slowly or not."""

    status: int
    body: object
    headers: tuple = ()
    chunk: bytes = b""
    pause: float = 0.0


def usual(step, origin, asked):  # noqa: PLR0911  (one for each step)
    """Return what an authorization server that harms nobody sends."""
    if step == ASKED:
        return Reply(401, {}, (("WWW-Authenticate", f'Bearer resource_metadata="{origin}/meta"'),))
    if step == METADATA:
        return Reply(200, {"resource": f"{origin}/mcp", "authorization_servers": [origin]})
    if step == SERVER:
        known = {f"{name}_endpoint": f"{origin}/{path}" for name, path in ENDPOINTS.items()}
        return Reply(200, {"issuer": origin, "code_challenge_methods_supported": ["S256"], **known})
    if step == REGISTER:
        given = {"client_secret": SECRET, "registration_access_token": REGISTRATION}
        return Reply(201, {"client_id": "one", "token_endpoint_auth_method": "client_secret_post", **given})
    if step == AUTHORIZE:
        back = {"code": CODE, "state": asked.query.get("state", "")}
        return Reply(302, b"", (("Location", f"{asked.query['redirect_uri']}?{urlencode(back)}"),))
    if step == GIVE:
        return Reply(200, {"access_token": TOKEN, "token_type": "Bearer", "refresh_token": REFRESH})
    return Reply(200, {"jsonrpc": "2.0", "id": 1, "result": {}})


ENDPOINTS = {"authorization": "authorize", "token": "token", "registration": "register"}


class Asked:
    """A request as it came."""

    def __init__(self, handler):
        length = int(handler.headers.get("Content-Length") or 0)
        self.path, self.query = urlsplit(handler.path).path, dict(parse_qsl(urlsplit(handler.path).query))
        self.headers, self.body = handler.headers, handler.rfile.read(length).decode("latin-1")
        self.method = handler.command

    @property
    def step(self):
        """The step of a login that it is."""
        if self.path == "/mcp":
            return USE if self.headers.get("Authorization") else ASKED
        return STEPS.get(self.path)


class Hostile:
    """What runs at an origin: ``changes`` are functions of the usual reply and the request, by step.

    ``url`` is that of the MCP server.
    """

    def __init__(self, origin, changes):
        self.origin, self.changes, self.url = origin, changes, f"{origin}/mcp"
        self.asked = []

    def reply(self, asked):
        """Return the response to a request."""
        self.asked.append(asked)
        if asked.step is None:
            return Reply(404, {})
        reply = usual(asked.step, self.origin, asked)
        change = self.changes.get(asked.step)
        return change(reply, asked) if change is not None else reply


def members(**changed):
    """Return the change of members of a body; `{origin}` in a text stands for that of the server."""

    def change(reply, asked):
        origin = f"http://{asked.headers['Host']}"
        values = {
            name: value.replace("{origin}", origin) if isinstance(value, str) else value
            for name, value in changed.items()
        }
        return replace(reply, body={**reply.body, **values})

    return change


def changed(**changes):
    """Return the change of parts of a reply."""
    return lambda reply, _: replace(reply, **changes)


def spelt(name, text):
    """Return the change of a member's value to a JSON text, which need not be JSON."""

    def change(reply, _):
        body = json.dumps({**reply.body, name: "VALUE"}).replace('"VALUE"', text)
        return replace(reply, body=body.encode())

    return change


@contextmanager
def serving(server):
    """Let a server answer in a thread."""
    thread = threading.Thread(target=server.serve_forever, args=[0.01], daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        thread.join()


@contextmanager
def hostile(**changes):
    """Serve on a free port of this machine, and give the `Hostile`."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def answer(self):
            reply = running.reply(Asked(self))
            body = reply.body if isinstance(reply.body, bytes) else json.dumps(reply.body).encode()
            self.send_response(reply.status)
            if "Content-Type" not in dict(reply.headers):
                self.send_header("Content-Type", "application/json")
            for name, value in reply.headers:
                self.send_header(name, value)
            self.send_header(
                *(("Connection", "close") if reply.chunk else ("Content-Length", str(len(body))))
            )
            self.end_headers()
            self.wfile.write(body)
            with suppress(OSError):
                while reply.chunk and not ended.wait(reply.pause):
                    self.wfile.write(reply.chunk)
            self.close_connection = bool(reply.chunk)

        do_GET = do_POST = do_DELETE = answer  # noqa: N815  (the names of the library)

        def log_message(self, *_):
            """Print nothing."""

    ended = threading.Event()
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.handle_error = lambda *_: None
        running = Hostile(f"http://127.0.0.1:{server.server_port}", changes)
        with serving(server):
            try:
                yield running
            finally:
                ended.set()


class Victim(ThreadingHTTPServer):
    """A listener of this machine; whoever connects is noted in ``met``."""

    def __init__(self):
        met = self.met = []

        class Handler(BaseHTTPRequestHandler):
            def handle(self):
                met.append(self.rfile.readline())

        super().__init__(("127.0.0.1", 0), Handler)

    def handle_error(self, *_):
        """Print nothing."""


@contextmanager
def victim():
    """Give a listener that nobody may ask."""
    with Victim() as server, serving(server):
        yield server
