"""By what words, and names, it is known what is wrong with a server, and what its language has against it."""

from __future__ import annotations

import os
import re

LANGUAGES = {
    "python": r"(python|pypy|uv|uvx|poetry|pipx|hatch|fastmcp)[\d.]*w?(\.exe)?|.*\.py",
    "node": r"(node|nodejs|npx|npm|pnpm|yarn|bun|bunx|deno|tsx|ts-node)(\.(exe|cmd))?|.*\.[cm]?[jt]s",
    "docker": r"(docker|podman|nerdctl)(\.exe)?",
    "java": r"(java|mvn|gradle|gradlew|jbang)(\.exe)?|.*\.jar",
    "ruby": r"(ruby|bundle)(\.exe)?|.*\.rb",
    "go": r"go(\.exe)?|.*\.go",
    "rust": r"cargo(\.exe)?",
    "dotnet": r"(dotnet|dnx)(\.exe)?|.*\.dll",
}
TO_STDERR = {
    "python": "print(..., file=sys.stderr) instead of print(...), and no logging to sys.stdout",
    "node": "console.error(...) instead of console.log(...) and console.info(...)",
    "java": "System.err instead of System.out; the log's console appender too, and no banner",
    "ruby": "warn(...) or $stderr.puts instead of puts",
    "go": "fmt.Fprintln(os.Stderr, ...) or package log instead of fmt.Println(...)",
    "rust": "eprintln! instead of println!; a tracing subscriber wants .with_writer(std::io::stderr)",
    "dotnet": "Console.Error instead of Console.Out; LogToStandardErrorThreshold = Trace for the log",
}
RUNNERS = {"python": "python" if os.name == "nt" else "python3", "node": "node", "ruby": "ruby"}
"""The interpreter to be put before a file."""
FLUSHED = {
    "python": "print(..., flush=True), sys.stdout.flush() after each message, or PYTHONUNBUFFERED=1",
    "ruby": "$stdout.sync = true at the start",
    "go": "Flush() the bufio.Writer after each message",
    "java": "flush() the writer after each message",
    "dotnet": "AutoFlush = true on the writer",
}


_NAME = r"\b(?!ERR_|MODULE_NOT_|GLIBC_|UNABLE_|SELF_SIGNED|CERT_)([A-Z][A-Z0-9]{0,30}_[A-Z0-9_]{1,60})\b"
_LACK = r"(?:required|missing|not set|unset|not found|not defined|undefined|must be|must set|needed|empty)"
VARIABLE = re.compile(
    rf"KeyError: '{_NAME}'|{_NAME}[^\n]{{0,40}}?\b{_LACK}"
    rf"|(?:[Mm]issing|[Rr]equired?s?|[Pp]lease set|[Ss]et the|[Mm]ust set|[Pp]rovide)\b[^\n]{{0,60}}?{_NAME}"
    rf"|\b[Nn]o {_NAME}"
    rf"|[Ee]nvironment variables?[^\n]{{0,40}}?{_NAME}"
)


class Words:
    """What is written when something is wrong: a pattern, the cause, and what to do.

    ``when`` says if it tells of a server that has ``ended``, that is ``running``, or of ``either``.  In cause
    and advice ``{line}`` is the line that the pattern is found in, ``{program}`` the command's first word,
    and groups of the pattern have their names; ``{yes}`` is the command again with ``-y``.
    """

    def __init__(self, pattern: str, cause: str, *advice: str, when: str = "ended"):
        self.pattern, self.cause, self.advice, self.when = pattern, cause, advice, when


IN_ITS_PROJECT = "if it lies in a project, go there first, or name that: --cwd DIR"
STDIO_WANTED = (
    "have it serve stdio: an argument such as stdio or --transport stdio; in FastMCP, run(transport='stdio')"
)
WORDS: tuple[Words, ...] = (
    Words(
        r"No module named '?(?P<name>[\w.]+)",
        "Python finds no module {name}.",
        "install it for this very interpreter, or name the one that has it (.venv/bin/python, uv run)",
        IN_ITS_PROJECT,
    ),
    Words(
        r"can't open file '(?P<name>[^'\n]+)'",
        "Python finds no file {name}.",
        "paths start from where you stand: give the full path",
    ),
    Words(
        r"^ImportError: (?P<name>.*)",
        "Python cannot import: {name}",
        "install the project's own requirements, in their versions, for this very interpreter",
    ),
    Words(
        r"coroutine '(?:[^'\n]*>\.)?(?P<name>\w+)' was never awaited",
        "{name}() is called but not awaited.",
        "call it as asyncio.run({name}())",
    ),
    Words(
        r"Already running asyncio in this thread|asyncio\.run\(\) cannot be called from a running event loop",
        "It starts an event loop in an event loop.",
        "call the run() of FastMCP from plain code, or await its run_async() or run_stdio_async()",
    ),
    Words(
        r"^(?:Syntax|Indentation|Tab)Error: (?P<name>.*)",
        "Its source cannot be read: {name}",
        "mend it, or run it with the version of the interpreter that it is written for: {program} --version",
    ),
    Words(
        r"Cannot find (?:module|package) '(?P<name>[^'\n]+)'",
        "Node finds no module {name}.",
        "npm install (and npm run build, if it is compiled) in its project",
        "paths start from where you stand: give the full path",
    ),
    Words(
        r"Cannot use import statement outside a module|require is not defined in ES module"
        r"|Unexpected token 'export'",
        "Node takes the file for the other kind of module.",
        'say "type": "module" in package.json, or name the file .mjs',
    ),
    Words(
        r"Unknown file extension \"?(?P<name>\.tsx?)",
        "Node runs no {name} files as they are.",
        "compile it first, or start it with npx -y tsx",
    ),
    Words(
        r"[Uu]nsupported engine|EBADENGINE|requires Node|[Nn]ode\.js v?\d+[^\n]{0,30} (?:is )?required",
        "It wants another version of Node: {line}",
        "node --version",
    ),
    Words(
        r"npm (?:error|ERR!) [^\n]{0,60}package\.json|ENOENT[^\n]{0,200}package\.json",
        "There is no package.json where it was started.",
        "start it in its project: go there first, or name that with --cwd DIR",
    ),
    Words(
        r"npm (?:error|ERR!) [Mm]issing script:? \"?(?P<name>[\w:-]+)",
        "package.json has no script {name}.",
        "npm run lists those that it has",
    ),
    Words(
        r"npm (?:error|ERR!) code E404",
        "The registry has no such package.",
        "check the package's name",
    ),
    Words(
        r"could not determine executable to run",
        "The package has no program, or several.",
        "npx -y --package=PACKAGE PROGRAM",
    ),
    Words(
        r"npm (?:error|ERR!) (?:code|errno|network) "
        r"(?:ENOTFOUND|EAI_AGAIN|ECONN\w+|ETIMEDOUT|SELF_SIGNED\w*|UNABLE_\w+)",
        "npm cannot reach the registry: {line}",
        "check the network, the proxy and npm's configuration (--inherit-home lets it see yours)",
    ),
    Words(
        r"Ok to proceed\?|Need to install the following packages|will be installed:",
        "npx installs the package first, or asks whether it may.",
        "{yes}",
        "run it once by hand, then with --inherit-home, so that npx finds what it has installed",
        when="either",
    ),
    Words(
        r"Failed to spawn: `(?P<name>[^`\n]+)`|No `pyproject\.toml` found",
        "uv finds nothing to run.",
        "start it in its project: go there first, or name that with --cwd DIR",
    ),
    Words(
        r"error while loading shared libraries|version `GLIBC\w*[\d.]+' not found",
        "It lacks a library of the system: {line}",
        "install that, or a build for this system",
    ),
    Words(
        r"\\r': command not found|\^M: bad interpreter|env: .{0,40}\\r",
        "A script has CRLF line ends.",
        "save it with LF line ends (sed -i 's/\\r$//' FILE)",
    ),
    Words(
        r"env: \W?[\w./-]+\W?: No such file or directory|(?:^|: )[\w./-]+: (?:command )?not found$",
        "It starts something that is not there: {line}",
        "install that, or put it on the PATH",
    ),
    Words(
        r"Unable to access jarfile|Could not find or load main class",
        "Java cannot find the program: {line}",
        "build it first; paths start from where you stand",
    ),
    Words(
        r"UnsupportedClassVersionError",
        "It is compiled for a newer Java.",
        "java -version",
    ),
    Words(
        r"[Cc]annot connect to the Docker daemon|permission denied while trying to connect to the Docker",
        "Docker does not run, or may not be used: {line}",
        "start it, or join its group",
        "--inherit-home lets it see your contexts",
    ),
    Words(
        r"Unable to find image|pull access denied|No such image",
        "There is no such image here: {line}",
        "build or pull it first",
    ),
    Words(
        r"EADDRINUSE|[Aa]ddress already in use",
        "It opens a port that is taken: {line}",
        "end what else listens there",
        STDIO_WANTED,
    ),
    Words(
        r"(?i)\b(?:listening|running|started|serving|available|ready)\b[^\n]{0,80}?(?:https?://|\bport\b|:\d{2,5}\b)",
        "It serves HTTP instead of stdio: {line}",
        STDIO_WANTED,
        when="running",
    ),
    Words(
        r"(?i)\b(?:open|visit|go to|log ?in|sign in|authenticate)\b[^\n]{0,80}https?://",
        "It waits for somebody to log in: {line}",
        "log in once by hand, then let it see your home: --inherit-home",
        when="running",
    ),
    Words(
        r"FileNotFoundError: [^\n]*'(?P<name>[^'\n]+)'"
        r"|ENOENT: no such file or directory, [^\n]*'(?P<other>[^'\n]+)'",
        "It wants a file that is not there: {name}{other}",
        "make it, or name the directory that has it: --cwd DIR",
    ),
    Words(
        r"(?i)\bEACCES\b|PermissionError|permission denied",
        "It may not do what it wants to: {line}",
        "give it the permission, or --cwd and --inherit-home if it is about your files",
    ),
)
