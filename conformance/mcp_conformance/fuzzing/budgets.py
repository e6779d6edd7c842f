"""Budgets: what fuzzing and soaks may cost at most, and where each figure comes from.

Measurements are in ``benchmarks/RESULTS.md``.  "Not measured" marks a figure that somebody chose; then stands
what depends on it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from mcp_conformance.target.reproducer import ReductionBudget


@dataclass(frozen=True)
class CaseBudget:
    """What the cases of one target may cost: a tool, a prompt, or another request with a fuzzed member."""

    # In flight

    # A bare client gets 33,500 calls a second from the TypeScript SDK with 16 in flight, 15,500 one at a time
    # and 42,900 with 64; from the Python SDK 2,400, 2,300 and 2,300.  All of them are sent again if a process
    # ends.
    in_flight: int = 16
    # A server that answers one after the other then has twice the time that it needs.
    in_flight_share: float = 0.5
    # Not measured: the median of four does not follow one slow first call.
    first_cases: int = 4
    # A schema has 35 to 44 hostile values: at 20 ms each, one at a time, they take a second a tool.
    slow_answer_seconds: float = 0.02

    # Waiting

    # Not measured.  A case that waits longer is sent again, with the user's timeout: with half as much, a
    # busy machine starts processes for answers that are only late; with twice as much, a lost one takes
    # longer.
    min_answer_seconds: float = 1.0
    usual_factor: int = 20
    # Not measured.  A hostile value waits so briefly, alone, as it is sent again in the end anyway; twice as
    # much makes each value without an answer twice as dear.  Among others it waits `min_answer_seconds`: six
    # times the queue of excel-mcp-server was longer than 0.3 s, which cost 13 starts and 37 s.
    min_hostile_seconds: float = 0.1
    hostile_usual_factor: int = 10
    # Not measured: its confirmation waits so many times `FuzzTarget.answer_seconds`.
    hostile_factor: int = 3

    # Ends and silences

    # Not measured: 12 starts take 1 s (the reference) to 7 s (a server on the Python SDK).  With fewer, a
    # second kind of end stays hidden behind one that many values cause.
    max_deaths: int = 12
    # Hypothesis needed 24 starts to shrink an end on one condition, 40 on two (without its explain phase).
    max_deaths_shrinking: int = 40
    # A server that answered no fuzzed call took 5 min 38 s without a limit, and 7 s with one.
    max_silences: int = 2
    # Six wait for less time than one of the others; each is confirmed in the end, for longer.
    max_hostile_silences: int = 6
    # Each takes a process and a whole wait: a server whose reader had died took 21 s for eight of them.  The
    # others are left out of the list of values that do the same.
    max_hung_again: int = 2
    # Not measured: with fewer a larger value is reported, more take `answer_seconds` each.
    max_silences_shrinking: int = 6

    # Calls and time

    # Valid, invalid and hostile arguments: each check gets a third of a tool's calls and time.
    checks_of_a_tool: int = 3
    # Shrinking took 19 to 176 calls (of servers without a limit): a tool with one gets the least of that.
    max_calls_shrinking: int = 20
    # Not measured.  Only the wait for answers counts; shrinking has its own seconds.  A thorough run gets ten
    # times as much.  Twice as much is the most: a check gets its share even if others have taken all.
    all_tools_seconds: float = 60.0
    # With 46 tools a check's share of that is 0.4 s, too little for a slow one: it may take this as long as
    # there is some left.  Without that condition, 139 checks of excel-mcp-server could take 417 s.
    max_seconds: float = 3.0
    # Seconds of our CPU: a slow server spends others.  The failures of our mutants take 0.8 s at most; one
    # with a list of 150 items took 20 s or more.  Three are a fifth of a run on a server with 40 bugs.
    max_own_seconds_shrinking: float = 3.0
    # 150 calls of 0.1 s, see `max_calls_shrinking`.
    min_shrinking_seconds: float = 15.0

    # Of a tool that no call exercised, while each answer is the refusal that valid arguments get: 1,400 such
    # calls of a git server bought 9 points of coverage, 250 informed ones 39.
    max_futile_calls: int = 20
    # Not measured: five times as much, where the user asks for ten times as many values.
    max_futile_calls_thorough: int = 100
    # Not measured: a tool has a few kinds of refusals, and most tools throw at one place or two.
    max_refused_alone: int = 20

    # One process gets the calls of all tools: to make thousands of them again took 70 s, twice, for a wrong
    # answer of excel-mcp-server.  Not measured: as many are those of two tools.
    max_history: int = 200

    # Hypothesis

    # 16 values in an example made 950 calls a second, and one 590; but each is tried again when the example
    # shrinks.  Four and ten: not measured.
    cases_per_example: int = 4
    max_cases_per_example: int = 10
    # A schema whose values are not found costs ten searches, and not one for each example.
    max_failed_draws: int = 10
    # Up to 8 of 20 violations are that the arguments are not an object, which another rule judges: 20 draws
    # in a row are all such once in 10**8.
    max_invalid_draws: int = 20
    # Each kind takes up to `max_deaths_shrinking` starts; the others are reported as they were found.
    max_kinds_shrunk: int = 3
    # What a person reads of one check, the worst first.
    max_kinds_reported: int = 8


@dataclass(frozen=True)
class ProtocolBudget:
    """What the fuzzing of the protocol may cost: conversations in bursts of lines."""

    # Not measured: how long answers may take that others overtook, before the request is sent again and gets
    # `OVERTAKEN_SECONDS`, five times as much.
    first_wait_seconds: float = 0.1
    # Not measured: the same in a stage that calls tools; and how long any stage may wait in vain.
    slow_answer_seconds: float = 10.0
    # A failure is confirmed by sending the whole conversation again: a longer one goes on in a new process.
    max_bursts: int = 2000
    max_seconds: float = 10.0
    # Not measured: each costs a start; with fewer, an end by one kind of line hides those by others.
    max_process_failures: int = 4
    # What a person reads of one rule.
    max_violations: int = 10
    # A ping takes milliseconds.  Not measured: with half as much, a busy machine starts processes to confirm
    # answers that are only late.
    lost_after_seconds: float = 3.0
    # Not measured: a reader takes milliseconds for so much; a line of a megabyte may take seconds.
    max_short_burst_bytes: int = 64_000
    # Not measured: random sequences repeat these calls several hundred times, within `seconds_per_example`.
    max_quick_call_seconds: float = 0.5
    max_all_calls_seconds: float = 5.0
    # Not measured: up to 16 of these are made once more alone, so they take 1.6 s at most.
    max_steady_call_seconds: float = 0.1
    # Five of the requests at once are lists: larger ones would fill the log of a conversation (12 MB).
    max_list_bytes: int = 1_000_000
    # The mutants that lose or mix up requests among many need ten.  Not measured: how many real servers need.
    requests_at_once: int = 16
    # There are seven kinds of steps: each comes twice in a sequence.
    steps_per_example: int = 15
    # A quick run spends 10 s at most in any order, a thorough one 100 s.
    seconds_per_example: float = 0.2
    # Not measured: half of `requests_at_once`, as here bursts follow each other at once.
    max_burst_lines: int = 8


@dataclass(frozen=True)
class DriftBudget:
    """What the watch over a process takes before it judges; ``pause_seconds`` between its first samples."""

    # The samples that `growth` needs are there after three seconds.  Reading /proc takes 3 ms: 3 % of them.
    pause_seconds: float = 0.1
    # Not measured.  What a server loads and compiles at its first calls must be over; half as much accuses
    # servers that warm up slowly, twice as much leaves more soaks and thorough runs without a judgement.
    min_seconds: float = 10.0
    min_calls: int = 500


DRIFT = DriftBudget()
# Not measured: a minute each to find a history and to reduce it, beside a soak of minutes or hours.  The
# tries are half of a run's, as each makes up to thousands of calls.
SOAK_REDUCTION = ReductionBudget(starts=math.inf, seconds=60.0, tries=20)


@dataclass(frozen=True)
class RepeatedBudget:
    """What the calls may cost that a thorough run repeats in one process, to see what grows."""

    drift: DriftBudget = DRIFT
    # Of `DriftBudget.min_calls` each of five tools gets a hundred; a leak of one among more of them is
    # diluted.
    max_tools: int = 5
    # `DriftBudget.min_calls` of a tool that takes 60 ms.
    max_seconds: float = 30.0
    # A server that answers 3,000 calls a second ends with the time.
    max_calls: int = 100_000
    # The machine belongs to others too, and a gigabyte more is proof enough.
    max_growth_bytes: int = 1_000_000_000
    # As in a soak.
    max_lines: int = 20_000


@dataclass(frozen=True)
class SoakBudget:
    """What a soak keeps and waits for, and what the reproduction of its failures may cost."""

    # Between the two that `CaseBudget.in_flight` names: a soak rarely has to send them again.  On the
    # reference, on two busy cores, it makes 2,200 to 3,600 calls a second with any number from 1 to 128.
    in_flight: int = 32
    # The log is cleared when it is longer: calls are made again from their numbers, not from their lines.
    max_lines: int = 20_000
    # Failures of more kinds are only counted, for each tool and rule: a person has read enough of it.
    max_kinds: int = 3
    # A tool with so many late calls is left out, as each held up all others; each makes the next wait four
    # times as long, so that the third waits for most of the user's timeout.
    max_slow_calls: int = 3
    slow_call_growth: int = 4
    # A server that ended so often ends by itself: the search for the call would cost one start more each
    # time.
    max_processes: int = 50
    # Not measured: half as much takes a busy machine for a server that hangs, which costs a process.
    max_ping_seconds: float = 2.0
    # More than a quick run's 50, so that reductions have the budget of a thorough run.
    shrinking_examples: int = 200
    # Calls to repeat, the failed one included, if it does not fail alone: 10,000 take 5 to 25 s.
    history_lengths: tuple[int, ...] = (10, 100, 1_000, 10_000)
    search_seconds: float = 60.0
    # Not measured: a session over HTTP takes some 10 ms, so 30 s of soak open enough to judge them.
    session_share: float = 0.1
    reduction: ReductionBudget = SOAK_REDUCTION
    drift: DriftBudget = DRIFT


CASES = CaseBudget()
PROTOCOL = ProtocolBudget()
REPEATED = RepeatedBudget()
SOAK = SoakBudget()
