"""The layer over the files: a server writes everywhere, and nothing of it stays."""

import os
import socket
import subprocess
import sys

import pytest

from mcp_conformance.sandbox import landlock
from mcp_conformance.sandbox import layer as layers
from mcp_conformance.sandbox.layer import Layer, why_none
from support.sandboxes import layer_over_all, run_in

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="layers are of Linux")
SECONDS = 60


@pytest.fixture
def place(tmp_path):
    """A user's folder with a file and a folder."""
    (tmp_path / "kept.txt").write_text("kept\n")
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "file").write_text("kept\n")
    return tmp_path


@pytest.fixture
def layer(tmp_path_factory):
    """A layer with a folder that is written as it is."""
    with layer_over_all(tmp_path_factory.mktemp("ours")) as made:
        yield made


def run(layer, script, *words, cwd=None):
    """Run a shell's script in a layer, and return what it wrote."""
    return run_in(layer, "sh", "-c", script, "sh", *map(str, words), cwd=cwd, timeout=SECONDS)


def test_what_is_written_is_seen_by_the_next_process_and_by_nobody_else(layer, place):
    script = (
        "echo more >> kept.txt; rm -r inner; mkdir inner; echo new > inner/new; mv kept.txt moved.txt; ls"
    )
    assert run(layer, script, cwd=place).stdout.split() == ["inner", "moved.txt"]
    again = run(layer, "cat moved.txt inner/*", cwd=place)
    assert again.stdout == "kept\nmore\nnew\n"
    assert (place / "kept.txt").read_text() == "kept\n"
    assert sorted(path.name for path in place.iterdir()) == ["inner", "kept.txt"]
    assert [path.name for path in (place / "inner").iterdir()] == ["file"]


def test_what_was_written_and_deleted_is_named(layer, place):
    run(layer, "echo more >> kept.txt; rm inner/file; echo new > new.txt", cwd=place)
    changes = layer.changes()
    assert changes[str(place / "inner" / "file")] is None
    assert {name for name, state in changes.items() if state is not None} >= {
        str(place / "kept.txt"),
        str(place / "new.txt"),
    }
    before = changes[str(place / "new.txt")]
    run(layer, "echo newer > new.txt", cwd=place)
    assert layer.changes()[str(place / "new.txt")] != before


def test_the_folders_of_the_run_are_written_for_good(layer):
    (ours,) = layer.written
    run(layer, "echo here > file", cwd=ours)
    assert (ours / "file").read_text() == "here\n"
    assert str(ours / "file") not in layer.changes()


def test_the_user_and_the_place_are_the_same_as_outside(layer, place):
    done = run(layer, "id -u; pwd", cwd=place)
    assert done.stdout.splitlines() == [str(os.getuid()), str(place)]


@pytest.mark.skipif(landlock.abi() < landlock.SIGNAL_ABI, reason="this system holds no signals")
def test_other_processes_get_no_signals(layer):
    with subprocess.Popen(["sleep", str(SECONDS)]) as other:
        done = run(layer, 'kill "$1"', other.pid)
        assert done.returncode != 0
        assert other.poll() is None
        other.kill()


def test_a_port_of_this_machine_is_reached(layer):
    with socket.create_server(("127.0.0.1", 0)) as server:
        script = f"import socket; socket.create_connection(('127.0.0.1', {server.getsockname()[1]}), 20)"
        assert run(layer, '"$1" -c "$2"', sys.executable, script).returncode == 0


@pytest.mark.skipif(landlock.abi() < landlock.TRUNCATION_ABI, reason="no Landlock that holds all writes")
def test_without_layers_writes_elsewhere_fail(monkeypatch, place, tmp_path_factory):
    def refused(_):
        raise OSError("no namespaces")

    monkeypatch.setattr(layers, "_made", refused)
    ours = tmp_path_factory.mktemp("ours")
    held = Layer((ours,))
    done = run(held, 'cat kept.txt; rm kept.txt; echo new > new.txt; echo here > "$1/file"', ours, cwd=place)
    assert held.is_held
    assert done.stdout == "kept\n"
    assert sorted(path.name for path in place.iterdir()) == ["inner", "kept.txt"]
    assert (ours / "file").read_text() == "here\n"
    assert why_none() == ""


def test_a_layer_ends_with_its_last_process(layer, place):
    run(layer, "echo new > new.txt", cwd=place)
    layer.close()
    assert layer.changes() == {}
    assert not (place / "new.txt").exists()
