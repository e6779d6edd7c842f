"""Markup: no text of a server, a user or a package has an effect in any page that we write."""

import ast
import json
import re
from dataclasses import fields, is_dataclass, replace
from html.parser import HTMLParser
from itertools import count
from pathlib import Path

import pytest

import mcp_conformance
from mcp_conformance.outcome import Outcome
from mcp_conformance.report import markup
from mcp_conformance.report.formats import badge, html
from mcp_conformance.report.markup import Html, code_of, element, joined, json_data, together
from mcp_conformance.report.servers import html as servers_html
from mcp_conformance.report.servers.model import ServerOutcome, ServersReport
from mcp_conformance.survey.results import Grade, Obstacle
from mcp_conformance.survey.site import write_site
from support.sample_report import REPORT
from support.survey_results import made_finding, made_result

HOSTILE = "\"'><img src=x onerror=alert(1)></script></style></title><script>alert(1)</script><!--&lt;`<u>`"
HARMLESS = "word`word`"
ENGINE = Path(mcp_conformance.__file__).parent
KEPT = ("started", "state", "not_run", "measured", "starts", "sent", "not_applicable", "grade", "matrix")
"""The members that are not texts, or whose names are keys of our own tables."""


class Page(HTMLParser):
    """The start tags of a page with the names of their attributes, its texts, and its attributes' values."""

    def __init__(self, text):
        super().__init__()
        self.structure, self.texts, self.values = [], [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.structure.append((tag, *(name for name, _ in attrs)))
        self.values += attrs

    def handle_endtag(self, tag):
        self.structure.append(f"/{tag}")

    def handle_data(self, data):
        self.texts.append(data)

    def handle_comment(self, data):
        self.structure.append(f"comment {data}")


def filled(value, words, numbers=None):
    """Return a value with other words in each of its texts."""
    numbers = numbers or count()
    if isinstance(value, Outcome | Grade | Obstacle):
        return value
    if isinstance(value, str):
        return f"{words}{next(numbers)}" if value else value
    if is_dataclass(value) and not isinstance(value, type):
        texts = {one.name: getattr(value, one.name) for one in fields(value) if one.name not in KEPT}
        made = {name: filled(text, words, numbers) for name, text in texts.items()}
        made |= {"requirement": f"ping.{made['requirement']}"} if "requirement" in made else {}
        return replace(value, **made)
    if isinstance(value, dict):
        return {filled(name, words, numbers): filled(one, words, numbers) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(filled(one, words, numbers) for one in value)
    return value


def one_server(words, folder):
    return [html.render(filled(REPORT, words))]


def several_servers(words, folder):
    outcomes = (
        ServerOutcome("one", 1, report=replace(REPORT, ended="")),
        ServerOutcome("far", None, "it is remote"),
    )
    servers = filled(ServersReport("mcp.json", outcomes, "1.0"), words)
    return [servers_html.render(replace(servers, pages={servers.outcomes[0].name: f"{words}.html"}))]


def survey(words, folder):
    findings = [made_finding("ping.responds", one) for one in (Outcome.FAILED, Outcome.WARNED)]
    facts = {"sdk": "sdk 1.0", "server": "s", "server_version": "2", "sandbox": "none", "options": ("-v",)}
    results = [
        made_result("one", findings, **facts),
        made_result("two", [], unsteady=(findings[0],), **facts),
        made_result("three", grade=Grade.NOT_JUDGED, obstacle="no", diagnosis="because", **facts),
    ]
    same = {"tool_version": "1.0", "options": (words,)}
    write_site([replace(filled(one, words), **same) for one in results], folder)
    return [path.read_text(encoding="utf-8") for path in folder.rglob("*.html")]


def badges(words, folder):
    return [badge.render(replace(REPORT, ended=words))]


KINDS = (one_server, several_servers, badges, survey)


@pytest.mark.parametrize("kind", KINDS)
def test_hostile_text_appears_only_as_text(kind, tmp_path):
    hostile, harmless = (
        list(map(Page, kind(words, tmp_path / name)))
        for words, name in ((HOSTILE, "hostile"), (HARMLESS, "harmless"))
    )
    assert sorted(str(one.structure) for one in hostile) == sorted(str(one.structure) for one in harmless)
    for name, value in (one for page in hostile for one in page.values):
        assert not name.startswith("on")
        assert name != "src"
        assert name != "style" or re.fullmatch(r"flex:[\d.]+", value)
        assert name != "href" or re.match(r"https://|#|[\w./%~-]+(#|$)", value), value
    if kind is not badges:
        assert all("<img src=x onerror=alert(1)>" in "".join(page.texts) for page in hostile)


@pytest.mark.parametrize("kind", [one_server, several_servers, survey])
def test_a_page_without_escapes_is_noticed(kind, tmp_path, monkeypatch):
    monkeypatch.setattr(markup, "escape", lambda text, quote=True: text)
    with pytest.raises(AssertionError):
        test_hostile_text_appears_only_as_text(kind, tmp_path)


def test_markup_becomes_a_part_unchanged_and_text_is_escaped():
    inner = element("b", "<", class_='"<', hidden=True, title=None)
    assert inner.markup == '<b class="&quot;&lt;" hidden>&lt;</b>'
    outer = element("i", inner, ["&", None, (inner for _ in "x")])
    assert outer.markup == f"<i>{inner.markup}&amp;{inner.markup}</i>"
    assert joined(" <", ["a", None, together(), inner]).markup == f"a &lt;{inner.markup}"
    assert not together(None, [])


def test_markup_does_not_become_a_text():
    """As a text it would be escaped, and a reader would see tags."""
    with pytest.raises(TypeError, match="put Html into an element"):
        f"{element('b', 'x')}"


@pytest.mark.parametrize(
    ("address", "is_kept"),
    [
        ("https://example.com/a?b=c", True),
        ("../rules/ping-1234.html", True),
        ("a%20b.html#failed-ping.responds", True),
        ("#x:y", True),
        ("javascript:alert(1)", False),
        (" java\nscript:alert(1)", False),
        ("JAVASCRIPT:alert(1)", False),
        ("data:text/html,x", False),
        ("http://example.com", False),
        ("//example.com", False),
        ("\\\\example.com", False),
    ],
)
def test_an_address_runs_nothing(address, is_kept):
    assert ("href" in element("a", "x", href=address).markup) == is_kept


def test_data_and_code_do_not_end_their_element():
    assert json.loads(Page(json_data([HOSTILE]).markup).texts[0]) == [HOSTILE]
    assert code_of("style", "a > b {}").markup == "<style>a > b {}</style>\n"
    with pytest.raises(ValueError, match="end of a script"):
        code_of("script", "x = '</SCRIPT>'")


def test_only_the_builder_makes_markup():
    """No other module calls `Html`, and no text of a module that imports the builder looks like a tag."""
    offences = []
    for path in ENGINE.rglob("*.py"):
        source = path.read_text(encoding="utf-8")
        imports_builder = re.search(r"mcp_conformance\.report(\.| import )markup", source)
        if path.name == "markup.py" or not (imports_builder or "Html" in source):
            continue
        nodes = list(ast.walk(ast.parse(source)))
        made = [one for one in nodes if isinstance(one, ast.Call) and ast.unparse(one.func).endswith("Html")]
        texts = [one for one in nodes if isinstance(one, ast.Constant) and isinstance(one.value, str)]
        tags = [one for one in texts if imports_builder and re.search(r"</?[a-zA-Z!]", one.value)]
        offences += [f"{path.name}:{node.lineno}" for node in (*made, *tags)]
    assert offences == []
    assert Html("x").markup == "x"
