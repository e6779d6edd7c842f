"""A server that ends when many requests come at once is told so, and not that it takes no cancellation."""

from dataclasses import dataclass

from support.bench import run_checks, settings_in_memory
from support.in_memory import MemorySettings, MemoryTransport, mutated

PLACES = 32
RACE = "test_a_cancellation_that_crosses_the_answer_does_no_harm"


class ShortQueue(MemoryTransport):
    """A process that ends if more lines come in one write than its queue has places for."""

    def write(self, data):
        if data.count(b"\n") > PLACES:
            self._exit(0)
        super().write(data)


@dataclass(frozen=True)
class QueueSettings(MemorySettings):
    """Settings for servers with a short queue."""

    def start(self):
        return ShortQueue(self.serve, self.clock)


def race(settings):
    run = run_checks(settings, "2025-11-25", lambda check: check.name == RACE, is_whole=False)
    return [(one.row.id, one.text) for one in run.verdicts if one.outcome.counts]


def test_a_server_that_ends_at_many_requests_at_once_is_told_so():
    whole = settings_in_memory(mutated(None))
    [(rule, text)] = race(QueueSettings(whole.command, serve=whole.serve, clock=whole.clock))
    assert rule == "jsonrpc.response-every-request"
    assert "expected an answer to each of 100 requests that come without a wait" in text
    assert "the server process ended (exit status 0)" in text
