"""What a file of a repository names for a run to write, or to hand to the server, is in that repository."""

import sys
from pathlib import Path

import pytest

from mcp_conformance.options.choosing import choose
from mcp_conformance.options.given import BadOption, Given
from mcp_conformance.options.run_options import read_options
from mcp_conformance.project.client_configs import BadConfig, read_config

NEEDS_LINKS = pytest.mark.skipif(sys.platform == "win32", reason="links need a right there")
PLACES = {
    "report": '"{place}/report.html"',
    "transcripts": '"{place}"',
    "database": '"{place}"',
    "sessions": '"{place}"',
    "env-file": '"{place}/variables"',
    "backend": '"record={place}/tape.har"',
}


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Return a repository beside a folder that is not its own, to which a link in it leads."""
    root, outside = tmp_path / "repository", tmp_path / "outside"
    (root / ".git").mkdir(parents=True)
    (root / "part").mkdir()
    outside.mkdir()
    (outside / "variables").write_text("A=b\n", encoding="utf-8")
    return root


def read(root: Path, line: str, **given: str) -> object:
    (root / "part" / "mcp-conformance.toml").write_text(
        f"command = {[sys.executable]}\n{line}\n", encoding="utf-8"
    )
    options = {name: Given(value, f"--{name}") for name, value in given.items()}
    return read_options(choose(options, None, "--", root / "part"))


@pytest.mark.parametrize("name", PLACES)
@pytest.mark.parametrize(
    "place", ["../../outside", "{tmp_path}/outside", pytest.param("../link", marks=NEEDS_LINKS)]
)
def test_a_configuration_names_no_place_outside_of_its_repository(
    name: str, place: str, repository: Path, tmp_path: Path
) -> None:
    if place == "../link":
        (repository / "link").symlink_to(tmp_path / "outside")
    value = PLACES[name].format(place=place.format(tmp_path=tmp_path.as_posix()))
    with pytest.raises(BadOption, match=r"leads out of .*: only the command line may name it") as mistake:
        read(repository, f"{name} = {value}")
    assert f"mcp-conformance.toml: {name}: " in str(mistake.value)
    assert "\n" not in str(mistake.value)


def test_a_configuration_names_places_of_its_repository(repository: Path) -> None:
    assert read(repository, 'report = "../report.html"\ntranscripts = "../kept"')


def test_the_user_names_any_place(repository: Path, tmp_path: Path) -> None:
    outside = str(tmp_path / "outside" / "report.html")
    assert read(repository, 'report = "../../outside/report.html"', report=outside)


@NEEDS_LINKS
def test_the_usual_place_is_in_the_repository_too(repository: Path, tmp_path: Path) -> None:
    (repository / "part" / ".mcp-conformance").symlink_to(tmp_path / "outside")
    with pytest.raises(BadOption, match=r"--transcripts: .* leads out of "):
        read(repository, "")
    assert read(repository, "", transcripts=str(tmp_path / "outside"))


@pytest.mark.parametrize("is_repository", [True, False])
def test_a_clients_configuration_hands_on_no_file_outside_of_its_repository(
    is_repository: bool, repository: Path
) -> None:
    if not is_repository:
        (repository / ".git").rmdir()
    path = repository / "mcp.json"
    path.write_text(
        '{"servers": {"a": {"command": "x", "envFile": "../outside/variables"}}}', encoding="utf-8"
    )
    if is_repository:
        with pytest.raises(BadConfig, match=r"a: its envFile: .* leads out of "):
            read_config(path).entry("a")
    else:
        assert read_config(path).entry("a").env["A"] == "b"
