"""The reference server with the words of an SDK, and a fault: ``python sdk_words_server.py SDK``.

``go`` and ``rust`` word only the error for an unknown method as the SDK does, and take a request that names
no version for one of the newest revision.  ``python1`` has the errors of two paths of that SDK's code, and
ends at a cancellation.
"""

import sys

from mcp_conformance_fixtures.mutants import method, named, refused
from mcp_conformance_fixtures.reference import main

UNKNOWN = {"go": 'method not found: "{}"', "rust": "{}"}
NOT_SERVED = ("logging/setLevel", "completion/complete")


def one_wording(sdk):
    """Return a function that words an unknown method as an SDK does, and breaks a rule."""
    fault = named("a_missing_version_is_the_newest").mutate

    def mutate(server, request, reply):
        changed = fault(server, request, reply) or reply
        if is_error(changed, -32601) and request is not None:
            return refused(request, -32601, UNKNOWN[sdk].format(method(request)))
        return changed

    return mutate


def python1(server, request, reply):
    """Answer as the Python SDK 1.x does, and end at a cancellation."""
    if method(request) == "notifications/cancelled":
        sys.exit(1)
    if method(request) == "initialize":
        for name in ("logging", "completions"):
            reply["result"]["capabilities"].pop(name, None)
    if method(request) in NOT_SERVED:
        return refused(request, -32601, "Method not found")
    if is_error(reply, -32601):
        reply["error"] = {"code": -32602, "message": "Invalid request parameters", "data": ""}
    return None


def is_error(reply, code):
    """Return whether a reply is an error with this code."""
    return isinstance(reply, dict) and reply.get("error", {}).get("code") == code


if __name__ == "__main__":
    sys.exit(main(python1 if sys.argv[1] == "python1" else one_wording(sys.argv[1])))
