"""Write the pictures in `docs/images`: a terminal after a run of a server in `docs/examples`.

It needs tmux, the package `rich`, and `mcp-conformance` on the PATH: `python docs/screenshot.py`, or with the
names of some pictures.
"""

import io
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from rich.console import Console
from rich.text import Text

DOCS = Path(__file__).parent
COLUMNS, LINES = 112, 52
COMMANDS = {
    "terminal": "mcp-conformance run --fuzz none -- python server.py",
    "backend": "mcp-conformance run --backend 503,elsewhere --select backend --env WEATHER_KEY=made-up-1234 "
    "-- python weather.py",
}
"""The command of each picture: that of the README, and that of the page about `--backend`."""
PROMPT = "$ "
MAX_SECONDS = 120


def main() -> None:
    """Run each command in a terminal of its own, and draw its screen."""
    for name in sys.argv[1:] or COMMANDS:
        with tempfile.TemporaryDirectory() as folder:
            for example in (DOCS / "examples").glob("*.py"):
                shutil.copy(example, folder)
            text = drawn(screen(folder, COMMANDS[name]), COMMANDS[name], name)
            (DOCS / "images" / f"{name}.svg").write_text(text, encoding="utf-8")


def screen(folder: str, command: str) -> str:
    """Return the screen with its colours, once the prompt is back."""
    name = f"mcp-conformance-{Path(folder).name}"
    shell = f"cd {folder} && PS1='{PROMPT}' exec bash --norc --noprofile -i"
    tmux("new-session", "-d", "-s", name, "-x", str(COLUMNS), "-y", str(LINES), shell)
    try:
        tmux("send-keys", "-t", name, f"clear; {command}", "Enter")
        give_up = time.monotonic() + MAX_SECONDS
        while time.monotonic() < give_up:
            time.sleep(0.5)
            text = tmux("capture-pane", "-e", "-p", "-t", name)
            if plain(text).rstrip().endswith(f"\n{PROMPT.strip()}") and "verdict:" in text:
                return text
        raise TimeoutError(plain(text))
    finally:
        tmux("kill-session", "-t", name)


def tmux(*words: str) -> str:
    """Run a tmux command, and return its output."""
    done = subprocess.run(["tmux", "-L", "screenshot", *words], check=True, capture_output=True, text=True)
    return done.stdout


def plain(text: str) -> str:
    """Return the text without its colours."""
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


def drawn(text: str, title: str, name: str) -> str:
    """Return an SVG of a terminal, in the reader's own monospaced font."""
    lines = text.rstrip().splitlines()[:-1]
    console = Console(width=COLUMNS, record=True, file=io.StringIO(), force_terminal=True)
    console.print(Text.from_ansi("\n".join(lines)))
    svg = console.export_svg(title=title, unique_id=name)
    svg = re.sub(r"\s*@font-face \{.*?\}", "", svg, flags=re.DOTALL)
    return svg.replace("Fira Code, monospace", "ui-monospace, Menlo, Consolas, monospace")


if __name__ == "__main__":
    main()
