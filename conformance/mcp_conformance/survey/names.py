"""The names and versions of packages that a survey installs: those of the registries' grammars only.

An installer takes more: options, addresses, paths and files, of which it runs the code that builds them.
"""

from __future__ import annotations

import re

from packaging.requirements import InvalidRequirement, Requirement
from packaging.version import InvalidVersion, Version

MAX_LENGTH = 214
"""The longest name of a package at npm."""
FILES = re.compile(r"\.(?:zip|whl|tgz|tar|tbz|txz|tlz|tar\.\w+)$", re.IGNORECASE)
"""The endings by which an installer takes a name for a file."""
NPM_NAME = r"(?:@[a-z0-9~][a-z0-9._~-]*/)?[a-z0-9~][a-z0-9._~-]*"
NPM_RANGE = r"[\^~<>=]{0,2}\d[0-9A-Za-z.+-]*|[a-z][a-z0-9-]*"
NPM_PACKAGE = re.compile(NPM_NAME, re.IGNORECASE | re.ASCII)
NPM_VERSION = re.compile(r"\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?(?:\+[0-9A-Za-z.-]+)?", re.ASCII)
NPM_WANTED = re.compile(rf"{NPM_NAME}(?:@(?:{NPM_RANGE}))?", re.IGNORECASE | re.ASCII)


def problem_with(registry: str, package: str, version: str, packages: tuple[str, ...]) -> str:
    """Return what is wrong with a package, or with what is installed beside it; empty if nothing is."""
    if not _is_package(registry, package):
        return f"{package!r} is no name of a package at {registry}"
    if not _is_version(registry, version):
        return f"{version!r} is no exact version at {registry}"
    others = (one for one in packages if not _is_wanted(registry, one))
    return next((f"{one!r} is no package at {registry}, with or without a version" for one in others), "")


def _is_package(registry: str, name: str) -> bool:
    if FILES.search(name) or len(name) > MAX_LENGTH:
        return False
    if registry == "npm":
        return NPM_PACKAGE.fullmatch(name) is not None
    required = _requirement(name)
    return required is not None and not (required.specifier or required.marker)


def _is_version(registry: str, version: str) -> bool:
    if FILES.search(version):
        return False
    if registry == "npm":
        return NPM_VERSION.fullmatch(version) is not None
    try:
        Version(version)
    except InvalidVersion:
        return False
    return version.isascii() and version == version.strip()


def _is_wanted(registry: str, text: str) -> bool:
    if FILES.search(text) or len(text) > 2 * MAX_LENGTH:
        return False
    if registry == "npm":
        return NPM_WANTED.fullmatch(text) is not None and not FILES.search(text.rpartition("@")[0])
    return _requirement(text) is not None


def _requirement(text: str) -> Requirement | None:
    """Return what a text asks for at PyPI; None if it is no requirement, or one with an address."""
    try:
        found = Requirement(text)
    except InvalidRequirement:
        return None
    return None if found.url or FILES.search(found.name) else found
