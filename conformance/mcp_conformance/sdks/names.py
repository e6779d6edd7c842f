"""The official SDKs, each major version of two of them for itself."""

from __future__ import annotations

from enum import StrEnum


class Sdk(StrEnum):
    """An official SDK, by the name that reports give it."""

    PYTHON_1 = "Python SDK 1.x"
    PYTHON_2 = "Python SDK 2.x"
    TYPESCRIPT_1 = "TypeScript SDK 1.x"
    TYPESCRIPT_2 = "TypeScript SDK 2.x"
    GO = "Go SDK"
    RUST = "Rust SDK"
    CSHARP = "C# SDK"
    KOTLIN = "Kotlin SDK"


PYTHON = (Sdk.PYTHON_1, Sdk.PYTHON_2)
TYPESCRIPT = (Sdk.TYPESCRIPT_1, Sdk.TYPESCRIPT_2)


def version_key(version: str) -> tuple[float, ...]:
    """Return the numbers of a version such as 1.27.0, up to the first other character.

    The last number of a prerelease, such as 2.0.0-rc.1, is a half smaller, as it comes before its release.
    """
    numbers: list[float] = []
    for part in version.removeprefix("v").split("."):
        digits = part[: len(part) - len(part.lstrip("0123456789"))]
        if not digits:
            break
        numbers.append(int(digits))
        if digits != part:
            numbers[-1] -= 0.5
            break
    return tuple(numbers)
