"""Write the site of a made-up survey, measure it, and with ``--browser`` its first paint and its pictures.

    python benchmarks/survey_site.py FOLDER --servers 3000 --browser /usr/bin/chromium

The browser needs the package `playwright` and a Chromium.
"""

import argparse
import sys
import time
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "tests"))

from mcp_conformance.survey.site import write_site  # noqa: E402
from support.survey_results import made_results  # noqa: E402

FIRST_PAINT = """new Promise(done => new PerformanceObserver((list) => {
  const found = list.getEntriesByName("first-contentful-paint");
  if (found.length) done(found[0].startTime);
}).observe({ type: "paint", buffered: true }))"""
READY = "performance.getEntriesByType('navigation')[0].domContentLoadedEventEnd"
RUNS = 5


def main():
    words = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    words.add_argument("folder", type=Path)
    words.add_argument("--servers", type=int, default=3000)
    words.add_argument("--surveys", type=int, default=3)
    words.add_argument("--seed", type=int, default=1)
    words.add_argument("--browser", metavar="PROGRAM")
    options = words.parse_args()
    results = list(made_results(options.servers, options.seed, options.surveys))
    began = time.process_time()
    write_site(results, options.folder)
    spent = time.process_time() - began
    pages = [path.stat().st_size for path in options.folder.rglob("*.html")]
    start = options.folder / "index.html"
    print(f"{len(pages)} pages, {sum(pages) / 1e6:.1f} MB, written in {spent:.1f} CPU seconds")
    print(f"start page: {start.stat().st_size / 1e6:.2f} MB; largest page: {max(pages) / 1e6:.2f} MB")
    if options.browser:
        look(start.resolve(), options.browser)


def look(start, program):
    """Print when the start page was first painted, and take a picture in each theme and width."""
    from playwright.sync_api import sync_playwright  # noqa: PLC0415  (only for --browser)

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        for _ in range(RUNS):
            page = browser.new_page()
            page.goto(start.as_uri())
            painted, ready = page.evaluate(FIRST_PAINT), page.evaluate(READY)
            print(f"first paint after {painted:.0f} ms, script done after {ready:.0f} ms")
            page.close()
        for theme in ("light", "dark"):
            for width in (1280, 400):
                page = browser.new_page(color_scheme=theme, viewport={"width": width, "height": 900})
                page.goto(start.as_uri())
                page.screenshot(path=start.with_name(f"{theme}-{width}.png"), full_page=True)
                page.close()
        browser.close()


if __name__ == "__main__":
    main()
