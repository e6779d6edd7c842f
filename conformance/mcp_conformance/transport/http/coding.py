"""The content codings of a response, which a server may use unasked (RFC 9110, 8.4 and 12.5.3)."""

from __future__ import annotations

import zlib
from collections.abc import Sequence

WBITS = {"gzip": 31, "x-gzip": 31, "deflate": 15}
"""The window of each coding, as `zlib` takes it, with 16 more for the frame of gzip."""


class CodingFailed(Exception):  # noqa: N818
    """The bytes are not in the coding that the response names, or that coding is unknown here."""


class Decoder:
    """A decoder of a body in pieces; without a coding it returns what it gets.

    Raises `CodingFailed` for a coding that it does not know.
    """

    def __init__(self, codings: Sequence[str]):
        names = [one.strip().lower() for value in codings for one in value.split(",")]
        names = [name for name in names if name not in ("", "identity")]
        unknown = [name for name in names if name not in WBITS]
        if unknown:
            raise CodingFailed(f"the body has the content coding {unknown[0]}, which is not read here")
        self._layers = [zlib.decompressobj(WBITS[name]) for name in reversed(names)]

    def feed(self, data: bytes, most: int) -> bytes:
        """Return at least the first ``most`` decoded bytes of a piece.  Raises `CodingFailed`."""
        try:
            for layer in self._layers:
                data = layer.decompress(data, most)
        except zlib.error as error:
            raise CodingFailed(f"the body is not in the content coding that it has: {error}") from error
        return data
