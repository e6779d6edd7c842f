"""Variants of a bearer token that cannot be valid: made of the token itself, and not signed again."""

from __future__ import annotations

import binascii
import json
import string
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Iterator, Mapping
from typing import Any

from mcp_conformance.transport.credentials import SCHEME, Secret

SIGNATURE, UNSIGNED = "its signature changed", "the algorithm none and no signature"
AUDIENCE, EXPIRED = "another audience in place of its own", "an expiry in the past"
LAST = "another last character"
OTHER_AUDIENCE = "https://another-resource.invalid"
PAST = 1_000_000_000
"""The second at which a forged token has expired, in 2001."""
# With fewer characters a changed one may be the token of somebody else.
MIN_OPAQUE = 16
"""The length from which an opaque token is changed."""
LETTERS = f"{string.ascii_uppercase}{string.ascii_lowercase}{string.digits}"
TOP_BIT, HEX_HALF = 32, 8


def forged(token: str) -> dict[str, str]:
    """Return variants of a token by what they have: of a JWT four, of another token one, of a short one none.

    What the issuer has signed is changed without its key, or the signature is, so that none can be valid.
    """
    parts = jwt_parts(token)
    if parts is None:
        return {LAST: _with_other_end(token)} if len(token) >= MIN_OPAQUE else {}
    header, claims = (_object(one) or {} for one in parts[:2])
    head, payload, signature = parts
    raw = _bytes(signature) or b"\0"
    return {
        SIGNATURE: f"{head}.{payload}.{encoded(bytes((raw[0] ^ 0xFF, *raw[1:])))}",
        UNSIGNED: f"{_of_object({**header, 'alg': 'none'})}.{payload}.",
        AUDIENCE: f"{head}.{_of_object({**claims, 'aud': OTHER_AUDIENCE})}.{signature}",
        EXPIRED: f"{head}.{_of_object({**claims, **_past(claims)})}.{signature}",
    }


def secrets_of_token(value: str, *, with_forged: bool) -> Iterator[Secret]:
    """Yield what no output may have of the header Authorization: the parts of a JWT, and what is forged."""
    found = SCHEME.fullmatch(value.strip())
    token = found[2].strip() if found is not None else ""
    variants = forged(token).values() if with_forged else ()
    for one in (token, *variants):
        parts = jwt_parts(one)
        if one != token:
            yield Secret(one, True)
        yield from (Secret(part, True) for part in (parts or ())[1:] if part)


def jwt_parts(token: str) -> tuple[str, str, str] | None:
    """Return the header, claims and signature of a JWT, as they are encoded; None of another token."""
    parts = token.split(".")
    if len(parts) != 3 or _object(parts[1]) is None or "alg" not in (_object(parts[0]) or {}):
        return None
    return parts[0], parts[1], parts[2]


def encoded(data: bytes) -> str:
    """Return bytes as a part of a JWT: base64 for URLs without the signs at its end."""
    return urlsafe_b64encode(data).decode().rstrip("=")


def _past(claims: Mapping[str, Any]) -> dict[str, int]:
    """Return the times of a token that has expired; those that it has not are left out."""
    return {"exp": PAST, **{name: PAST - 3600 for name in ("iat", "nbf") if name in claims}}


def _object(part: str) -> dict[str, Any] | None:
    try:
        found = json.loads(_bytes(part))
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _bytes(part: str) -> bytes:
    try:
        return urlsafe_b64decode(part + "=" * (-len(part) % 4))
    except (binascii.Error, ValueError):
        return b""


def _of_object(value: Mapping[str, Any]) -> str:
    return encoded(json.dumps(value, separators=(",", ":")).encode())


def _with_other_end(token: str) -> str:
    """Return an opaque token with another last character, which stands for other bits in base64 and hex."""
    kept = token.rstrip("=")
    body, last, end = kept[:-1], kept[-1:], token[len(kept) :]
    if set(kept) <= set(string.hexdigits):
        return f"{body}{(int(last, 16) + HEX_HALF) % 16:x}{end}"
    at = LETTERS.find(last)
    other = LETTERS[(at + TOP_BIT) % len(LETTERS)] if at >= 0 else LETTERS[0]
    return f"{body}{other}{end}"
