"""The results of a survey, one file each, in a folder or at any address that fsspec knows."""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Callable, Iterable, Iterator
from hashlib import blake2b
from pathlib import Path

import fsspec
from fsspec.implementations.local import LocalFileSystem

from mcp_conformance.survey.results import SurveyResult
from mcp_conformance.survey.targets import Target
from mcp_conformance.transport.files import read_file


class Store:
    """The results at an address, such as a folder, ``s3://bucket/survey`` or ``memory://survey``."""

    def __init__(self, address: str):
        self.address = address
        self._files, self._root = fsspec.core.url_to_fs(address)

    def path(self, target: Target, tool_version: str, options: Iterable[str]) -> str:
        """Return where the result of a target with one version of this tool and its options is kept."""
        text = json.dumps([target.shown.digest, *options])
        digest = blake2b(text.encode(), digest_size=6).hexdigest()
        name = re.sub(r"[^A-Za-z0-9._-]+", "_", target.name)[:80].lstrip("-.") or "_"
        return f"{self._root}/{tool_version}/{name}-{digest}.json"

    def has(self, path: str) -> bool:
        """Return whether a result is there."""
        return bool(self._files.exists(path))

    def write(self, path: str, result: SurveyResult) -> None:
        """Write a result without credentials; one that is there already stays as it is.

        No reader sees half of it.
        """
        if self.has(path):
            return
        part = f"{path}.{uuid.uuid4().hex}.part"
        self._files.makedirs(path.rpartition("/")[0], exist_ok=True)
        try:
            with self._files.open(part, "wb") as file:
                file.write(result.shown.to_json().encode())
            self._files.mv(part, path)
        except BaseException:
            if self._files.exists(part):
                self._files.rm(part)
            raise

    def read(self, path: str) -> SurveyResult:
        """Return a result.  Raises `ValueError` for a file that is not one."""
        if isinstance(self._files, LocalFileSystem):
            return read_file(Path(path), SurveyResult.from_json, follows=False)
        return SurveyResult.from_json(self._files.cat_file(path).decode())

    def set_aside(self, path: str) -> str:
        """Rename a file that is no result, so that its target is examined again; return the new path."""
        aside = f"{path}.unreadable"
        self._files.mv(path, aside)
        return aside

    def remove(self, path: str) -> None:
        """Remove a result, so that the target is examined again."""
        self._files.rm(path)

    def results(self, on_unreadable: Callable[[str], None] = lambda _: None) -> Iterator[SurveyResult]:
        """Yield every result, sorted by its path; a file that is none is named in a line."""
        for path in sorted(self._files.glob(f"{self._root}/*/*.json")):
            try:
                result = self.read(path)
            except ValueError as error:
                on_unreadable(f"{path} is not the result of a survey: {error}")
            else:
                yield result
