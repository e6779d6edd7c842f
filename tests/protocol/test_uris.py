"""URIs and URI templates: text is recognised as one according to RFC 3986 and RFC 6570."""

import time

import pytest

from mcp_conformance.protocol.uri import expand, is_template, is_uri, matches, scheme, variables


@pytest.mark.parametrize(
    "text",
    [
        "file:///a/b.txt",
        "memo://greeting",
        "memo:",
        "urn:isbn:0451450523",
        "mailto:someone@example.org",
        "http://user:word@example.org:8080/a;b=c/%C3%A9?q=/?#part",
        "http://[2001:db8::7]/",
        "a:b@c:d//e",
        "x://",
    ],
)
def test_a_uri_is_recognised(text):
    assert is_uri(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "notes/today",
        "//example.org/",
        "my_memo://x",
        "1memo:x",
        "memo://a b",
        "memo://%zz",
        "memo://{day}",
        "memo://é",
        "memo://host:port/",
        "memo://a[1]",
        "C:\\notes",
        "memo://a\n",
    ],
)
def test_other_text_is_not_a_uri(text):
    assert not is_uri(text)


def test_a_scheme_is_found_even_if_it_is_illegal():
    texts = ("Memo://x", "my_memo://x", "1memo:x", "notes/today", "a note: x", "")
    assert [scheme(text) for text in texts] == ["memo", "my_memo", "1memo", "", "", ""]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("file:///{path}", ["path"]),
        ("users/:id", []),
        ("", []),
        ("{a}{+b,c*}{/d:3}", ["a", "b", "c", "d"]),
        ("search{?q,limit}", ["q", "limit"]),
        ("search/{in}{?q}{&r}", ["in"]),
        ("{a}/{a}", ["a"]),
        ("it's/é/{x.y}/%41", ["x.y"]),
    ],
)
def test_a_template_is_recognised_and_has_variables(text, names):
    assert is_template(text)
    assert variables(text) == names


@pytest.mark.parametrize(
    "text", ["a{b", "a}b", "{}", "{user-id}", "{path...}", "a b", "%zz", "{a:0}", "{a,}"]
)
def test_other_text_is_not_a_template(text):
    assert not is_template(text)


@pytest.mark.parametrize(
    ("template", "uri"),
    [
        ("memo://{a}/x", "memo://a%2Fb%20/x"),
        ("memo://{+a}", "memo://a/b%20"),
        ("{#a}", "#a/b%20"),
        ("{/b,c}", "/1/2"),
        ("{.b:1}", ".1"),
        ("{;b}{?b,z,c}{&c}", ";b=1?b=1&c=2&c=2"),
        ("x{z}{?z}", "x"),
    ],
)
def test_a_template_is_expanded(template, uri):
    assert expand(template, {"a": "a/b ", "b": "1", "c": "2"}) == uri


@pytest.mark.parametrize(
    ("template", "uri", "matched"),
    [
        ("memo://{a}", "memo://x", True),
        ("memo://{a}", "memo://", True),
        ("memo://{a}", "memo://x/y", False),
        ("memo://{+a}", "memo://x/y", True),
        ("memo://{a}/z", "memo://x", False),
        ("memo://{a}/{b}", "memo://x/y", True),
        ("memo://{a}{?b}", "memo://x?b=1", True),
        ("memo://a", "memo://a", True),
        ("memo://a", "memo://ab", False),
    ],
)
def test_a_template_matches_its_expansions(template, uri, matched):
    assert matches(template, uri) is matched


def test_any_text_is_judged_in_bounded_time():
    started = time.thread_time()
    is_uri("x://" + "a:" * 100_000 + "!")
    is_uri("x://" + "%41" * 100_000 + "|")
    is_template("{" + "a." * 100_000 + "!}")
    is_template("{a" * 100_000)
    matches("a{x}" * 50, "a" * 10_000 + "b/")
    assert time.thread_time() - started < 30
