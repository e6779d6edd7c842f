"""Which texts are credentials: by the name they stand under, by their look, and in a command's words."""

from __future__ import annotations

import binascii
import json
import os
import re
from base64 import b64decode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, unquote, urlsplit

HIDDEN = "***"
SECRET_WORD = re.compile(
    r"\w*(?:TOKEN(?!I[SZ])|SECRET|PASSW|PASSPHRASE|PASSCODE|PASSFILE|CREDENTIAL|COOKIE|BEARER|WEBHOOK|CONN?STR)\w*"
    r"|(?!(?:MON|DON|TUR|LAC|HOC|JOC|MIC|HOT|TURN|WHIS)KEYS?$)\w*KEYS?|\w*AUTH(?:ORI[SZ]ATION|ENTICATION|ORITY)?"
    r"|(?:DB|PG|MYSQL|REDIS|MONGO|USER|ADMIN|ROOT|SMTP|MAIL|FTP)?PASS|CREDS?|PAT|PEM|DSN|PIN|PW|T?OTP|JWT|SAS"
    r"|SALT|SIGNATURE|MNEMONIC|NETRC|KUBECONFIG",
    re.IGNORECASE,
)
"""A word in the names of variables, options and headers that hold credentials, or name a file of them."""
SECRET_WORDS = re.compile(r"_PWD(?=_|$)|CONN(?:ECTION)?_STR|(?:SEED|PASS)_PHRASE", re.IGNORECASE)
"""The same for several words, with ``_`` between them."""
COUNTED = re.compile(
    r"(?:MAX|MIN|NUM|N|TOTAL|INPUT|OUTPUT|CONTEXT|NEW)_TOKENS?|TOKENS?_(?:LIMIT|COUNT|PER|BUDGET)"
    r"|(?:PRIMARY|FOREIGN|SORT|PARTITION)_KEYS?",
    re.IGNORECASE,
)
"""Numbers of tokens, and the keys of tables."""
STORE_NAME = re.compile(
    r"(?:^|_)(?:[A-Z]*(?:DATABASE|DB|SQL)|PG|POSTGRES|MONGO|REDIS|VALKEY|C?AMQP|RABBITMQ|BROKER|KAFKA|NATS|LDAP"
    r"|ELASTIC(?:SEARCH)?|CLICKHOUSE|NEO4J|JDBC|ODBC|SMTP|IMAP|MAIL(?:ER)?)_(?:\w+_)?(?:URL|URI|CONN\w*)S?$",
    re.IGNORECASE,
)
"""The names of variables with the address of a database or another store, which may have its password."""
PUBLIC_NAME = re.compile(
    r"HOME|USERPROFILE|PATH|PWD|USER|USERNAME|LOGNAME|SHELL|TERM|TZ|LANG|LANGUAGE|TMPDIR|TEMP|TMP|PYTHON\w*"
    r"|NODE_(?:ENV|PATH|OPTIONS)|LC_\w+|XDG_\w+|(?:LOCAL)?APPDATA|SYSTEMROOT|PATHEXT|COMSPEC|NO_COLOR"
)
"""The names of variables that every program has: their values are never credentials."""
COMMON = frozenset(
    (
        *(
            "true",
            "false",
            "yes",
            "no",
            "on",
            "off",
            "none",
            "null",
            "default",
            "auto",
            "enabled",
            "disabled",
        ),
        *("debug", "info", "warn", "warning", "error", "critical", "trace", "verbose", "production"),
        *("development", "staging", "testing", "localhost", "basic", "bearer", "digest", "oauth", "oauth2"),
        *("token", "apikey", "api-key", "api_key", "jwt", "password", "header", "headers", "cookie"),
        *("required", "optional", "readonly", "read-only", "username", "example", "database", "postgres"),
    )
)
"""Words that settings have, and that hide nothing: to leave them out would spoil every report."""
# Three characters are in every text.
MIN_LENGTH = 4
"""Shorter credentials are not searched for in other texts."""
# Not measured: `debug`, `8080` and `30000` are shorter.
MIN_UNNAMED = 6
"""Shorter values of a variable whose name is not one of a credential are not credentials."""
# Not measured: the longest words of settings, such as `development`, are shorter.
MIN_LETTERS = 12
"""The same for values that have letters only."""
NUMBER = re.compile(r"[-+]?\d{1,9}(?:\.\d*)?")
NAMED = re.compile(r"(-*[\w.-]*)(=|:\s*)(.+)", re.DOTALL)
"""``--api-key=X``, ``TOKEN=X``, or ``Authorization: X``."""
USER_INFO = re.compile(r"(?<=://)[^/\s@]+(?=@)")
BARE = re.compile(
    r"\b(?:sk|gh[opusr]|github_pat|xox[abps]|glpat|npm|hf)[-_][\w-]{16,}|\bAKIA[0-9A-Z]{16}\b|\beyJ[\w-]{16,}[\w.-]*"
)
"""Words that look like credentials."""
SCHEME = re.compile(r"(Bearer|Basic|Token|ApiKey|Key|Digest)\s+(\S.*)", re.IGNORECASE | re.DOTALL)
"""The value of a header with credentials: a scheme, and what counts."""
FOLDER = "{folder}"
"""What stands for the throwaway folder in a path."""
FILE_URL = re.compile(r"(?:sqlite|file):[^?@]*")
"""A connection string that names a file and has no credential."""
PAIR = re.compile(r"([A-Za-z][\w .-]*?)\s*=\s*([^;\s][^;]*)")
"""A part of a connection string, such as ``Password=X;``."""


class Secret(NamedTuple):
    """A text that no output may have; ``is_named`` says that its name is one of a credential."""

    text: str
    is_named: bool


def is_secret_name(name: str) -> bool:
    """Return whether a variable, an option or a header of that name holds a credential."""
    words = COUNTED.sub("", _words(name))
    return any(map(SECRET_WORD.fullmatch, re.split("_|[0-9]+(?=_|$)", words))) or (
        SECRET_WORDS.search(words) is not None
    )


def is_withheld(name: str, text: str) -> bool:
    """Return whether a server gets no such variable of our environment unless the user names it.

    Its name is one of a credential or of a store's address, or its value has a credential.
    """
    if is_secret_name(name) or STORE_NAME.search(_words(name)):
        return True
    if PUBLIC_NAME.fullmatch(name) or _is_here(text):
        return False
    return any(one.is_named and _is_searched(one.text) for one in _inside(text, is_named=False))


def _words(name: str) -> str:
    """Return the words of a name with ``_`` between them: ``dbPass`` and ``X-API-Key`` have two and three."""
    cased = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name)
    return re.sub(r"[^A-Za-z0-9]+", "_", cased).strip("_")


def secrets_of(
    command: Sequence[str],
    environment: Mapping[str, str] | None = None,
    headers: Iterable[tuple[str, str]] = (),
) -> tuple[Secret, ...]:
    """Return the credentials in a command, in the variables given for it, and in headers, longest first."""
    found: dict[str, bool] = {}
    words = (one for _, hidden in _split(command) for one in hidden)
    given = (*(environment or {}).items(), *headers)
    values = (one for name, text in given for one in _of_value(name, text, is_given=True))
    for one in (*words, *values):
        if _is_searched(one.text):
            found[one.text] = found.get(one.text, False) or one.is_named
    return tuple(Secret(*one) for one in sorted(found.items(), key=lambda one: (-len(one[0]), one[0])))


def _is_searched(text: str) -> bool:
    """Return whether a credential is searched for in other texts: not if it is short or a common word."""
    return len(text) >= MIN_LENGTH and text.lower() not in COMMON


def redacted(words: Sequence[str]) -> tuple[str, ...]:
    """Return the words of a command without the credentials among them."""
    return tuple(kept for kept, _ in _split(words))


# Values ------------------------------------------------------------------------------------------


def _of_value(name: str, text: str, *, is_given: bool = False) -> Iterator[Secret]:
    """Yield the credentials in the value of an option and in its parts; all of it counts if it ``is_given``.

    What is given beside the command, a variable or a header, is for the server alone.
    """
    is_named = is_secret_name(name)
    if (is_named or is_given) and not is_public(name, text):
        yield Secret(text, is_named)
        yield Secret(text.strip(), is_named)
        yield from (Secret(one, True) for one in _after_scheme(text))
    yield from _inside(text, is_named=is_named)


def is_public(name: str, text: str) -> bool:
    """Return whether the value of a variable may be shown: a common word, a number, a path that exists.

    Under the name of a credential only a common word and the path of a file that exists are public.
    """
    plain = text.strip()
    if is_secret_name(name):
        return plain.lower() in COMMON or FILE_URL.fullmatch(plain) is not None or _is_file(plain)
    is_short = len(plain) < (MIN_LETTERS if plain.isalpha() and plain.isascii() else MIN_UNNAMED)
    return is_short or PUBLIC_NAME.fullmatch(name) is not None or is_common(plain)


def is_common(text: str) -> bool:
    """Return whether a value is one that many have: a word of settings, a number, a path that exists."""
    return text.lower() in COMMON or NUMBER.fullmatch(text) is not None or _is_here(text)


def _is_here(text: str) -> bool:
    """Return whether a text is the path of something on this machine, or a list of such paths."""
    if text.startswith(FOLDER):
        return True
    try:
        places = list(filter(None, text.split(os.pathsep)))
        return bool(places) and all(map(_is_place, places))
    except (OSError, ValueError):
        return False


def _is_file(text: str) -> bool:
    """Return whether a text is the path of a file or folder that is here."""
    try:
        return text.startswith(FOLDER) or (Path(text).is_absolute() and Path(text).exists())
    except (OSError, ValueError):
        return False


def _is_place(text: str) -> bool:
    """Return whether a text is the path of a file or folder that is here, or may be made in a folder here."""
    path = Path(text)
    return path.is_absolute() and (
        path.exists() or (path.parent != path.parent.parent and path.parent.exists())
    )


def _after_scheme(text: str) -> Iterator[str]:
    """Yield what follows the scheme in the value of a header, and what Basic encodes."""
    found = SCHEME.fullmatch(text.strip())
    if found is None:
        return
    yield found[2]
    if found[1].lower() == "basic":
        try:
            plain = b64decode(found[2], validate=True).decode()
        except (binascii.Error, ValueError):
            return
        yield plain
        yield plain.partition(":")[2]


def _inside(text: str, *, is_named: bool) -> Iterator[Secret]:
    """Yield the credentials in parts of a text: of a URL, a connection string, JSON, and lines of a key."""
    for found in USER_INFO.finditer(text):
        yield from (Secret(one, True) for one in _of_user(found[0]))
    yield from (Secret(found[0], True) for found in BARE.finditer(text))
    if "?" in text and "://" in text:
        yield from _of_query(text)
    if ";" in text or "password=" in text.lower():
        pairs = (pair for part in text.split(";") for pair in PAIR.findall(part))
        yield from (Secret(value.strip(), True) for name, value in pairs if is_secret_name(name.strip()))
    if text.lstrip().startswith(("{", "[")):
        yield from (Secret(one, True) for one in _of_json(text))
    if is_named and "\n" in text:
        lines = (line.strip() for line in text.splitlines())
        yield from (Secret(line, True) for line in lines if len(line) >= 8 and not line.startswith("-----"))


def _of_user(text: str) -> Iterator[str]:
    yield text
    _, colon, password = text.partition(":")
    if colon:
        yield password
        yield unquote(password)


def _of_query(text: str) -> Iterator[Secret]:
    """Yield the values in the query of a URL, as they are there and decoded."""
    try:
        query = urlsplit(text).query
    except ValueError:
        return
    for pair in re.split("[&;]", query):
        name, _, value = pair.partition("=")
        for one in (value, *(plain for _, plain in parse_qsl(pair))):
            if not is_public(name, one):
                yield Secret(one, is_secret_name(name))


def _of_json(text: str) -> Iterator[str]:
    """Yield the values in a JSON text that stand under the name of a credential."""
    try:
        waiting: list[tuple[str, Any]] = [("", json.loads(text))]
    except (ValueError, RecursionError):
        return
    while waiting:
        name, value = waiting.pop()
        if isinstance(value, dict):
            waiting += value.items()
        elif isinstance(value, list):
            waiting += ((name, one) for one in value)
        elif isinstance(value, str) and is_secret_name(name):
            yield value
            yield from (line for line in value.splitlines() if len(line) >= 8 and line[:5] != "-----")


# Commands ----------------------------------------------------------------------------------------


def _split(words: Sequence[str]) -> Iterator[tuple[str, list[Secret]]]:
    """Yield each word as it may be shown, and the credentials in it."""
    before = ""
    for word in words:
        yield _hidden(word, before)
        before = word


def _hidden(word: str, before: str) -> tuple[str, list[Secret]]:
    is_value = before.startswith("-") and "=" not in before and not word.startswith("-")
    if is_value and is_secret_name(before):
        return _shown(word), [*_of_value(before, word)]
    named = NAMED.fullmatch(word)
    if named and "://" not in named[1] + named[2] + named[3][:2] and is_secret_name(named[1]):
        return f"{named[1]}{named[2]}{_shown(named[3])}", [*_of_value(named[1], named[3])]
    found = [*_inside(word, is_named=False)]
    shown = word
    for one in sorted(found, key=lambda one: -len(one.text)):
        shown = shown.replace(one.text, HIDDEN) if one.text else shown
    return shown, found


def _shown(value: str) -> str:
    return value if value.lower() in COMMON or FILE_URL.fullmatch(value) else HIDDEN
