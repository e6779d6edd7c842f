"""What a format of report files is: its endings, what it is for, and the functions that make the text.

A module of `report.formats` with a `FILE_FORMAT` is a format, and one of `report.servers` with the same name
and a `COMBINED` makes its report on several servers: `report.files` finds both by looking through the
packages.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from mcp_conformance.report.model import Report
from mcp_conformance.report.servers.model import ServersReport


@dataclass(frozen=True)
class CombinedFormat:
    """The report on all servers of a file.

    ``has_own_files`` says that each server has a report of its own beside it.
    """

    render: Callable[[ServersReport], str]
    has_own_files: bool = True


@dataclass(frozen=True)
class FileFormat:
    """The ``endings`` of the names of files, the first of which is shown, and one line of ``help``.

    Without a ``combined`` report there are only those of each server.
    """

    endings: tuple[str, ...]
    help: str
    render: Callable[[Report], str]
    combined: CombinedFormat | None = None
