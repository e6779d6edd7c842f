"""Packages are installed in a sandbox, with a home of their own."""

import io
import sys
import tarfile

import pytest

from mcp_conformance.sandbox.sandbox import AUTO, NONE
from mcp_conformance.survey import prepare as preparing
from mcp_conformance.survey.prepare import confinement, prepare
from mcp_conformance.survey.programs import Ended
from mcp_conformance.survey.targets import Target
from support.nightly import nightly
from support.sandboxes import sandbox_of

EVIL = Target("evil", "pypi", "evil", "1.0", command=("true",))
SETUP = """
import pathlib
for place in {places!r}:
    try:
        pathlib.Path(place, "evil").write_text("run")
    except OSError:
        print("refused")
raise SystemExit("came to its end")
"""


confined_only = pytest.mark.skipif(not sandbox_of(AUTO), reason="nothing confines programs here")


@confined_only
def test_each_program_is_confined_and_has_its_own_home(tmp_path, monkeypatch):
    seen = []

    def run(command, cwd, env, seconds, confined):
        seen.append((env, confined.command))
        confined.close()
        confined.end()
        return Ended(0, "", 0.0)

    monkeypatch.setattr(preparing, "run", run)
    installation = prepare(EVIL, tmp_path, scripts=True, seconds=60, sandbox=confinement(AUTO))
    assert not installation.failure
    for env, command in seen:
        assert env["HOME"].startswith(installation.folder)
        assert "mcp_conformance.sandbox.launch" in " ".join(command)
    assert len(seen) == 2


def test_nothing_confines_an_installer_if_nothing_is_to():
    assert confinement(NONE) is None


@nightly  # a virtual environment and a build take five seconds
@confined_only
@pytest.mark.skipif(sys.version_info >= (3, 12), reason="a new environment has no setuptools to build with")
def test_the_code_of_a_package_changes_nothing_outside(tmp_path, monkeypatch):
    """Its scripts are allowed, and run."""
    outside, packages, store = (tmp_path / name for name in ("outside", "packages", "store"))
    for folder in (outside, packages, store):
        folder.mkdir()
    script = SETUP.format(places=[str(outside), str(store)]).encode()
    about = b"Metadata-Version: 1.0\nName: evil\nVersion: 1.0\n"
    with tarfile.open(packages / "evil-1.0.tar.gz", "w:gz") as archive:
        for name, content in (("setup.py", script), ("PKG-INFO", about)):
            member = tarfile.TarInfo(f"evil-1.0/{name}")
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    for name, text in (("NO_INDEX", "1"), ("FIND_LINKS", str(packages)), ("NO_BUILD_ISOLATION", "0")):
        monkeypatch.setenv(f"PIP_{name}", text)  # pip reads this 0 as "none is wanted"
    installation = prepare(EVIL, store, scripts=True, seconds=120, sandbox=confinement(AUTO))
    assert "came to its end" in installation.failure
    # Namespaces have a /tmp of their own, in which the store is, but for the folder of the installation.
    assert "refused" in installation.failure
    assert not (outside / "evil").exists()
    assert list(store.iterdir()) == []
