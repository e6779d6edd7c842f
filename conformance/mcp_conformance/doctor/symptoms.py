"""Known names and error messages of runtimes and launchers, with a cause and advice for each."""

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
    "rust": "eprintln! instead of println!; a tracing subscriber needs .with_writer(std::io::stderr)",
    "dotnet": "Console.Error instead of Console.Out; LogToStandardErrorThreshold = Trace for the log",
}
RUNNERS = {"python": "python" if os.name == "nt" else "python3", "node": "node", "ruby": "ruby"}
"""The interpreter to put before a file."""
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


class KnownMessage:
    """An error message: its pattern, the cause, and advice.

    ``when`` is the state of the server in which it counts: ``ended``, ``running`` or ``either``.  In cause
    and advice ``{line}`` is the line with the message, ``{program}`` the first word of the command, ``{yes}``
    the command with ``-y``; each group of the pattern is a field of its name.
    """

    def __init__(self, pattern: str, cause: str, *advice: str, when: str = "ended"):
        self.pattern, self.cause, self.advice, self.when = pattern, cause, advice, when


IN_ITS_PROJECT = "if it is part of a project, go there first, or name that directory: --cwd DIR"
STDIO_WANTED = (
    "make it serve stdio: an argument such as stdio or --transport stdio; in FastMCP, run(transport='stdio')"
)
KNOWN_MESSAGES: tuple[KnownMessage, ...] = (
    KnownMessage(
        r"AttributeError: 'Server' object has no attribute '\w+'"
        r"|No module named 'mcp\.server\.[\w.]+'|cannot import name '\w+' from 'mcp\b",
        "The server is written for another major version of the Python SDK: {line}",
        "install that version for this interpreter: mcp<2 if it has FastMCP or @server.list_tools()",
        "if you maintain it, pin the version in its requirements",
    ),
    KnownMessage(
        r"No module named '?(?P<name>[\w.]+)",
        "Python finds no module {name}.",
        "install it for this interpreter, or name the one that has it (.venv/bin/python, uv run)",
        IN_ITS_PROJECT,
    ),
    KnownMessage(
        r"can't open file '(?P<name>[^'\n]+)'",
        "Python finds no file {name}.",
        "paths are relative to the current directory: give the full path",
    ),
    KnownMessage(
        r"^ImportError: (?P<name>.*)",
        "Python cannot import: {name}",
        "install the project's own requirements, in their versions, for this interpreter",
    ),
    KnownMessage(
        r"coroutine '(?:[^'\n]*>\.)?(?P<name>\w+)' was never awaited",
        "{name}() is called but not awaited.",
        "call it as asyncio.run({name}())",
    ),
    KnownMessage(
        r"Already running asyncio in this thread|asyncio\.run\(\) cannot be called from a running event loop",
        "The server starts an event loop inside an event loop.",
        "call the run() of FastMCP from plain code, or await its run_async() or run_stdio_async()",
    ),
    KnownMessage(
        r"^(?:Syntax|Indentation|Tab)Error: (?P<name>.*)",
        "The source cannot be read: {name}",
        "fix it, or use the version of the interpreter that it is written for: {program} --version",
    ),
    KnownMessage(
        r"Cannot find (?:module|package) '(?P<name>[^'\n]+)'",
        "Node finds no module {name}.",
        "npm install (and npm run build, if it is compiled) in its project",
        "paths are relative to the current directory: give the full path",
    ),
    KnownMessage(
        r"Cannot use import statement outside a module|require is not defined in ES module"
        r"|Unexpected token 'export'",
        "Node loads the file as the other kind of module.",
        'set "type": "module" in package.json, or name the file .mjs',
    ),
    KnownMessage(
        r"Unknown file extension \"?(?P<name>\.tsx?)",
        "Node does not run {name} files directly.",
        "compile it first, or start it with npx -y tsx",
    ),
    KnownMessage(
        r"[Uu]nsupported engine|EBADENGINE|requires Node|[Nn]ode\.js v?\d+[^\n]{0,30} (?:is )?required",
        "The server needs another version of Node: {line}",
        "node --version",
    ),
    KnownMessage(
        r"npm (?:error|ERR!) [^\n]{0,60}package\.json|ENOENT[^\n]{0,200}package\.json",
        "There is no package.json in the directory of the server.",
        "start it in its project: go there first, or name that directory with --cwd DIR",
    ),
    KnownMessage(
        r"npm (?:error|ERR!) [Mm]issing script:? \"?(?P<name>[\w:-]+)",
        "package.json has no script {name}.",
        "npm run lists those that exist",
    ),
    KnownMessage(
        r"npm (?:error|ERR!) code E404",
        "The registry has no such package.",
        "check the package's name",
    ),
    KnownMessage(
        r"could not determine executable to run",
        "The package has no program, or more than one.",
        "npx -y --package=PACKAGE PROGRAM",
    ),
    KnownMessage(
        r"npm (?:error|ERR!) (?:code|errno|network) "
        r"(?:ENOTFOUND|EAI_AGAIN|ECONN\w+|ETIMEDOUT|SELF_SIGNED\w*|UNABLE_\w+)",
        "npm cannot reach the registry: {line}",
        "check the network, the proxy and npm's configuration (--inherit-home gives it yours)",
    ),
    KnownMessage(
        r"Ok to proceed\?|Need to install the following packages|will be installed:",
        "npx installs the package first, or asks for permission.",
        "{yes}",
        "run it once by hand, then with --inherit-home, so that npx finds the installed package",
        when="either",
    ),
    KnownMessage(
        r"Failed to spawn: `(?P<name>[^`\n]+)`|No `pyproject\.toml` found",
        "uv finds no program to run.",
        "start it in its project: go there first, or name that directory with --cwd DIR",
    ),
    KnownMessage(
        r"error while loading shared libraries|version `GLIBC\w*[\d.]+' not found",
        "A system library is missing: {line}",
        "install the library, or a build for this system",
    ),
    KnownMessage(
        r"\\r': command not found|\^M: bad interpreter|env: .{0,40}\\r",
        "A script has CRLF line ends.",
        "save it with LF line ends (sed -i 's/\\r$//' FILE)",
    ),
    KnownMessage(
        r"env: \W?[\w./-]+\W?: No such file or directory|(?:^|: )[\w./-]+: (?:command )?not found$",
        "A program that the server starts was not found: {line}",
        "install it, or put it on the PATH",
    ),
    KnownMessage(
        r"Unable to access jarfile|Could not find or load main class",
        "Java cannot find the program: {line}",
        "build it first; paths are relative to the current directory",
    ),
    KnownMessage(
        r"UnsupportedClassVersionError",
        "The server is compiled for a newer Java.",
        "java -version",
    ),
    KnownMessage(
        r"[Cc]annot connect to the Docker daemon|permission denied while trying to connect to the Docker",
        "Docker does not run, or you have no access to it: {line}",
        "start it, or join its group",
        "--inherit-home gives it your contexts",
    ),
    KnownMessage(
        r"Unable to find image|pull access denied|No such image",
        "The image was not found: {line}",
        "build or pull it first",
    ),
    KnownMessage(
        r"(?i)(?<!device )\b(?:needs?|requires?|expects?|must be|is not|isn't|not running in|without) "
        r"(?:run in )?(?:an? |the )?(?:interactive )?(?:tty|terminal)\b|Inappropriate ioctl for device",
        "The server needs a terminal, and clients give a server pipes: {line}",
        "leave out the prompt, or the option, that needs a terminal: stdin and stdout carry messages",
    ),
    KnownMessage(
        r"EADDRINUSE|[Aa]ddress already in use",
        "The server opens a port that is in use: {line}",
        "stop the other program that listens there",
        STDIO_WANTED,
    ),
    KnownMessage(
        r"(?i)\b(?:listening|running|started|serving|available|ready)\b[^\n]{0,80}?(?:https?://|\bport\b|:\d{2,5}\b)",
        "The server serves HTTP instead of stdio: {line}",
        STDIO_WANTED,
        when="running",
    ),
    KnownMessage(
        r"(?i)\b(?:open|visit|go to|log ?in|sign in|authenticate)\b[^\n]{0,80}https?://",
        "The server waits for a login: {line}",
        "log in once by hand, then give it your home: --inherit-home",
        when="running",
    ),
    KnownMessage(
        r"FileNotFoundError: [^\n]*'(?P<name>[^'\n]+)'"
        r"|ENOENT: no such file or directory, [^\n]*'(?P<other>[^'\n]+)'",
        "The server needs a file that was not found: {name}{other}",
        "create it, or name the directory that has it: --cwd DIR",
    ),
    KnownMessage(
        r"(?i)\bEACCES\b|PermissionError|permission denied",
        "The server lacks a permission: {line}",
        "grant the permission, or use --cwd and --inherit-home if your own files are concerned",
    ),
)
