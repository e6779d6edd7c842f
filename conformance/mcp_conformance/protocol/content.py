"""What the content blocks of each type must have."""

from __future__ import annotations

import base64
import binascii
import re
from typing import Any

# Not measured: of a picture read as UTF-8 nearly half, of a page with some damaged letters a hundredth.
MAX_REPLACED_SHARE = 0.1
"""The most of a text that replacement characters (U+FFFD) may be."""
MAX_REPLACED = 3
"""How many there may be in a text of any length."""


def has_text(block: Any) -> bool:
    """Return whether a text block has its text."""
    return isinstance(block.get("text"), str)


def has_data(block: Any) -> bool:
    """Return whether an image or audio block has its data and their type."""
    return isinstance(block.get("data"), str) and isinstance(block.get("mimeType"), str)


def has_uri_and_name(link: Any) -> bool:
    """Return whether a resource link has its URI and its name."""
    return isinstance(link.get("uri"), str) and isinstance(link.get("name"), str)


def embeds(block: Any) -> bool:
    """Return whether a block embeds a resource with its URI and its text or blob."""
    resource = block.get("resource")
    if not isinstance(resource, dict) or not isinstance(resource.get("uri"), str):
        return False
    return isinstance(resource.get("text"), str) or isinstance(resource.get("blob"), str)


def is_base64(value: Any) -> bool:
    """Return whether a string decodes in base64 (RFC 4648, 4), padded or not; True for any other value.

    Clients refuse the url-safe alphabet: that of the TypeScript SDK throws.
    """
    if not isinstance(value, str):
        return True
    text = re.sub(r"\s", "", value).rstrip("=")
    try:
        base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
    except (binascii.Error, ValueError):
        return False
    return True


def is_text(text: str) -> bool:
    """Return whether a text is one, and not binary data that was read as UTF-8."""
    replaced = text.count("\ufffd")
    return "\0" not in text and replaced <= max(MAX_REPLACED, MAX_REPLACED_SHARE * len(text))
