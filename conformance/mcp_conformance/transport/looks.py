"""What credentials of anybody's look like: tokens of well-known services, private keys, passwords in URLs."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

# Keys of examples and tests have one of these, and so have all that stand for a value to be filled in.
EXAMPLE = re.compile(
    r"example|sample|placeholder|dummy|fake|your|change|replace|redacted|insert|xxx|\*\*|\.\.\.|[<>${}\[\]]"
    r"|0123456|1234567|abcdef(?!\d)|(?P<one>[^/])(?P=one){5}",
    re.IGNORECASE,
)
"""A text that stands for a credential and is none."""
COMMON_PASSWORD = re.compile(
    r"(?:my|your|the|some|db|test|a|user)?[-_]?(?:user(?:name)?|pass(?:word|wd|phrase)?|secret|pw|pwd|token|x-token"
    r"|(?:api[-_]?)?key|pat|admin|root|guest|postgres|mysql|mongo|redis|test|dev|local)s?[-_]?\d{0,4}",
    re.IGNORECASE,
)
"""A password of documentation, or the default one of a database."""
# Not measured: the longest words of documentation, such as `hunter2`, are shorter.
MIN_PASSWORD = 8
"""Shorter passwords in URLs are those of examples."""
MIN_DIFFERENT = 10
"""A token has so many different characters at least: one that was typed has fewer."""
MIN_KEY = 100
"""So many characters of base64 stand between the lines of a private key at least."""
START, END = r"(?<![A-Za-z0-9_+/=-])", r"(?![A-Za-z0-9_+/=-])"


class Look(NamedTuple):
    """What credentials of a ``kind`` look like: a ``sign`` that each has, a pattern, and which are real."""

    kind: str
    sign: str
    pattern: re.Pattern[str]
    is_real: Callable[[str], bool]


def _is_random(token: str) -> bool:
    """Return whether a token is one that a machine has made, with letters and digits."""
    has_both = re.search(r"\d", token) and re.search(r"[A-Za-z]", token)
    return bool(has_both) and len(set(token)) >= MIN_DIFFERENT and EXAMPLE.search(token) is None


def _is_password(user_info: str) -> bool:
    """Return whether ``user:password`` is no example."""
    user, _, password = user_info.partition(":")
    is_known = COMMON_PASSWORD.fullmatch(password) is not None or password.lower() == user.lower()
    return len(password) >= MIN_PASSWORD and not is_known and EXAMPLE.search(password) is None


def _is_key(text: str) -> bool:
    """Return whether a private key has its content."""
    _, _, content = text.partition("KEY-----")
    plain = re.sub(r"\\[nr]|\s|-----.*", "", content)
    return len(plain) >= MIN_KEY and len(set(plain)) > 2 * MIN_DIFFERENT and "..." not in plain


def _never(_: str) -> bool:
    """Return False: cursors and states may look alike."""
    return False


def _token(kind: str, sign: str, pattern: str, is_real: Callable[[str], bool] = _is_random) -> Look:
    return Look(kind, sign, re.compile(f"{START}{pattern}"), is_real)


LOOKS = (
    Look(
        "a password in a URL",
        "@",
        re.compile(r"""(?:(?<=://)|(?<=:\\/\\/))[^/\s@:"'<>\\]*:[^/\s@"'<>\\]+(?=@)"""),
        _is_password,
    ),
    Look(
        "a private key",
        "KEY-----",
        re.compile(
            r"-----BEGIN [A-Z ]*PRIVATE KEY-----[^\"<>]{0,20000}?(?:-----END [A-Z ]*-----|(?=[\"<>])|\Z)"
        ),
        _is_key,
    ),
    _token("a key of AWS", "IA", r"(?:AKIA|ASIA)[0-9A-Z]{16}" + END),
    _token("a token of GitHub", "gh", r"gh[opusr]_[A-Za-z0-9_-]{20,}"),
    _token("a token of GitHub", "github_pat_", r"github_pat_\w{22,}"),
    _token("a token of GitLab", "glpat-", r"glpat-[A-Za-z0-9_-]{20,}"),
    _token("a token of npm", "npm_", r"npm_[A-Za-z0-9]{30,}"),
    _token("a token of Hugging Face", "hf_", r"hf_[A-Za-z0-9]{30,}"),
    _token("a token of Slack", "xox", r"xox[abeprs]-[A-Za-z0-9-]{20,}"),
    _token("an API key", "sk-", r"sk-[A-Za-z0-9_-]{20,}"),
    _token("a key of Stripe", "k_live_", r"[rs]k_live_[A-Za-z0-9]{20,}"),
    _token("a key of Google", "AIza", r"AIza[0-9A-Za-z_-]{35}"),
    _token("a token of Google", "ya29.", r"ya29\.[0-9A-Za-z_-]{30,}"),
    _token("a token of PyPI", "pypi-", r"pypi-[0-9A-Za-z_-]{60,}"),
    _token("a key of SendGrid", "SG.", r"SG\.[\w-]{20,}\.[\w-]{20,}"),
    _token("a JSON web token", "eyJ", r"eyJ[\w-]{16,}\.[\w-]{8,}\.[\w-]{8,}", _never),
)
"""The looks of credentials, each with a sign that it has."""


def credentials_in(text: str) -> Iterator[tuple[str, str]]:
    """Yield the kind and the text of each credential in a text, but those of examples."""
    for look in LOOKS:
        if look.sign in text:
            yield from ((look.kind, one[0]) for one in look.pattern.finditer(text) if look.is_real(one[0]))
