"""How a server comes to trust an authority, and where it looks for names: variables, and files of the system.

The files are replaced for the server alone, in a namespace of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

VARIABLES = (
    "SSL_CERT_FILE",  # OpenSSL, Go, Python's ssl and httpx, rustls-native-certs
    "NODE_EXTRA_CA_CERTS",  # Node, Bun
    "DENO_CERT",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
    "AWS_CA_BUNDLE",
    "GRPC_DEFAULT_SSL_ROOTS_FILE_PATH",
    "GIT_SSL_CAINFO",
    "PIP_CERT",
)
"""The variables with a file of authorities."""
BUNDLES = (
    "/etc/ssl/certs/ca-certificates.crt",  # Debian, Alpine, Arch
    "/etc/pki/tls/certs/ca-bundle.crt",  # Fedora
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
    "/etc/ssl/ca-bundle.pem",  # SUSE
    "/etc/ssl/cert.pem",
)
"""The files of the system with its authorities."""
PROXIES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")
"""The variables that send requests elsewhere, in lower case."""
RESOLVER = "/etc/resolv.conf"
SWITCH = "/etc/nsswitch.conf"
NAME_CACHE = "/var/run/nscd"
"""The folder of a service that answers for names from outside the namespace."""
RESOLVER_TEXT = "nameserver 127.0.0.1\noptions timeout:2 attempts:2\n"
SWITCH_TEXT = "passwd: files\ngroup: files\nhosts: files dns\nservices: files\nprotocols: files\n"


def trusting(environment: Mapping[str, str], own: Mapping[str, str], bundle: Path) -> dict[str, str]:
    """Return the environment of a server that trusts the authorities in ``bundle``, and asks no proxy.

    The variables that the user gives it, its ``own``, stay as they are.
    """
    inherited = {name: text for name, text in environment.items() if name.lower() not in PROXIES}
    return {**inherited, **dict.fromkeys(VARIABLES, str(bundle)), **own}


def replaced_files(folder: Path, pem: bytes) -> tuple[Path, dict[str, str]]:
    """Write the files for a server; return the bundle, and which file stands for which of the system.

    Raises `OSError`.
    """
    bundle, resolver, switch, empty = (folder / name for name in ("ca.pem", "resolv.conf", "nss", "empty"))
    bundle.write_bytes(pem)
    resolver.write_text(RESOLVER_TEXT, encoding="ascii")
    switch.write_text(SWITCH_TEXT, encoding="ascii")
    empty.mkdir()
    wanted = {RESOLVER: resolver, SWITCH: switch, NAME_CACHE: empty, **dict.fromkeys(BUNDLES, bundle)}
    # Two paths of the system may be one file, over which it is mounted once.
    places = {str(Path(place).resolve()): str(one) for place, one in wanted.items() if Path(place).exists()}
    return bundle, places
