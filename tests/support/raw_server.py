"""A server on a loopback socket that sends exact bytes, and keeps exactly what it received."""

import contextlib
import re
import socket
import threading

from mcp_conformance.transport.http.endpoint import Endpoint

LENGTH = re.compile(rb"(?im)^content-length: (\d+)\r?$")


class RawServer:
    """A server that serves each connection in a thread by ``serve(connection)``.

    ``received`` has what `read_request` returned, ``connections`` counts; an exception in ``serve`` is raised
    when the server is closed.
    """

    def __init__(self, serve):
        self.serve = serve
        self.received = []
        self.connections = 0
        self._errors = []
        self._open = []
        self._threads = []
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port = self._listening.getsockname()[1]
        self.endpoint = Endpoint.parse(f"http://127.0.0.1:{self.port}/mcp")
        self._start(self._accept)

    def _start(self, job, *arguments):
        thread = threading.Thread(target=job, args=arguments, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._listening.accept()
                self.connections += 1
                self._open.append(connection)
                self._start(self._serve, connection)

    def _serve(self, connection):
        try:
            with connection:
                self.serve(connection)
        except OSError:
            pass
        except Exception as error:  # noqa: BLE001  (raised again by `close`)
            self._errors.append(error)

    def read_request(self, connection):
        """Return the bytes of one request, b"" at the end."""
        data = b""
        while b"\r\n\r\n" not in data and (chunk := connection.recv(65536)):
            data += chunk
        head, _, body = data.partition(b"\r\n\r\n")
        length = int(found[1]) if (found := LENGTH.search(head)) else 0
        while len(body) < length and (chunk := connection.recv(65536)):
            body, data = body + chunk, data + chunk
        self.received.append(data)
        return data

    def close(self):
        """Close everything; raises what a thread raised."""
        with contextlib.suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        for connection in self._open:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join()
        if self._errors:
            raise self._errors[0]

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.close()


def replying(*replies):
    """Return a server that answers the requests of each connection with these bytes, then closes it."""

    def serve(connection):
        for reply in replies:
            if not server.read_request(connection):
                return
            connection.sendall(reply)

    server = RawServer(serve)
    return server
