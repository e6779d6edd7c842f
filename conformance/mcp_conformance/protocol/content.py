"""What the content blocks of each type must have."""

from __future__ import annotations

import base64
import binascii
import re
from typing import Any


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
    """Return whether a string decodes in any base64 alphabet and padding in use; True for any other value."""
    if not isinstance(value, str):
        return True
    text = re.sub(r"\s", "", value).rstrip("=").replace("-", "+").replace("_", "/")
    try:
        base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
    except (binascii.Error, ValueError):
        return False
    return True
