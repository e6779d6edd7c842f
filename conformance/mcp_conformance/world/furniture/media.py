"""The images and the sound of a furnished folder."""

from __future__ import annotations

import math
import struct
import zlib

SIDE = 16
"""The width and height of the images, in pixels."""
RATE, LENGTH = 8000, 800
"""The samples of the sound in a second, and in all."""


def media() -> dict[str, bytes]:
    """Return the contents of the images and the sound by their name."""
    return {"example.png": png(), "example.jpg": jpeg(), "example.gif": gif(), "example.wav": sound()}


def png() -> bytes:
    """Return a PNG image with a gradient from red to blue."""
    rows = b"".join(
        b"\0" + b"".join(bytes((255 - 16 * x, 64, 16 * x)) for x in range(SIDE)) for _ in range(SIDE)
    )
    header = struct.pack(">IIBBBBB", SIDE, SIDE, 8, 2, 0, 0, 0)
    chunks = (b"IHDR", header), (b"IDAT", zlib.compress(rows)), (b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(*one) for one in chunks)


def _chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


def jpeg() -> bytes:
    """Return a JPEG image in grey.

    Each of its blocks of 8 x 8 pixels is as the one before: of either Huffman table it needs one code of one
    bit, "no difference" and "end of block".  So the picture is two zeros for each block, filled up with ones.
    """
    blocks = (SIDE // 8) ** 2
    bits = "00" * blocks
    bits += "1" * (-len(bits) % 8)
    picture = bytes(int(bits[at : at + 8], 2) for at in range(0, len(bits), 8))
    one_code = b"\x01" + bytes(15) + b"\x00"
    segments = (
        (0xE0, b"JFIF\0\x01\x01\0\0\x01\0\x01\0\0"),
        (0xDB, b"\0" + b"\x01" * 64),
        (0xC0, struct.pack(">BHHBBBB", 8, SIDE, SIDE, 1, 1, 0x11, 0)),
        (0xC4, b"\x00" + one_code),
        (0xC4, b"\x10" + one_code),
        (0xDA, b"\x01\x01\x00\x00\x3f\x00"),
    )
    head = b"".join(struct.pack(">BBH", 0xFF, mark, len(body) + 2) + body for mark, body in segments)
    return b"\xff\xd8" + head + picture + b"\xff\xd9"


def gif() -> bytes:
    """Return a GIF image of one red pixel."""
    screen = struct.pack("<HHBBB", 1, 1, 0x80, 0, 0)
    colours = bytes((255, 0, 0, 0, 0, 255))
    # The minimal code size 2; then the codes "clear", 0 and "end", of three bits each.
    image = b"," + struct.pack("<HHHHB", 0, 0, 1, 1, 0) + b"\x02\x02\x44\x01\x00"
    return b"GIF89a" + screen + colours + image + b";"


def sound() -> bytes:
    """Return a WAV file with a tone of 440 Hz for a tenth of a second, in 16 bits."""
    waves = (int(12_000 * math.sin(2 * math.pi * 440 * at / RATE)) for at in range(LENGTH))
    samples = struct.pack(f"<{LENGTH}h", *waves)
    about = b"fmt " + struct.pack("<IHHIIHH", 16, 1, 1, RATE, 2 * RATE, 2, 16)
    body = b"WAVE" + about + b"data" + struct.pack("<I", len(samples)) + samples
    return b"RIFF" + struct.pack("<I", len(body)) + body
