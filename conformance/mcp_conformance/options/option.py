"""What an option is: its name, its forms and its reader."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any

from mcp_conformance.options.given import Given, OptionValue


def as_given(given: Given) -> OptionValue:
    """Return the value as it is."""
    return given.value


class Kind(Enum):
    """How often an option is given: once with a value, several times, or as a switch."""

    VALUE = "text"
    LIST = "list"
    SWITCH = "yes or no"


class Form(Enum):
    """What the configuration file may have for a text.

    A number stands for a text, unless that is a version: 0.10 would be 0.1.  A table may stand for pairs of a
    name and a text, for calls: a tool's name with its arguments, or a list of these, and for limits: a tool's
    name with a table of them.
    """

    TEXT = "text"
    VERSION = "version"
    PAIRS = "pairs"
    CALLS = "calls"
    LIMITS = "limits"


@dataclass(frozen=True)
class Option:
    """An option: its name, the metavar of its value (empty for a switch), its help, and who has it.

    ``default`` says in words what holds without it.  ``reader`` makes its value of what the user wrote.
    ``sets`` is the field of `Settings` or `RunOptions` with the value; an option without one is a part of
    something that `run_options` makes of several.  ``key`` is its name in the configuration file, and ``ini``
    that of its ini value behind ``conformance_``, if they differ from its name.  ``value_if_bare`` is what it
    stands for without a value.  In a report its text ends at the sign ``public_until``, as a credential may
    follow.  ``is_shared`` says that several servers of a file may share it, ``judges`` that another value
    can make a check pass or fail, if it is one of a rule in the ``family`` (any if that is empty).
    ``is_path`` says that it names a file or folder, ``path_after`` behind which words it does.
    """

    name: str
    metavar: str
    help: str
    commands: tuple[str, ...]
    default: str = ""
    kind: Kind = Kind.VALUE
    form: Form = Form.TEXT
    reader: Callable[[Given], Any] = as_given
    sets: str = ""
    key: str = ""
    ini: str = ""
    value_if_bare: str = ""
    public_until: str = ""
    is_shared: bool = True
    is_path: bool = False
    path_after: tuple[str, ...] = ()
    judges: bool = True
    family: str = ""

    @property
    def file_key(self) -> str:
        """Its name in the configuration file."""
        return self.key or self.name

    @property
    def dest(self) -> str:
        """The name of its value among the parsed arguments of a command."""
        return self.name.replace("-", "_")

    @property
    def ini_name(self) -> str:
        """The name of its ini value for pytest."""
        return f"conformance_{self.ini or self.dest}"

    @property
    def full_help(self) -> str:
        """Its help, with the default."""
        return f"{self.help} (default: {self.default})" if self.default else self.help

    @property
    def repeated(self) -> dict[str, Any]:
        """The arguments of ``add_argument`` for an option that can be repeated."""
        bare = {"nargs": "?", "const": self.value_if_bare} if self.value_if_bare else {}
        return {"action": "append", **bare}

    def read(self, given: Given) -> Any:
        """Return the value of what the user wrote.  Raises `BadOption`."""
        try:
            return self.reader(given)
        except OSError as error:
            raise given.error(f"{error.filename}: {error.strerror}") from error
        except ValueError as error:
            raise given.error(error) from error
