"""URLs and their parts."""

import pytest

from mcp_conformance.transport.http.endpoint import Endpoint


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://localhost", ("http", "localhost", 80, "/", "localhost")),
        ("http://localhost:80/mcp", ("http", "localhost", 80, "/mcp", "localhost")),
        ("https://example.org/a/b?c=d&e", ("https", "example.org", 443, "/a/b?c=d&e", "example.org")),
        ("https://example.org:80?x", ("https", "example.org", 80, "/?x", "example.org:80")),
        ("http://[::1]:8000/mcp", ("http", "::1", 8000, "/mcp", "[::1]:8000")),
        ("HTTP://Example.ORG/Path", ("http", "example.org", 80, "/Path", "example.org")),
    ],
)
def test_a_url_is_split(url, expected):
    found = Endpoint.parse(url)
    assert (found.scheme, found.host, found.port, found.target, found.authority) == expected
    assert found.tls == url.lower().startswith("https")
    assert found.origin == f"{found.scheme}://{found.authority}"


@pytest.mark.parametrize(
    "url",
    [
        "",
        "localhost:8000",
        "ftp://localhost/",
        "http://",
        "http://:80/",
        "http://user@localhost/",
        "http://user:word@localhost/",
        "http://localhost/#part",
        "http://localhost/#",
        "http://localhost:0/",
        "http://localhost:65536/",
        "http://localhost:http/",
        "http://[::1/",
        "http://local host/",
        "http://localhost/\n",
        "http://löcal/",
    ],
)
def test_other_text_is_rejected_with_one_sentence(url):
    with pytest.raises(ValueError, match=r"^[^\n]+\.$"):
        Endpoint.parse(url)
