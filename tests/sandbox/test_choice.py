"""The choice of a sandbox: the strongest that works, or one line that says why there is none."""

import sys
from pathlib import Path

import pytest

from mcp_conformance.sandbox import bubblewrap
from mcp_conformance.sandbox import sandbox as module
from mcp_conformance.sandbox.policy import Unavailable
from mcp_conformance.sandbox.refusals import refusal_in
from mcp_conformance.sandbox.sandbox import UNCONFINED_ROOT, Choice, Sandbox
from mcp_conformance.target import settings as target
from mcp_conformance.target.settings import Settings
from mcp_conformance.transport.http.server import HttpServer
from support import REFERENCE, run_suite
from support.mutant_runs import SEEN_BY_PACKETS
from support.nightly import nightly
from support.sandboxes import sandbox_of

is_linux = pytest.mark.skipif(sys.platform != "linux", reason="Landlock and Bubblewrap are of Linux")


@pytest.fixture
def machine(monkeypatch):
    """Return a function that gives the machine namespaces, Bubblewrap, and a version of Landlock."""

    def give(namespaces, bubblewrap_, abi):
        refused = "" if namespaces else "Operation not permitted"
        missing = "" if bubblewrap_ else "no program bwrap is installed"
        monkeypatch.setattr(sys, "platform", "linux")
        tried = {"abi": abi, "apart": refused, "inside": refused, "other": refused}
        monkeypatch.setattr(module, "_tried", lambda: tried)
        monkeypatch.setattr(bubblewrap, "why_not", lambda: missing)

    return give


@pytest.mark.parametrize(
    ("machine_has", "listens", "kind"),
    [
        ((True, True, 7), False, "namespaces"),
        ((True, False, 0), True, "namespaces"),
        ((False, True, 7), False, "bubblewrap"),
        ((False, True, 7), True, "landlock"),
        ((False, False, 1), False, "landlock"),
    ],
)
def test_auto_takes_the_strongest(machine, machine_has, listens, kind):
    machine(*machine_has)
    assert Choice("auto", listens=listens).sandbox().kind == kind


def test_without_any_sandbox_there_is_a_reason(machine):
    machine(namespaces=False, bubblewrap_=False, abi=0)
    with pytest.raises(
        Unavailable, match=r"nothing .*: namespaces: .* refuses.*; bubblewrap: no program .*; landlock: "
    ):
        Choice("auto").sandbox()


@pytest.mark.parametrize(
    ("choice", "reason"),
    [
        (
            Choice("chroot"),
            "bubblewrap, landlock, docker:IMAGE or none is expected, not 'chroot'",
        ),
        (Choice("docker"), "expected, not 'docker'"),
        (Choice("landlock:x"), "expected, not 'landlock:x'"),
        (Choice("landlock", hosts=("example.com",)), "landlock cannot limit the network to example.com"),
        (
            Choice("bubblewrap", listens=True),
            "a server over HTTP cannot be reached in it without --allow-net",
        ),
        (Choice("docker:image", listens=True), "start it yourself (--url)"),
    ],
)
def test_what_cannot_be_had_is_refused(machine, choice, reason):
    machine(namespaces=True, bubblewrap_=True, abi=7)
    with pytest.raises(Unavailable) as found:
        choice.sandbox()
    assert reason in str(found.value)
    assert "\n" not in str(found.value)


@pytest.mark.parametrize("platform", ["darwin", "win32"])
@pytest.mark.parametrize("kind", ["auto", "namespaces", "landlock", "bubblewrap"])
def test_other_systems_have_no_sandbox_but_docker(monkeypatch, platform, kind):
    monkeypatch.setattr(sys, "platform", platform)
    with pytest.raises(Unavailable, match=f"{kind} needs Linux"):
        Choice(kind).sandbox()


@pytest.mark.parametrize(
    ("found", "listens", "left"),
    [
        (Sandbox("namespaces", abi=7, can_be_apart=True), False, ""),
        (Sandbox("namespaces", abi=3, can_be_apart=True), True, "; not confined: TCP"),
        (Sandbox("landlock", abi=7, can_be_apart=True), False, ""),
        (Sandbox("landlock", abi=7), False, ""),
        (Sandbox("landlock", abi=4), False, "; not confined: signals to your processes"),
        (Sandbox("landlock", abi=3), True, "; not confined: signals to your processes, TCP"),
        (
            Sandbox("landlock", abi=1),
            False,
            "; not confined: the truncation of files, signals to your processes",
        ),
    ],
)
def test_the_report_says_what_is_left_open(monkeypatch, found, listens, left):
    monkeypatch.setattr(module, "is_known_machine", lambda: True)
    monkeypatch.setattr(module, "is_root", lambda: False)
    assert found.describe(listens=listens).partition(")")[2] == left


@pytest.mark.parametrize(
    ("found", "is_said"),
    [
        (Sandbox("namespaces", abi=7, can_be_apart=True), True),
        (Sandbox("namespaces", abi=7, can_be_apart=True, is_other=True), False),
        (Sandbox("landlock", abi=7), True),
        (Sandbox("bubblewrap"), True),
        (Sandbox("docker", image="one"), True),
    ],
)
def test_the_report_says_that_a_server_is_root(monkeypatch, found, is_said):
    monkeypatch.setattr(module, "is_root", lambda: True)
    assert ("the server runs as root" in found.describe(listens=False)) is is_said


@pytest.mark.parametrize(
    ("settings", "is_root", "said"),
    [
        (Settings(("server",)), True, UNCONFINED_ROOT),
        (Settings(("server",)), False, ""),
        (Settings(("https://server",), http=HttpServer(url="https://server")), True, ""),
        (Settings(("server",), sandbox=Sandbox("bubblewrap", is_other=True)), True, "sandbox: bubblewrap"),
    ],
)
def test_the_report_of_root_says_that_nothing_confines_the_server(monkeypatch, settings, is_root, said):
    for place in (module, target):
        monkeypatch.setattr(place, "is_root", lambda: is_root)
    assert "".join(settings.confinement) == said


@pytest.mark.parametrize(
    ("stderr", "option"),
    [
        (
            "PermissionError: [Errno 13] Permission denied: '/home/me/data.db'",
            "--allow-read /home/me/data.db",
        ),
        ("Error: EACCES: permission denied, open '/home/me/a b'", "--allow-read /home/me/a"),
        ("getaddrinfo EAI_AGAIN api.example.com", "--allow-net"),
        ("dial tcp 192.0.2.1:443: connect: connection refused", "--allow-net"),
        ("Error: EACCES: permission denied, mkdir '/srv/cache'", "--allow-write /srv/cache"),
        ("attempt to write a readonly database", "--allow-write PATH"),
        ("MemoryError", ""),
    ],
)
def test_a_refusal_names_the_option_that_lifts_it(stderr, option):
    assert refusal_in(f"{stderr}\nbye", network=False, hides=False).option == option


def test_an_ordinary_error_is_no_refusal():
    assert refusal_in("ValueError: no\nFileNotFoundError: '/x'", network=False, hides=False) is None
    assert refusal_in("ECONNREFUSED", network=True, hides=False) is None


# Whole runs --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (("--sandbox", "chroot"), "--sandbox: auto, namespaces"),
        (("--sandbox", "auto", "--allow-net", "example.com"), "auto cannot limit the network to example.com"),
        (("--allow-net",), "--allow-net: it needs --sandbox"),
        (("--sandbox", "auto", "--allow-read", "nowhere"), "no such file or directory"),
    ],
)
def test_a_mistake_in_the_options_is_one_line(options, reason):
    run = run_suite(REFERENCE, *options)
    assert run.exit == 4
    (line,) = run.output.strip().splitlines()
    assert reason in line


@pytest.mark.skipif(not sandbox_of("auto"), reason="nothing confines a server here")
@nightly
def test_a_server_has_the_same_verdicts_inside_and_outside():
    words = ("--fuzz", "none", "--select", "ping", "--select", "tools", "--select", "stdio", "--call", "all")
    outside, inside = (run_suite(REFERENCE, *words, *more) for more in ((), ("--sandbox", "auto")))
    assert inside.exit == outside.exit == 0
    verdicts = [
        {(case.check, case.outcome) for case in run.cases if case.requirement not in SEEN_BY_PACKETS}
        for run in (outside, inside)
    ]
    assert verdicts[0] == verdicts[1]
    assert "sandbox: " in inside.output


@pytest.mark.skipif(not sandbox_of("auto"), reason="nothing confines a server here")
def test_a_server_that_the_sandbox_keeps_from_starting_is_reported_so(tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("hush")
    program = f"import pathlib; pathlib.Path({str(tmp_path)!r}, 'secret').read_text()"
    run = run_suite((sys.executable, "-c", program), "--sandbox", "landlock", cwd=Path("/"))
    assert run.exit == 6
    (blocked,) = run.of("blocked")
    assert "it ran in a sandbox (landlock)" in blocked.text
    assert blocked.text.count("which refused: PermissionError") == 1
    assert "The server did not start in the sandbox (landlock)" in run.output
    assert f"--allow-read {secret}" in " ".join(run.output.split())
