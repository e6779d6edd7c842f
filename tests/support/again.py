"""Findings of mutants in memory, and the commands that show them again, read by our own command line."""

import sys
from dataclasses import dataclass, fields

from mcp_conformance.cli.arguments import chosen_by, parser
from mcp_conformance.client.replaying import replay
from mcp_conformance.client.tool_call import Tool
from mcp_conformance.client.transcript import Transcript
from mcp_conformance.options.again import again_words, selection
from mcp_conformance.options.run_options import read_options
from mcp_conformance.plugin.applicability import why_not
from mcp_conformance.target.budgets import FIGURES
from mcp_conformance.target.fuzz_levels import FUZZ_EXAMPLES
from mcp_conformance.target.probe import probe_all
from mcp_conformance.target.settings import Settings
from mcp_conformance.verdicts import Repeat
from support.bench import Bench, Verdict, cases_of, checks_of
from support.in_memory import MemorySettings, MemoryTransport, VirtualClock
from support.running import EVERYTHING

READ_SECONDS = 5.0
UNITS = {"size": "B", "time": "s", "count": ""}
OF_THE_BENCH = ("command", "clock", "here", "contract", "sessions")
"""The settings that do not come from the options: the contract and the session of a mutant are in no file."""


@dataclass(frozen=True)
class Found:
    """What a check found, and for which tool (None for a check that runs for none)."""

    verdict: Verdict
    tool: Tool | None

    @property
    def key(self):
        """The rule, the tool and the outcome: what is to be found again."""
        return self.verdict.row.id, self.name, str(self.verdict.outcome)

    @property
    def name(self):
        """The name of the tool for which the check ran."""
        return self.tool.name if self.tool is not None else ""

    def again(self, options):
        """Return the command that shows it again, as the plugin makes it; None if it prints none."""
        if self.verdict.error.repeat is Repeat.NOT_SEEN:
            return None
        cited = [row.id for row in self.verdict.check.rows]
        is_alone = self.verdict.error.repeat is Repeat.BY_CHECK
        chosen = selection(cited, self.verdict.row.id, self.name) if is_alone else ()
        return again_words(options, chosen, self.verdict.revision)

    def differences(self, serve):
        """Replay the transcript that is printed, if one is; return the requests with other answers."""
        error = self.verdict.error
        if not error.transcripts or error.repeat is Repeat.NOT_SEEN:
            return []
        transport = MemoryTransport(serve, VirtualClock())
        steps = replay(Transcript.read(error.transcripts[0]), transport, READ_SECONDS)
        return [step.line.text for step in steps if step.differs]


def words_of(run, folder):
    """Return the command line of a run of a mutant (`MutantRun`); transcripts go to ``folder``."""
    limits = run.limits
    level = next(name for name, many in FUZZ_EXAMPLES.items() if many == limits["examples"])
    words = ["mcp-conformance", "run", "--fuzz", level, *EVERYTHING, "--transcripts", str(folder)]
    words += ["--timeout", f"{limits['timeout']:g}", "--start-timeout", f"{limits['start_timeout']:g}"]
    for name, limit in limits["budgets"].items():
        words += ["--budget", f"{name}={limit:g}{UNITS[FIGURES[name]]}"]
    words += ["--client", ",".join(limits["clients"])] if limits["clients"] else []
    words += ["--surroundings"] if limits["surroundings"] else []
    return (*words, "--", sys.executable)


def read(words):
    """Return the options in a command line."""
    middle = words.index("--")
    options, rest = parser().parse_known_args(list(words[1:middle]))
    assert rest == []
    return read_options(chosen_by(options, list(words[middle + 1 :]), "run"))


def findings(options, serve, revision, promised, selects=None):
    """Run the checks that the options select, or ``selects``, on a server in memory."""
    given = {one.name: getattr(options.settings, one.name) for one in fields(Settings)}
    kept = {name: value for name, value in given.items() if name not in OF_THE_BENCH}
    settings = MemorySettings(("in-memory",), serve=serve, clock=VirtualClock(), **promised, **kept)
    subject = probe_all(settings, (revision,))
    for surface in subject.judged:
        bench = Bench(subject, surface.revision, is_whole=not (options.selected or selects))
        try:
            return [
                Found(verdict, tool)
                for check in checks_of(surface.revision)
                if not why_not(surface, check.source, settings)
                for case in cases_of(check, settings)
                for tool in (bench.server.tools if check.source.per_tool else (None,))
                if (selects or _selected(options))(check, tool)
                for verdict in bench.run(check, case, tool)
            ]
        finally:
            bench.server.close()
    return []


def _selected(options):
    def selects(check, tool):
        name = tool.name if tool is not None else ""
        chosen = [check.ids & ids and one in ("", name) for ids, one in options.selected]
        return not chosen or any(chosen)

    return selects
