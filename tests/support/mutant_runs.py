"""The runs that prove the mutants: which mutant, in which revision, under which checks, and the expectation.

A push proves every checked rule: for each set of rules that mutants in memory break, one of these runs, and
for each rule that only others break, one over HTTP or on a process.  Which one, and in which era, turns with
`TURN`, so that the pushes and the nightly runs of a week run them all.
``MUTANTS=whole`` runs every mutant in memory under the whole suite, in each era in which its rules hold, and
every mutant of HTTP in each era;
``MUTANTS=processes`` runs every mutant on processes too (`tox -e mutants` does both).
"""

import os
import sys
import zlib
from dataclasses import dataclass
from functools import cache

from mcp_conformance.clients.limits import DIRECTORY
from mcp_conformance.clients.limits import chosen as chosen_clients
from mcp_conformance.clients.limits import clients as all_clients
from mcp_conformance.protocol import revisions
from mcp_conformance.requirements import catalogue
from mcp_conformance.sandbox.sandbox import LANDLOCK
from mcp_conformance.scenarios.other_machines import LOCALES, NO_GIT, READ_ONLY
from mcp_conformance.target.fuzz_levels import FUZZ_EXAMPLES
from mcp_conformance.target.surface import SESSIONLESS
from mcp_conformance_fixtures.http_mutants import HttpMutant, all_http_mutants
from mcp_conformance_fixtures.mutants import Mutant, all_mutants
from support.bench import reference_contract, reference_session, run_checks
from support.networks import sick_network
from support.nightly import TURN
from support.sandboxes import sandbox_of

WHOLE = os.environ.get("MUTANTS") == "whole"
ON_PROCESSES = os.environ.get("MUTANTS") == "processes"
FAMILIES_STEP = 8
"""One of so many families has a mutant in memory on a process too in each push."""
WATCHED = "backend"
"""The family of mutants that are watched for some seconds each, which a busy machine may not give."""
WHOLE_SHARE = 360
"""One of so many mutants runs under the whole suite by default."""
NEED_TRAFFIC = {"jsonrpc.response-id-echo", "errors.missing-client-capability"}
"""The rules of checks that judge what other checks exchange: that check exchanges the most."""
SEES_ALL_SHARE = 18
"""One of so many runs under the check that judges every message: it took 44% of the mutants' CPU time."""
PROPOSES_ALL = "lifecycle.initialize.version-echo"
"""The rule that needs all revisions to be proposed, as only a thorough run does."""
SEES_ALL = "jsonrpc.message-shape"
"""The rule of the check that judges every message, of all chapters."""
FAULTY_TOOLS = ("add", "echo", "nothing", "weather")
"""The tools that mutants of the family ``fuzz_tools`` get wrong."""
BUDGETS = {
    "budget.start": 0.8,
    "budget.tools.count": 60,
    "budget.tools.bytes": 60_000,
    "budget.call.p95": 0.8,
    "budget.result.bytes": 60_000,
}
"""The budgets under which mutants of the family ``budget`` run, which the reference server keeps."""
SEEN_BY_PACKETS = {"tools.hints.closed-world", "jsonschema.no-network-ref"}
"""The rules that are judged only if the server has an empty network of its own."""
SEEN_IN_PROC = {"drift.memory", "drift.open-files", "drift.child-processes"}
SURROUNDINGS = {
    "surroundings.locale": LOCALES,
    "surroundings.read-only-directory": READ_ONLY,
    "surroundings.no-git": NO_GIT,
}
"""The surroundings that a machine may lack."""
IN_PASSING = "messages"
"""The family of mutants with messages that no chapter requests: other chapters bring them about."""


@dataclass(frozen=True)
class MutantRun:
    """A mutant in one revision; ``is_whole`` says that all checks run.

    Otherwise those run that cite a rule it breaks or may break, and for one in `SEES_ALL_SHARE` the check
    that judges every message.
    """

    mutant: Mutant
    revision: str
    is_whole: bool

    @property
    def id(self):
        """The name of the test; it begins with the stem of the mutant's file."""
        return f"{self.mutant.family}-{self.mutant.name}-{self.revision}"

    @property
    def fuzzed(self):
        """The suite that fuzzes what the mutant gets wrong; empty if no fuzzing is needed."""
        return f"test_{self.mutant.family}" if self.mutant.family.startswith("fuzz_") else ""

    @property
    def limits(self):
        """The settings of the run."""
        examples = FUZZ_EXAMPLES["quick"] if self.fuzzed else 0
        if PROPOSES_ALL in self.mutant.breaks or self.mutant.family == "drift":
            examples = FUZZ_EXAMPLES["thorough"]
        broken = [id for id in BUDGETS if id in self.mutant.breaks]
        budgets = {id.removeprefix("budget."): BUDGETS[id] for id in broken}
        contract = reference_contract(self.revision) if self.mutant.family == "contract" else None
        sessions = (reference_session(self.revision),) if self.mutant.family == "sessions" else ()
        times = {"timeout": 5.0, "start_timeout": 5.0}
        clients = chosen_clients(("all",)) if self.mutant.family == "client" else ()
        if self.mutant.family == "client_directory":
            clients = tuple(name for name in all_clients() if name.startswith(DIRECTORY))
        sandbox = own_network() if self.needs_own_network else None
        found = {"examples": examples, "budgets": budgets, "clients": clients, "contract": contract}
        found["sessions"] = sessions
        surroundings = self.mutant.family == "surroundings"
        api = sick_api() if self.mutant.family == WATCHED else {}
        return {**found, "sandbox": sandbox, "surroundings": surroundings, **times, **api}

    @property
    def needs_own_network(self):
        """Whether the mutant is seen only by what it sends."""
        return self.mutant.family != WATCHED and not SEEN_BY_PACKETS.isdisjoint(self.mutant.breaks)

    def missing(self, settings):
        """Return what the mutant needs and is not here; empty if nothing is missing."""
        if not SEEN_IN_PROC.isdisjoint(self.mutant.breaks) and sys.platform != "linux":
            return "what a process takes is seen on Linux only"
        if self.mutant.family == WATCHED and settings.backend is None:
            return "no process gets a network of its own here"
        needed = [one for id in self.mutant.breaks for one in SURROUNDINGS.get(id, ())]
        obstacles = [one.obstacle(settings) for one in needed]
        return obstacles[0] if needed and all(obstacles) else ""

    @property
    def tools(self):
        """The names of the tools for which checks run; None for all."""
        return FAULTY_TOOLS if self.mutant.family == "fuzz_tools" and not WHOLE else None

    def selects(self, check):
        """Return whether a check of `bench` runs."""
        if self.fuzzed:
            return check.suite in (self.fuzzed, "test_messages")
        if self.mutant.family == "drift":  # the check that judges every message fuzzes thoroughly then
            return not check.ids.isdisjoint(self.mutant.breaks)
        ids = {*self.mutant.breaks, *self.mutant.also}
        if is_in_share(self.mutant, SEES_ALL_SHARE) or not NEED_TRAFFIC.isdisjoint(self.mutant.breaks):
            ids.add(SEES_ALL)
        return self.is_whole or not check.ids.isdisjoint(ids)

    def expect_found(self, settings):
        """Expect that the checks report what the mutant breaks, and nothing else."""
        run = run_checks(settings, self.revision, self.selects, is_whole=self.is_whole, tools=self.tools)
        failures = [one for one in run.failures if one.name not in SESSIONLESS]
        one, found = self.mutant, [{failure.requirement} for failure in failures]
        found += [verdict.check.ids | {verdict.row.id} for verdict in run.verdicts]
        text = "\n".join([*(one.reason for one in run.failures), *(one.text for one in run.verdicts)])
        missed = [id for id in one.breaks if not any(id in ids for ids in found)]
        assert not missed, (
            f"nothing reported {missed}; is the mutant called, and does the check not skip?\n{text}"
        )
        strays = [sorted(ids) for ids in found if not ids & {*one.breaks, *one.also}]
        assert not strays, f"{strays} were reported too:\n{text}"


def revisions_of(one):
    """Return the revision that a mutant names, else the newest of each era in which all it breaks holds."""
    if one.revision:
        return [one.revision]
    rows = [catalogue.requirement(id) for id in one.breaks]
    eras = [
        [rev for rev in era if all(row.holds_in(rev) for row in rows)]
        for era in (revisions.HANDSHAKE, revisions.MODERN)
    ]
    return [era[-1] for era in eras if era]


def revision_of(one):
    """Return one of these: about as many mutants run in one era as in the other."""
    choice = revisions_of(one)
    return choice[(len(one.name) + TURN) % len(choice)]


@cache
def own_network():
    """Return the sandbox in which the packets of a server are seen; None if there is none here."""
    found = sandbox_of(LANDLOCK)
    return found if found and found.can_be_apart else None


def sick_api():
    """Return the settings under which a server asks an API that is sick; none where that cannot be."""
    backend = sick_network()
    return {} if backend is None else {"backend": backend, "env": {"WEATHER_API_KEY": "0123456789abcdef0123"}}


def in_memory():
    """Return the runs of the mutants that need no process; a push has one of those that break the same."""
    some = [one for one in all_mutants() if not one.needs_process]
    return [
        MutantRun(one, revision, WHOLE or one.family == IN_PASSING or is_in_share(one, WHOLE_SHARE))
        for one in (some if WHOLE else one_of_each(some))
        for revision in (revisions_of(one) if WHOLE else [revision_of(one)])
    ]


def one_of_each(some):
    """Return one mutant for each set of rules that these break, and all of `IN_PASSING`."""
    sets = {}
    for one in some:
        key = one.name if one.family == IN_PASSING else (one.family, *sorted(one.breaks))
        sets.setdefault(key, []).append(one)
    return [same[TURN % len(same)] for same in sets.values()]


def of_http():
    """Return the mutants of HTTP that a push runs: one for each set of rules that they break."""
    return one_of_each([one for one in all_http_mutants() if not one.is_fuzzed])


def on_processes():
    """Return the runs of the mutants that a push runs on processes, or of all.

    They are one for each rule that no mutant in memory or of HTTP breaks, and one of some families.
    """
    if ON_PROCESSES:
        chosen = {one.name: one for one in all_mutants()}
    else:
        seen = {id for one in (*all_mutants(), *all_http_mutants()) for id in one.breaks if is_quick(one)}
        rest = [one for one in all_mutants() if one.needs_process]
        chosen = {}
        for id in sorted({id for one in rest for id in one.breaks} - seen):
            same = [one for one in rest if id in one.breaks]
            chosen.setdefault(same[TURN % len(same)].name, same[TURN % len(same)])
        families = sorted({one.family for one in all_mutants()})[:: 1 if WHOLE else FAMILIES_STEP]
        for family in families:
            same = [one for one in all_mutants() if one.family == family and not one.needs_process]
            chosen |= {one.name: one for one in same[:1]}
    return [MutantRun(one, revision_of(one), one.family == IN_PASSING) for one in chosen.values()]


def is_quick(one):
    """Return whether a mutant is run in memory or over HTTP in a push."""
    return not one.is_fuzzed if isinstance(one, HttpMutant) else not one.needs_process


def proven():
    """Return the rules that the mutants of a push break, under the checks of these rules."""
    runs = [*in_memory(), *on_processes()]
    return {id for one in (*(run.mutant for run in runs), *of_http()) for id in one.breaks}


def is_in_share(one, share):
    """Return whether a mutant is one in so many, by its name."""
    return zlib.crc32(f"{one.family}.{one.name}".encode()) % share == 0
