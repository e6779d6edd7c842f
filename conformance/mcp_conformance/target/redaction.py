"""Leave credentials out of whatever is reported: the one place where a run's report is redacted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from enum import Enum
from typing import Any, TypeVar
from urllib.parse import quote

from mcp_conformance.protocol.jsonrpc import Line
from mcp_conformance.target.settings import Settings
from mcp_conformance.transport.credentials import MIN_LENGTH, credentials, without

NOT_REDACTED = frozenset(
    (
        *("node", "row", "requirement", "requirements", "selector", "level", "basis", "revision", "says"),
        *(
            "spec",
            "outcome",
            "cause",
            "state",
            "tool_version",
            "started",
            "not_run",
            "starts",
            "sent",
            "measured",
        ),
    )
)
"""The fields that hold words of this tool or of the catalogue only."""
T = TypeVar("T")


class Redaction:
    """A function from a value to the same value without these credentials, in all of its texts."""

    def __init__(self, hidden: Sequence[str]):
        self.hidden = hidden

    @classmethod
    def of(cls, settings: Settings, *others: str) -> Redaction:
        """Return the redaction for the credentials in a server's command and environment, and other texts."""
        headers = settings.http.headers if settings.http is not None else ()
        values = [value.decode("latin-1") for _, value in headers]
        words = {word for value in values for word in (value, *value.split()[1:])}
        words |= {quote(word, safe="") for word in words}
        secret = sorted((word for word in words if len(word) >= MIN_LENGTH), key=len, reverse=True)
        return cls((*others, *secret, *credentials(settings.command, settings.env)))

    def __call__(self, value: T) -> T:
        """Return the value without the credentials."""
        result: T = self._redacted(value) if self.hidden else value
        return result

    def _redacted(self, value: Any) -> Any:
        if isinstance(value, str) and not isinstance(value, Enum):
            return without(value, self.hidden)
        if isinstance(value, Line):
            return replace(value, raw=without(value.text, self.hidden).encode())
        if isinstance(value, Mapping):
            return {self._redacted(name): self._redacted(content) for name, content in value.items()}
        if isinstance(value, list | tuple):
            return type(value)(map(self._redacted, value))
        if is_dataclass(value) and not isinstance(value, type):
            names = [one.name for one in fields(value) if one.name not in NOT_REDACTED]
            return replace(value, **{name: self._redacted(getattr(value, name)) for name in names})
        return value
