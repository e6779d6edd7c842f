"""A tool that is slow only for what another one has left in the folder is not blamed; that other one is."""

from mcp_conformance.transport.throwaway import throwaway_folder
from mcp_conformance.world.folder import furnish
from mcp_conformance_fixtures.mutants import method, params
from support.bench import run_checks, settings_in_memory
from support.in_memory import mutated

HANDSHAKE = "2025-11-25"
LEFT = "example (copy)"
"""The file that one tool leaves, for which the other one takes longer than any timeout."""


def blamed(filling, looking, rule, *, is_filling, examples=0):
    """Return the tools that the checks of a rule blame for a missing answer.

    The call of ``filling`` that ``is_filling`` leaves a file and is never answered.  Those of ``looking`` are
    answered only without the file.
    """
    with throwaway_folder() as throwaway:
        throwaway.furnish(furnish)

        def mutate(_, request, reply):
            if not isinstance(request, dict) or method(request) != "tools/call" or not reply:
                return None
            name, left = params(request).get("name"), throwaway.work / LEFT
            fills = name == filling and is_filling(params(request)["arguments"])
            if fills:
                left.write_text("")
            return [] if fills or (name == looking and left.exists()) else None

        settings = settings_in_memory(mutated(mutate), examples).within(throwaway)
        run = run_checks(
            settings,
            HANDSHAKE,
            lambda one: rule in one.ids,
            is_whole=False,
            tools=(filling, looking),
        )
    return {one.error.tool for one in run.verdicts if "no answer" in str(one.error)}


def test_a_valid_call_that_others_make_slow_is_not_blamed():
    assert blamed("add", "echo", "tools.call.listed-is-callable", is_filling=lambda _: True) == {"add"}


def test_a_fuzzed_call_that_others_make_slow_is_not_blamed():
    found = blamed(
        "echo",
        "add",
        "jsonrpc.response-every-request",
        is_filling=lambda given: given.get("text") == "",
        examples=20,
    )
    assert found == {"echo"}
