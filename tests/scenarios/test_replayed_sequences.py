"""What a sequence of calls shows is written to a file, whose replay shows it in a fresh process."""

from contextlib import closing

import pytest

from mcp_conformance.client.replaying import replay
from mcp_conformance.client.transcript import Transcript
from mcp_conformance.scenarios.state import state_of
from mcp_conformance.scenarios.walks import walks_of
from mcp_conformance.target.probe import probe_all
from mcp_conformance.target.server import Server
from support.bench import settings_in_memory
from support.in_memory import MemoryTransport, VirtualClock
from support.nightly import nightly
from support.state import REVISION, state_in_memory

SCENES = {
    "a_refused_note_is_kept": "state.failed-create",
    "a_deleted_note_can_be_read": "state.use-after-delete",
    "an_update_changes_the_note_before": "state.neighbours",
    "notes_outlive_their_folder": "state.delete-parent",
    "a_small_page_skips_a_note": "state.page-size",
}
WALKS = {"the_second_update_of_a_note_is_lost": "state.read-after-change"}


def transcript_of(name, rule, folder):
    """Return the transcript of what breaks a rule on a faulty server."""
    settings = settings_in_memory(state_in_memory(name), transcripts=folder)
    with closing(Server.of(probe_all(settings, (REVISION,)), REVISION)) as server:
        scenes, walks = state_of(server).violations, {} if name in SCENES else walks_of(server).broken
        found = {**{each: some[0] for each, some in scenes.items()}, **walks}
        [path] = found[rule].transcripts
    return Transcript.read(path)


def replayed(transcript, name):
    """Return the steps of a replay on a server."""
    return list(replay(transcript, MemoryTransport(state_in_memory(name), VirtualClock()), 5.0))


@nightly
@pytest.mark.parametrize(("name", "rule"), [*SCENES.items(), *WALKS.items()])
def test_a_replay_shows_what_a_sequence_has_shown(name, rule, tmp_path):
    transcript = transcript_of(name, rule, tmp_path)
    assert transcript.about.startswith(f"{rule}: ")
    steps = replayed(transcript, name)
    assert steps
    assert not [step for step in steps if step.differs]
    assert [step for step in replayed(transcript, "") if step.differs]
