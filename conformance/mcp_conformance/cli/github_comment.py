"""The comment of the GitHub Action on a pull request: one for each job, found again by a hidden mark."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

from mcp_conformance.cli.github_action import BASE, FOLDER, NEW, PREFIX
from mcp_conformance.cli.report_file import report_or_reports_in, reports_in
from mcp_conformance.report.exit_status import PASSED
from mcp_conformance.report.files import write_file
from mcp_conformance.report.formats import markdown
from mcp_conformance.report.formats.markdown import code, fitting
from mcp_conformance.report.model import Report
from mcp_conformance.report.servers import markdown as servers_markdown
from mcp_conformance.report.servers.compare import blocks, comparisons
from mcp_conformance.transport.files import BadFile, json_value, read_file
from mcp_conformance.transport.writing import append

AUTHOR = "github-actions[bot]"
"""Whose comments are those of the action: anybody could write its mark."""
MAX_CHANGES = 20_000
"""The most characters of a comment that are about changes."""
PER_PAGE = 100
MAX_PAGES = 50
SECONDS = 20.0
"""The longest wait for an answer of GitHub."""
REFUSED = (401, 403, 404)
NEEDED = "the job needs `permissions: pull-requests: write`, which GitHub gives no pull request from a fork"


class NotPosted(Exception):  # noqa: N818
    """The comment could not be written; the message says why, in one line."""


def comment(environment: Mapping[str, str]) -> int:
    """Comment on the pull request that runs this job; return 0, whatever comes of it.

    The changes are added to the job's summary as well, with the reason if there is no comment.
    """
    number = _pull_request(environment)
    if number is None:
        print("comment: none, as no pull request started this job")  # noqa: T201
        return PASSED
    changes = list(fitting(list(_changes(environment)), MAX_CHANGES, "changes"))
    mark = f"<!-- mcp-conformance {environment.get(f'{PREFIX}KEY', '')} -->"
    try:
        posted = _Comments(environment, number).put(mark, f"{mark}\n{_text(environment, changes)}")
    except NotPosted as reason:
        posted = f"not written: {reason}"
        changes.append(f"The comment on the pull request is {posted}")
    print(f"comment: {posted}")  # noqa: T201
    if summary := environment.get("GITHUB_STEP_SUMMARY"):
        write_file(Path(summary), "\n\n".join([*changes, ""]), append)
    return PASSED


def _pull_request(environment: Mapping[str, str]) -> int | None:
    """Return the number of the pull request whose event started the job."""
    try:
        event = read_file(Path(environment["GITHUB_EVENT_PATH"]), json_value)
        return int(event["pull_request"]["number"])
    except (KeyError, TypeError, ValueError):
        return None


# Text --------------------------------------------------------------------------------------------


def _text(environment: Mapping[str, str], changes: list[str]) -> str:
    """Return the report with the changes, and a link to the job; in short, if there is no report."""
    place = f"{environment.get('GITHUB_SERVER_URL', '')}/{environment.get('GITHUB_REPOSITORY', '')}"
    link = f"[The whole run]({place}/actions/runs/{environment.get('GITHUB_RUN_ID', '')})\n"
    try:
        found = report_or_reports_in(_new(environment))
    except BadFile:
        outcome = environment.get(f"{PREFIX}OUTCOME") or "no outcome"
        return f"## {markdown.SIGNS['untested']} MCP conformance: {outcome}, and no report\n\n{link}"
    if isinstance(found, Report):
        return f"{markdown.render(found, changes)}\n{link}"
    return f"{servers_markdown.render(found, changes)}\n{link}"


def _changes(environment: Mapping[str, str]) -> Iterator[str]:
    """Yield blocks of Markdown on what changed against the base branch's report, or why that is unknown."""
    given = environment.get(f"{PREFIX}BASE_REPORT", "").strip()
    branch = environment.get("GITHUB_BASE_REF", "")
    path = Path(given) if given else Path(environment.get(FOLDER, ".")) / BASE
    if not given and not path.is_file():
        yield f"Nothing to compare with: this step has no report of {code(branch)} yet."
        return
    try:
        old, new = reports_in(path), reports_in(_new(environment))
    except BadFile as error:
        yield f"Not compared: {code(str(error))}"
        return
    if found := comparisons(old, new):
        yield from blocks(old, new, found, branch or path.name)
    else:
        yield f"Not compared: no server is in both this report and that of {code(branch)}."


def _new(environment: Mapping[str, str]) -> Path:
    return Path(environment.get(FOLDER, ".")) / NEW


# GitHub ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Comments:
    """The comments on a pull request, through GitHub's REST API."""

    environment: Mapping[str, str]
    number: int

    def put(self, mark: str, text: str) -> str:
        """Write the comment that begins with ``mark``, and return its URL.  Raises `NotPosted`."""
        own = next((one for one in self._all() if _is_own(one, mark)), None)
        body = {"body": text}
        written = (
            self._answer("PATCH", f"issues/comments/{own['id']}", body)
            if own
            else self._answer("POST", f"issues/{self.number}/comments", body)
        )
        return str(written.get("html_url", "written")) if isinstance(written, dict) else "written"

    def _all(self) -> Iterator[Any]:
        for page in range(1, MAX_PAGES + 1):
            path = f"issues/{self.number}/comments?per_page={PER_PAGE}&page={page}"
            found = self._answer("GET", path)
            yield from found if isinstance(found, list) else []
            if not isinstance(found, list) or len(found) < PER_PAGE:
                return

    def _answer(self, method: str, path: str, body: Mapping[str, str] | None = None) -> Any:
        """Send a request and return the answer.  A redirection does not get the token."""
        environment = self.environment
        token = environment.get("GITHUB_TOKEN", "")
        if not token or not token.isascii() or not token.isprintable():
            raise NotPosted("there is no token of GitHub to write it with")
        api = environment.get("GITHUB_API_URL", "https://api.github.com")
        url = f"{api}/repos/{environment.get('GITHUB_REPOSITORY', '')}/{path}"
        headers = {"Accept": "application/vnd.github+json", "Content-Type": "application/json"}
        request = Request(url, json.dumps(body).encode() if body else None, headers, method=method)  # noqa: S310
        request.add_unredirected_header("Authorization", f"Bearer {token}")
        try:
            with urlopen(request, timeout=SECONDS) as answer:  # noqa: S310
                return json.loads(answer.read())
        except HTTPError as error:
            raise NotPosted(
                f"{NEEDED} (HTTP {error.code})" if error.code in REFUSED else str(error)
            ) from error
        except (URLError, HTTPException, OSError, ValueError) as error:
            raise NotPosted(f"GitHub cannot be reached or understood: {error}") from error


def _is_own(one: Any, mark: str) -> bool:
    """Return whether a comment is the action's own, and this job's."""
    try:
        return bool(one["user"]["login"] == AUTHOR and str(one["body"]).startswith(mark))
    except (KeyError, TypeError):
        return False


if __name__ == "__main__":
    sys.exit(comment(os.environ))
