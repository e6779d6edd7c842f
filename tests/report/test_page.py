"""The HTML page: its colours can be read in both themes, and long values open."""

import re
from dataclasses import replace

import pytest

from mcp_conformance.outcome import Outcome
from mcp_conformance.report.formats import html as html_format
from mcp_conformance.report.formats.page import ASSETS
from support.sample_report import REPORT, failed

CSS = (ASSETS / "report.css").read_text(encoding="utf-8")
LIGHT, DARK = (
    dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{6})", part))
    for part in re.findall(r":root \{(.*?)\}", CSS, re.DOTALL)
)
THEMES = {"light": LIGHT, "dark": {**LIGHT, **DARK}}
HUES = sorted({*re.findall(r"--hue: var\(--([a-z-]+)\)", CSS), *(one.style.hue for one in Outcome)})
TINT = int(re.search(r"color-mix\(in srgb, var\(--hue\) (\d+)%, transparent\)", CSS)[1]) / 100
ENOUGH = 4.5


def channels(colour):
    return [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]


def luminance(colour):
    linear = [one / 12.92 if one <= 0.04045 else ((one + 0.055) / 1.055) ** 2.4 for one in colour]
    return sum(share * one for share, one in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def contrast(one, other):
    lighter, darker = sorted((luminance(one), luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("hue", HUES)
def test_a_pill_can_be_read(theme, hue):
    colours = THEMES[theme]
    shown = channels(colours[hue])
    for ground in (channels(colours["card"]), channels(colours["page"])):
        tinted = [TINT * one + (1 - TINT) * other for one, other in zip(shown, ground, strict=True)]
        assert contrast(shown, tinted) >= ENOUGH
        assert contrast(shown, ground) >= ENOUGH


def test_every_outcome_has_a_hue():
    page = html_format.render(REPORT)
    assert all(f".{one} {{ --hue: var(--{one.style.hue}); }}" in page for one in Outcome)


def test_a_long_value_opens_without_a_script():
    long = replace(failed("add"), got="tools[0].title = " + "x" * 500)
    page = html_format.render(replace(REPORT, results=(long,)))
    found = re.search(r'<dd class="got"><details><summary>(.*?)</summary>(.*?)</details></dd>', page)
    assert found[1].endswith("x …")
    assert found[2] == long.got
