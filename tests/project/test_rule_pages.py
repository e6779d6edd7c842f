"""Findings link to the pages of our documentation, once the package's metadata names its address."""

import subprocess
import sys

import pytest

METADATA = "Metadata-Version: 2.4\nName: pytest-mcp-conformance\nVersion: 0.1.0\n"
PAGE = "https://docs.example/en/reference/made/requirements/ping.html#pingempty-result"
PROGRAM = """
from mcp_conformance.report.model import Outcome, Result
from mcp_conformance.requirements.catalogue import requirement
print(Result.of(requirement("ping.empty-result"), "2025-11-25", node="", outcome=Outcome.FAILED).page)
"""


@pytest.mark.parametrize(
    ("urls", "page"),
    [
        (
            "Project-URL: Source, https://x.example\nProject-URL: Documentation, https://docs.example/en/\n",
            PAGE,
        ),
        ("", "https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/ping"),
    ],
    ids=["published", "not published"],
)
def test_a_rule_links_to_its_page(urls, page, tmp_path):
    folder = tmp_path / "pytest_mcp_conformance-0.1.0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text(METADATA + urls, encoding="utf-8")
    program = f"import sys; sys.path.insert(0, {str(tmp_path)!r})" + PROGRAM
    printed = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert printed.stdout.startswith(page)
