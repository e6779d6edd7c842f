"""Mutants that cannot cope with broken lines, odd ids, or many requests at once."""

import os
import sys

from conformance.fixtures.mutants import SILENCE, answered, method, mutant, params, refused


def die(why):
    """End the server at once."""
    raise SystemExit(f"Traceback (most recent call last): {why}")


def depth(value):
    """Tell how deeply a value is nested."""
    deep, inner = 0, [value]
    while inner:
        deep += 1
        nested = [one for one in inner if isinstance(one, dict | list)]
        inner = [one for some in nested for one in (some.values() if isinstance(some, dict) else some)]
    return deep


def waiting():
    """Tell how many lines have come that were not read yet."""
    os.set_blocking(0, False)
    try:
        return sys.stdin.buffer.peek().count(b"\n")
    finally:
        os.set_blocking(0, True)


# --- broken lines ---------------------------------------------------------------------------------


@mutant("jsonrpc.garbage-not-fatal")
def two_messages_on_a_line_end_the_server(request):
    """Exits when there are two messages on a line."""
    if isinstance(request, bytes) and b"}{" in request:
        die("Extra data")


@mutant("jsonrpc.garbage-not-fatal")
def bytes_that_are_no_utf_8_end_the_server(request):
    """Exits when a line is not UTF-8."""
    if isinstance(request, bytes) and request.decode(errors="replace") != request.decode(errors="ignore"):
        die("UnicodeDecodeError")


@mutant("jsonrpc.garbage-not-fatal")
def bytes_that_are_no_utf_8_silence_the_server(server, request):
    """Answers nothing any more once a line was not UTF-8."""
    if isinstance(request, bytes) and request.decode(errors="replace") != request.decode(errors="ignore"):
        server.memory["silent"] = True
    return SILENCE if "silent" in server.memory else None


@mutant("jsonrpc.garbage-not-fatal")
def a_byte_order_mark_ends_the_server(request):
    """Exits when a line begins with a byte order mark."""
    if isinstance(request, bytes) and request.startswith(b"\xef\xbb\xbf"):
        die("Unexpected byte order mark")


@mutant("jsonrpc.garbage-not-fatal")
def a_number_ends_the_server(request):
    """Exits when a line is a number."""
    if isinstance(request, int) and not isinstance(request, bool):
        die("'int' object has no attribute 'get'")


@mutant("jsonrpc.garbage-not-fatal")
def an_empty_array_ends_the_server(request):
    """Exits when a line is an empty array."""
    if request == []:
        die("IndexError")


@mutant("jsonrpc.garbage-not-fatal")
def an_answer_to_nothing_ends_the_server(request):
    """Exits when it gets an answer to something it never asked."""
    if isinstance(request, dict) and "method" not in request and "result" in request:
        die("KeyError: 'conformance never asked'")


@mutant("jsonrpc.garbage-not-fatal")
def params_in_an_array_end_the_server(request):
    """Exits when the params are an array."""
    if isinstance(request, dict) and isinstance(request.get("params"), list):
        die("TypeError")


@mutant("jsonrpc.garbage-not-fatal")
def an_id_that_is_an_object_ends_the_server(request):
    """Exits when an id is an object."""
    if isinstance(request, dict) and isinstance(request.get("id"), dict):
        die("TypeError: unhashable type: 'dict'")


@mutant("jsonrpc.garbage-not-fatal")
def an_array_that_is_deep_ends_the_server(request):
    """Exits when a line is an array nested too deeply."""
    if isinstance(request, list) and depth(request) > 400:
        die("RecursionError")


@mutant("jsonrpc.garbage-not-fatal")
def a_line_of_a_megabyte_ends_the_server(request):
    """Exits when a line that is no JSON has more than a megabyte."""
    if isinstance(request, bytes) and len(request) > 1_000_000:
        die("ValueError: chunk is longer than limit")


@mutant("jsonrpc.garbage-not-fatal")
def a_line_cut_short_swallows_the_next(server, request):
    """Takes a line that is cut short together with the next one."""
    swallowed = server.memory.pop("cut short", False)
    server.memory["cut short"] = isinstance(request, bytes) and request.startswith(b'{"a":[{"b":')
    return SILENCE if swallowed or server.memory["cut short"] else None


@mutant("jsonrpc.error-id-unreadable", error=-32700)
def an_answer_to_broken_json_has_the_id_zero(request, reply):
    """Answers a line that is not JSON, and no object cut short either, under the id 0."""
    if not request.startswith(b"{"):
        reply["id"] = 0


@mutant("jsonrpc.error-id-unreadable", error=-32600)
def an_answer_to_an_unusable_id_has_a_string(request, reply):
    """Answers a request whose id is an array or an object under that id in a string."""
    if isinstance(request, dict) and isinstance(request.get("id"), list | dict):
        reply["id"] = str(request["id"])


@mutant("stdio.stdout-purity")
def broken_bytes_are_told_on_stdout(server, request):
    """Prints to stdout that a line is not UTF-8."""
    if isinstance(request, bytes) and b"\xff" in request:
        server.send_raw(b"cannot decode a line\n")


@mutant("stdio.stdout-purity", on="notifications/cancelled")
def a_cancellation_is_told_on_stdout(server):
    """Prints to stdout that a request is cancelled."""
    server.send_raw(b"cancelled\n")


@mutant("jsonrpc.response-every-request", on="ping")
def a_ping_that_is_deep_is_dropped(request):
    """Never answers a ping whose params are nested deeply."""
    return SILENCE if depth(request) > 400 else None


@mutant("jsonrpc.response-every-request", on="ping")
def a_ping_with_an_unknown_member_is_dropped(request):
    """Never answers a ping with a member that it does not know."""
    return None if request.keys() <= {"jsonrpc", "id", "method", "params"} else SILENCE


@mutant("jsonrpc.response-every-request", on="ping")
def half_a_surrogate_pair_is_fatal(request):
    """Exits when a ping has half a surrogate pair in its params."""
    if params(request).get("a") == "\ud800":
        die("UnicodeEncodeError")


# --- ids ------------------------------------------------------------------------------------------


def spoil_id(reply, spoilt):
    """Change the id of an answer."""
    if isinstance(reply, dict) and "method" not in reply and reply.get("id") is not None:
        reply["id"] = spoilt(reply["id"])


def is_safe(id):
    """Tell whether an id is an integer that a floating point number can hold."""
    return isinstance(id, int) and abs(id) < 2**53


def as_number(id):
    """Turn a string of digits into a number."""
    return int(id) if isinstance(id, str) and id.isascii() and id.isdigit() else id


@mutant("jsonrpc.response-id-echo")
def a_string_of_digits_comes_back_as_a_number(reply):
    """Answers under a number when the id is a string of digits."""
    spoil_id(reply, as_number)


@mutant("jsonrpc.response-id-echo")
def a_long_id_is_cut(reply):
    """Answers under the first 255 characters of an id."""
    spoil_id(reply, lambda one: one[:255] if isinstance(one, str) else one)


@mutant("jsonrpc.response-id-echo")
def an_id_loses_what_is_not_ascii(reply):
    """Answers under an id in which question marks stand for what is not ASCII."""
    spoil_id(reply, lambda one: one.encode("ascii", "replace").decode() if isinstance(one, str) else one)


@mutant("jsonrpc.response-id-echo")
def an_id_is_trimmed(reply):
    """Answers under an id without the blanks around it."""
    spoil_id(reply, lambda one: one.strip(" ") if isinstance(one, str) else one)


@mutant("jsonrpc.response-id-echo")
def an_id_has_32_bits(reply):
    """Answers under the lowest 32 bits of an id."""
    spoil_id(reply, lambda one: (one + 2**31) % 2**32 - 2**31 if is_safe(one) else one)


@mutant("jsonrpc.response-id-echo", error=-32601)
def an_error_has_no_string_as_its_id(reply):
    """Answers an unknown method with the id null when the id is a string."""
    spoil_id(reply, lambda one: None if isinstance(one, str) else one)


@mutant("jsonrpc.response-id-echo")
def many_requests_mix_up_the_ids(server, reply):
    """Exchanges the ids of two answers when many requests come at once."""
    if not isinstance(reply, dict) or "id" not in reply:
        return None
    held = server.memory.pop("held", None)
    if held is None:
        if waiting() < 10:
            return None
        server.memory["held"] = reply
        return SILENCE
    held["id"], reply["id"] = reply["id"], held["id"]
    server.send(held)
    return reply


@mutant("jsonrpc.id-types-accepted", on="ping")
def the_id_zero_makes_a_notification(request):
    """Takes a request with the id 0 for a notification."""
    return SILENCE if request.get("id") == 0 else None


@mutant("jsonrpc.id-types-accepted", on="ping")
def an_empty_id_makes_a_notification(request):
    """Takes a request with an empty id for a notification."""
    return SILENCE if request.get("id") == "" else None


@mutant("jsonrpc.id-types-accepted", on="ping")
def a_negative_id_is_refused(request):
    """Refuses a request with a negative id."""
    negative = is_safe(request.get("id")) and request["id"] < 0
    return refused(request, -32600) if negative else None


@mutant("jsonrpc.id-types-accepted", on="ping")
def a_large_id_makes_a_notification(request):
    """Never answers a request whose id is no safe integer."""
    return SILENCE if isinstance(request.get("id"), int) and not is_safe(request["id"]) else None


@mutant("jsonrpc.id-types-accepted", on="ping")
def a_large_id_is_rounded(reply):
    """Answers under an id that was a floating point number in between."""
    spoil_id(reply, lambda one: int(float(one)) if isinstance(one, int) else one)


# --- one answer for each request, none for a notification -----------------------------------------


@mutant("jsonrpc.response-every-request", on="ping")
def a_request_among_many_is_lost():
    """Loses a ping when many requests come at once."""
    return SILENCE if waiting() >= 10 else None


@mutant("jsonrpc.response-every-request", on="ping")
def a_request_among_many_ends_the_server():
    """Exits when many requests come at once."""
    if waiting() >= 10:
        die("RuntimeError: dictionary changed size during iteration")


@mutant("jsonrpc.response-every-request", on="logging/setLevel")
def a_level_is_set_without_an_answer(request):
    """Never answers the wish for the log level emergency or error."""
    return SILENCE if params(request).get("level") in ("emergency", "error") else None


@mutant("jsonrpc.response-every-request")
def a_cancellation_of_nothing_cancels_the_next_request(server, request):
    """Does not answer the list that follows a cancellation of nothing."""
    if method(request) == "notifications/cancelled":
        server.memory["cancelled"] = True
    elif method(request) == "tools/list" and "id" in request and server.memory.pop("cancelled", False):
        return SILENCE
    return None


@mutant("jsonrpc.response-exactly-once", error=-32601)
def an_unknown_method_is_refused_twice(server, reply):
    """Answers a method that it does not have twice."""
    server.send(reply)


@mutant("jsonrpc.response-exactly-once", on="tools/call")
def a_call_with_a_token_is_answered_twice(server, request, reply):
    """Answers a call with a progress token twice."""
    if "_meta" in params(request):
        server.send(reply)


@mutant("jsonrpc.response-exactly-once", on="notifications/cancelled")
def a_cancelled_request_is_answered_again(server, request):
    """Answers a cancelled request with an error though it was answered before."""
    id = params(request).get("requestId")
    if isinstance(id, int):
        server.send(refused({"id": id}, -32800, "The request is cancelled."))


@mutant("jsonrpc.no-response-to-notification", on="notifications/conformance")
def an_unknown_notification_is_refused(server):
    """Answers a notification that it does not know with -32601."""
    server.send({"jsonrpc": "2.0", "error": {"code": -32601, "message": "There is no such method."}})


@mutant("jsonrpc.no-response-to-notification", on="ping")
def a_ping_without_an_id_is_answered(request):
    """Answers a ping that has no id, with the id null."""
    return None if "id" in request else answered({"id": None}, {})


@mutant("jsonrpc.no-response-to-notification", on="notifications/cancelled")
def a_cancellation_of_nothing_is_refused(server, request):
    """Answers a cancellation that names no request with -32602."""
    if not isinstance(params(request).get("requestId"), int | str):
        server.send({"jsonrpc": "2.0", "error": {"code": -32602, "message": "There is no requestId."}})


# --- what an answer is ----------------------------------------------------------------------------


@mutant("jsonrpc.result-xor-error", on="ping")
def a_result_comes_with_a_null_error(request, reply):
    """Answers a ping with a string as its id with an error that is null beside the result."""
    if isinstance(request.get("id"), str):
        reply["error"] = None


@mutant("jsonrpc.result-xor-error", error=-32601)
def an_error_comes_with_a_result(reply):
    """Refuses a method that it does not have with an error and an empty result."""
    reply["result"] = {}


@mutant("jsonrpc.result-xor-error", on="resources/unsubscribe")
def an_answer_has_neither_result_nor_error(reply):
    """Answers resources/unsubscribe with nothing but the id."""
    del reply["result"]


@mutant("jsonrpc.result-object", on="logging/setLevel")
def a_level_is_set_with_null(reply):
    """Answers logging/setLevel with null."""
    reply["result"] = None


@mutant("jsonrpc.result-object", on="resources/subscribe")
def a_subscription_is_confirmed_with_true(reply):
    """Answers resources/subscribe with true."""
    reply["result"] = True


@mutant("jsonrpc.version-member", error=-32601)
def an_error_says_json_rpc_1(reply):
    """Refuses a method that it does not have as JSON-RPC 1.0."""
    reply["jsonrpc"] = "1.0"


@mutant("jsonrpc.version-member", on="notifications/message")
def a_log_message_has_no_version(reply):
    """Sends log messages without the member jsonrpc."""
    del reply["jsonrpc"]


@mutant("jsonrpc.version-member", on="notifications/progress")
def progress_has_the_version_as_a_number(reply):
    """Sends progress with the version as a number."""
    if reply is not None:
        reply["jsonrpc"] = 2.0


@mutant("jsonrpc.message-shape", on="logging/setLevel")
def a_log_line_is_on_stdout(server):
    """Writes a line of JSON that is no message when a log level is set."""
    server.send({"level": "info", "text": "The level is set."})


@mutant("jsonrpc.message-shape", on="ping")
def an_answer_is_in_an_array(request, reply):
    """Answers a ping with a string as its id in an array."""
    return [reply] if isinstance(request.get("id"), str) else None


# --- progress -------------------------------------------------------------------------------------


@mutant("progress.token-known", on="notifications/progress")
def progress_has_a_token_of_its_own(reply):
    """Sends progress under another token than was given."""
    if reply is not None:
        reply["params"]["progressToken"] = "progress"


@mutant("progress.token-known", on="notifications/progress")
def progress_has_the_token_as_a_string(reply):
    """Sends progress under a string when the token is a number."""
    if reply is not None:
        reply["params"]["progressToken"] = str(reply["params"]["progressToken"])


@mutant("progress.token-known", on="tools/call", of="report")
def progress_comes_unasked(server, request):
    """Sends progress for a call that gave no token."""
    if "_meta" not in params(request):
        server.notify("notifications/progress", {"progressToken": request["id"], "progress": 1})


@mutant("progress.increasing", on="notifications/progress")
def progress_stands_still(reply):
    """Sends the same progress each time."""
    if reply is not None:
        reply["params"]["progress"] = 1


@mutant("progress.increasing", on="notifications/progress")
def progress_goes_back(reply):
    """Sends progress that gets less each time."""
    if reply is not None:
        reply["params"]["progress"] = 5 - reply["params"]["progress"]
