"""Why a server does not start, by what was seen of it: each cause is a function, the first to fit is told."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from conformance.client.reply import Silence
from conformance.doctor.attempts import NARROWER, OTHER_WORDS, Attempt, Seen, Way, visible
from conformance.doctor.symptoms import FLUSHED, LANGUAGES, RUNNERS, STDIO_WANTED, TO_STDERR, VARIABLE, WORDS
from conformance.protocol import revisions
from conformance.protocol.jsonrpc import Kind, Line, id_key, is_message, kind, show, torn
from conformance.protocol.text import named
from conformance.transport.sandbox import SECRET


@dataclass(frozen=True)
class Diagnosis:
    """What is wrong, and what to do about it; ``is_sure`` if nothing else can be the cause."""

    cause: str
    advice: tuple[str, ...] = ()
    is_sure: bool = True
    is_healthy: bool = False


Cause = Callable[[Seen], Diagnosis | None]
CAUSES: list[Cause] = []


def cause(function: Cause) -> Cause:
    """Add a cause behind those above it."""
    CAUSES.append(function)
    return function


def diagnosis(seen: Seen) -> Diagnosis:
    """The first cause that fits."""
    return next(found for one in CAUSES if (found := one(seen)) is not None)


def next_way(seen: Seen) -> Way | None:
    """The way to be tried next to tell causes apart; None if no other would tell more."""
    return next((way for way in _ways(seen) if way not in seen.trials), None)


def _ways(seen: Seen) -> Sequence[Way]:
    """The ways that tell more, in the order to try them in."""
    first, here = seen.first, seen.here
    is_mute = first.is_flood or (first.is_closed and first.exit_code is None)
    if first.refused or first.is_open or is_mute or _is_odd(seen):
        return ()
    if first.late is not None:
        return (Way.UNBUFFERED,) if language(seen) == "python" else ()
    if here is not None and here.is_open:
        narrower = [way for way in NARROWER if seen.narrows(way)]
        return () if seen.opened(*narrower) or len(narrower) == 1 else narrower
    sheltered = (Way.HERE,) if seen.is_sheltered else ()
    if first.is_refusal:
        return (Way.MODERN, *sheltered) if seen.opened(Way.MODERN) is None else ()
    if first.is_early or is_told(seen) or seen.opened(*OTHER_WORDS):
        return sheltered
    is_failure = first.has_ended and _errors(first)
    return (*sheltered, *(OTHER_WORDS[:1] if is_failure else OTHER_WORDS))


def is_told(seen: Seen) -> bool:
    """Whether what was written to stderr or stdout says what is wrong."""
    return any(one(seen) is not None for one in TELLING)


# Words -------------------------------------------------------------------------------------------


def language(seen: Seen) -> str:
    """The language that the server is likely written in; empty if nothing tells."""
    shebang = seen.program.shebang.decode("latin-1").replace("/", " ").split()
    words = [*shebang[-1:], seen.program.path, *seen.settings.command]
    return next(filter(None, map(_language_of, words)), "")


def _language_of(word: str) -> str:
    name = Path(word).name
    return next((one for one, pattern in LANGUAGES.items() if re.fullmatch(pattern, name)), "")


def again(seen: Seen, action: str, *options: str, command: Iterable[str] | None = None) -> str:
    """The command that does this with the server, with these options besides those given."""
    settings = seen.settings
    words = ["mcp-conformance", action]
    words += ["--cwd", str(settings.cwd)] if settings.cwd is not None else []
    words += ["--inherit-home"] if settings.inherit_home else []
    for name, content in settings.env.items():
        words += ["--env", name if SECRET.search(name) else f"{name}={content}"]
    return shlex.join([*words, *options, "--", *(seen.command if command is None else command)])


def _last_words(attempt: Attempt) -> str:
    """The line of stderr that says most: the last one, or that of an error."""
    lines = [line.strip() for line in attempt.stderr.splitlines() if line.strip() and not TAIL.search(line)]
    return named((_errors(attempt) or lines or [""])[-1], 300)


def _errors(attempt: Attempt) -> list[str]:
    """The lines of stderr that tell of an error."""
    return [
        line.strip() for line in attempt.stderr.splitlines() if ERROR.match(line) and not TAIL.search(line)
    ]


TAIL = re.compile(
    r"A complete log of this run|This is related to npm not|^npm (?:error|ERR!)(?: \w+)?$|^Node\.js v\d"
)
"""What tells nothing."""
ERROR = re.compile(
    r"[A-Za-z_][\w.]*(?:Error|Exception|Exit|Interrupt)\b|(?:[\w./-]+: )?(?:fatal )?error\b|panic:|thread '",
    re.IGNORECASE,
)


def _said(attempt: Attempt) -> str:
    """All that was written, as one text."""
    stdout = "\n".join(line.text for line in attempt.noise)
    return f"{attempt.stderr}\n{stdout}\n{visible(attempt.unended, 300)}"


def _how_it_ended(attempt: Attempt) -> str:
    code = attempt.exit_code
    if code is None:
        return "closed its stdout and went on"
    how = f"was ended by signal {-code}" if code < 0 else f"ended with status {code}"
    return f"{how} after {attempt.seconds:.1f} s"


# It cannot be started ----------------------------------------------------------------------------


@cause
def an_assignment(seen: Seen) -> Diagnosis | None:
    """NAME=VALUE before the program, as a shell takes it."""
    word, *rest = seen.command
    if not seen.first.refused or not rest or not re.fullmatch(r"[A-Za-z_]\w*=.*", word, re.DOTALL):
        return None
    return Diagnosis(
        f"{named(word)} is an assignment for a shell, and no shell is involved.",
        (again(seen, "doctor", "--env", word, command=rest),),
    )


@cause
def words_of_a_shell(seen: Seen) -> Diagnosis | None:
    """A command line that only a shell understands."""
    found = [word for word in seen.command if word in ("&&", "||", "|", ";", "cd", "source", "export")]
    if not seen.first.refused or seen.program.path or not found:
        return None
    return Diagnosis(
        f"{found[0]} is for a shell, and no shell is involved.",
        ("name the program alone; --cwd DIR and --env NAME=VALUE stand for cd and export",),
    )


@cause
def one_word(seen: Seen) -> Diagnosis | None:
    """The whole command in quotes."""
    word, *rest = seen.command
    if not seen.first.refused or seen.program.path or rest or " " not in word.strip():
        return None
    advice = again(seen, "doctor", command=word.split())
    return Diagnosis("The command is one word with blanks in it: it is quoted as a whole.", (advice,))


@cause
def a_file_beside(seen: Seen) -> Diagnosis | None:
    """A file here, which the search path does not have."""
    beside = seen.program.beside
    if not seen.first.refused or seen.program.path or not beside:
        return None
    advice = again(seen, "doctor", command=[*_runner(beside), beside, *seen.command[1:]])
    return Diagnosis(f"{named(seen.program.word)} is a file here, but no program on the PATH.", (advice,))


def _runner(path: str) -> list[str]:
    """The interpreter for a file, by its name."""
    name = Path(path).name
    return [runner for one, runner in RUNNERS.items() if re.fullmatch(LANGUAGES[one], name)][:1]


@cause
def no_program(seen: Seen) -> Diagnosis | None:
    """Nothing of that name."""
    program = seen.program
    if not seen.first.refused or program.path:
        return None
    near = [again(seen, "doctor", command=[program.near, *seen.command[1:]])] if program.near else []
    word = named(program.word)
    where = (
        "There is no file" if Path(program.word).name != program.word else "There is no program on the PATH"
    )
    return Diagnosis(f"{where} called {word}.", (*near, f"install {word}, or give its full path"))


@cause
def a_windows_shim(seen: Seen) -> Diagnosis | None:
    """A .cmd file, which only the command interpreter runs."""
    path = seen.program.path
    if not seen.first.refused or Path(path).suffix.lower() not in (".cmd", ".bat", ".ps1"):
        return None
    advice = again(seen, "doctor", command=["cmd", "/c", *seen.command])
    return Diagnosis(f"{path} is a script of the command interpreter and no program.", (advice,))


@cause
def no_file(seen: Seen) -> Diagnosis | None:
    """A directory."""
    if not seen.first.refused or seen.program.is_file:
        return None
    return Diagnosis(f"{named(seen.program.path, 200)} is no file.", ("name the program in it",))


@cause
def a_broken_shebang(seen: Seen) -> Diagnosis | None:
    """An interpreter in the first line that does not exist, often for a carriage return behind it."""
    first_line = seen.program.shebang
    words = first_line[2:].split()
    if not seen.first.refused or not words:
        return None
    path = seen.program.path
    if first_line.endswith(b"\r"):
        advice = f"save it with LF line ends: sed -i 's/\\r$//' {shlex.quote(path)}"
        return Diagnosis(f"{path} has CRLF line ends, so its interpreter is not found.", (advice,))
    interpreter = os.fsdecode(words[0])
    if os.access(interpreter, os.X_OK):
        return None
    advice = again(seen, "doctor", command=[Path(interpreter).name, path, *seen.command[1:]])
    return Diagnosis(f"{path} wants the interpreter {named(interpreter)}, which does not exist.", (advice,))


@cause
def not_executable(seen: Seen) -> Diagnosis | None:
    """A file that may not be run."""
    path = seen.program.path
    if not seen.first.refused or seen.program.may_run:
        return None
    advice = (f"chmod +x {shlex.quote(path)}", *_by_interpreter(seen))
    return Diagnosis(f"{named(path, 200)} is not executable.", advice)


def _by_interpreter(seen: Seen) -> tuple[str, ...]:
    """The command with an interpreter before it."""
    runner = _runner(seen.program.path)
    return (again(seen, "doctor", command=[*runner, *seen.command]),) if runner else ()


@cause
def no_shebang(seen: Seen) -> Diagnosis | None:
    """A text without a line that names its interpreter, or a binary for another machine."""
    head, path = seen.program.head, named(seen.program.path, 200)
    if not seen.first.refused or "format" not in seen.first.refused.lower():
        return None
    if head.startswith((b"\x7fELF", b"MZ", b"\xfe\xed\xfa", b"\xcf\xfa\xed\xfe", b"\xca\xfe\xba\xbe")):
        return Diagnosis(
            f"{path} is built for another system or processor.",
            ("build or install the one for this machine",),
        )
    advice = ("give it a first line such as #!/usr/bin/env python3", *_by_interpreter(seen))
    return Diagnosis(f"{path} is a script whose first line names no interpreter.", advice)


@cause
def refused(seen: Seen) -> Diagnosis | None:
    """Any other refusal of the system."""
    if not seen.first.refused:
        return None
    return Diagnosis(f"The system refused to start it: {named(seen.first.refused, 300)}.")


# What came is no answer --------------------------------------------------------------------------


@cause
def answers_with_headers(seen: Seen) -> Diagnosis | None:
    """Content-Length headers before its messages."""
    for attempt in (seen.main, seen.trials.get(Way.HEADERS)):
        if attempt is not None and any(
            line.raw.lower().startswith(b"content-length:") for line in attempt.said
        ):
            advice = ("write each message on one line, as compact JSON and \\n; read lines the same way",)
            return Diagnosis(
                "It frames messages with Content-Length headers, as language servers do.", advice
            )
    return None


@cause
def two_bytes_a_character(seen: Seen) -> Diagnosis | None:
    """UTF-16."""
    if seen.main.is_answered or not any(b"\0" in line.raw for line in seen.main.said):
        return None
    advice = {"python": "sys.stdout.reconfigure(encoding='utf-8') at the start, or PYTHONUTF8=1"}
    advice["dotnet"] = "Console.OutputEncoding = new UTF8Encoding(false) at the start"
    return Diagnosis(
        "It writes UTF-16, and messages are UTF-8.",
        (advice.get(language(seen), "write UTF-8 without a byte order mark"),),
    )


@cause
def a_byte_order_mark(seen: Seen) -> Diagnosis | None:
    """A byte order mark before a message."""
    marked = [line for line in seen.main.said if "byte order mark" in line.oddities]
    if not marked:
        return None
    advice = {"dotnet": "new UTF8Encoding(false) instead of Encoding.UTF8"}
    return Diagnosis(
        "It writes a byte order mark before its first message, which many clients cannot read.",
        (advice.get(language(seen), "write UTF-8 without a byte order mark"),),
    )


@cause
def several_lines(seen: Seen) -> Diagnosis | None:
    """Indented JSON."""
    if seen.main.is_answered or not torn(seen.main.said):
        return None
    compact = {
        "python": "json.dumps(message) without indent",
        "node": "JSON.stringify(message) without its third argument",
    }
    return Diagnosis(
        "Its answer is spread over several lines, and each line is taken for a message.",
        (f"write each message on one line: {compact.get(language(seen), 'JSON without line breaks')}",),
    )


@cause
def no_line_end(seen: Seen) -> Diagnosis | None:
    """A message that is not ended."""
    attempt = seen.main
    if attempt.is_answered or not is_message(Line.received(attempt.unended).message):
        return None
    if attempt.unended.endswith(b"\r"):
        return Diagnosis(
            "It ends its lines with \\r alone, and a message ends with \\n.",
            ("write \\n behind each message",),
        )
    code = {
        "python": "sys.stdout.write(text + '\\n') and flush",
        "node": "process.stdout.write(text + '\\n')",
    }
    return Diagnosis(
        "Its answer has no line end, so nobody can tell that it is complete.",
        (f"write \\n behind each message: {code.get(language(seen), 'one for each')}",),
    )


@cause
def half_a_message(seen: Seen) -> Diagnosis | None:
    """A message that is not complete."""
    attempt = seen.first
    is_begun = attempt.unended.lstrip().startswith(b'{"') and attempt.late is None
    if attempt.is_answered or attempt.has_ended or not is_begun:
        return None
    return Diagnosis(
        f"It began to write a message, and did not end it in time: {visible(attempt.unended, 100)}",
        ("write each message as a whole, with its line end, and flush",),
        is_sure=False,
    )


@cause
def an_echo(seen: Seen) -> Diagnosis | None:
    """Our own line back."""
    asked = seen.main.asked
    if asked is None or asked.message not in list(seen.main.messages):
        return None
    advice = "name the server's own program behind --"
    return Diagnosis("It gives back the line that it was sent: this is no MCP server.", (advice,))


@cause
def a_batch(seen: Seen) -> Diagnosis | None:
    """An answer in an array."""
    batches = [one for one in seen.main.messages if kind(one) is Kind.BATCH]
    if not any(_is_answer(part) for batch in batches for part in batch):
        return None
    advice = "write the response itself, not a list of it"
    return Diagnosis("It answers a single request with an array.", (advice,))


@cause
def cannot_read(seen: Seen) -> Diagnosis | None:
    """An error without an id."""
    errors = [one for one in seen.main.messages if kind(one) is Kind.ERROR and one.get("id") is None]
    if seen.main.is_answered or not errors:
        return None
    return Diagnosis(
        f"It could not read our request, and answers {show(errors[0].get('error'))} without its id.",
        ("read stdin line by line, as UTF-8, and hand each line to a JSON parser",),
        is_sure=False,
    )


@cause
def another_id(seen: Seen) -> Diagnosis | None:
    """An answer under another id."""
    asked = seen.main.asked
    ids = [one.get("id") for one in seen.main.messages if _is_answer(one)]
    if seen.main.is_answered or asked is None or not ids:
        return None
    ours = asked.message["id"]
    same = "" if id_key(ids[0]) != id_key(str(ours)) else ", a string where a number was sent"
    return Diagnosis(
        f"It answers with the id {show(ids[0], 60)}{same}; the request has the id {show(ours)}.",
        ("give back the id of the request as it came, with its type",),
    )


def _is_answer(message: Any) -> bool:
    return kind(message) in (Kind.RESULT, Kind.ERROR)


SHAPES: tuple[Cause, ...] = (
    *(answers_with_headers, two_bytes_a_character, several_lines, no_line_end),
    *(half_a_message, an_echo, a_batch, cannot_read, another_id),
)


def _is_odd(seen: Seen) -> bool:
    return any(one(seen) is not None for one in SHAPES)


@cause
def a_flood(seen: Seen) -> Diagnosis | None:
    """More than anybody reads."""
    if not seen.main.is_flood:
        return None
    advice = TO_STDERR.get(language(seen), "write only messages to stdout")
    return Diagnosis("It floods its stdout and answers nothing.", (advice,))


# Another way helps -------------------------------------------------------------------------------


@cause
def a_modern_server(seen: Seen) -> Diagnosis | None:
    """One that knows no handshake, which is right in 2026-07-28."""
    modern = seen.opened(Way.MODERN)
    if modern is None:
        return None
    cause = f"It is healthy: a stateless server ({modern.revision}), which is not opened with initialize."
    fine = Diagnosis(cause, (again(seen, "run"),), is_healthy=True)
    return _too_much(seen, modern) or _gone(seen, modern) or _chatter(seen, modern) or fine


@cause
def needs_more(seen: Seen) -> Diagnosis | None:
    """It starts as the user's own programs do, not in the sandbox."""
    here = seen.here
    if here is None or not here.is_open or seen.first.is_open:
        return None
    ways = [way for way in NARROWER if seen.narrows(way)]
    narrow = seen.opened(*ways)
    way = narrow.way if narrow is not None else ways[0] if len(ways) == 1 else Way.HERE
    options, why = seen.options(way), NEEDED[way]
    advice = (f"it starts with {' '.join(options)}:", again(seen, "run", *options))
    return Diagnosis(f"It needs {why}{_quoting(seen.first)}.", advice)


NEEDED = {
    Way.DIRECTORY: "its project around it, and was started in a throwaway directory",
    Way.HOME: "your home directory, and was given a throwaway one",
    Way.CREDENTIALS: "a credential of your environment, which was kept from it",
    Way.HERE: "your own directory, home and environment, and was given throwaway ones",
}


@cause
def reads_carriage_returns(seen: Seen) -> Diagnosis | None:
    r"""It answers only when the line ends with \r\n."""
    if seen.opened(Way.CARRIAGE) is None:
        return None
    advice = ("take \\n for the end of a line, and a \\r before it for white space",)
    return Diagnosis("It reads lines that end with \\r\\n only; clients end theirs with \\n.", advice)


@cause
def buffers(seen: Seen) -> Diagnosis | None:
    """The answer comes when the process ends."""
    if seen.first.late is None:
        return None
    advice = FLUSHED.get(language(seen), "flush stdout after each message")
    if seen.opened(Way.UNBUFFERED) is not None:
        cause = (
            "Its answer stays in a buffer until the process ends; with PYTHONUNBUFFERED=1 it comes at once."
        )
        return Diagnosis(cause, (advice, again(seen, "run", "--env", "PYTHONUNBUFFERED=1")))
    cause = (
        "Its answer came only when stdin was closed: it stays in a buffer, or stdin is read to its end first."
    )
    return Diagnosis(cause, (advice, "read stdin line by line, not as a whole"), is_sure=False)


# The answer is none that opens a conversation ----------------------------------------------------


@cause
def slow(seen: Seen) -> Diagnosis | None:
    """The answer came, but late."""
    hello, limit = seen.main.hello, seen.settings.start_timeout
    if not seen.main.is_open or hello is None or hello.line is None or hello.line.at <= limit:
        return None
    needed = str(round(2 * hello.line.at))
    advice = (again(seen, "run", "--start-timeout", needed), *_cached(seen))
    return Diagnosis(
        f"It starts, but answers only {hello.line.at:.1f} s after its start (--start-timeout is {limit:g}).",
        (*advice, "or have it answer first, and load what it needs later"),
    )


def _cached(seen: Seen) -> tuple[str, ...]:
    """What helps a launcher that installs the server anew for each throwaway home."""
    is_launcher = Path(seen.command[0]).stem in ("npx", "bunx", "uvx", "uv", "pipx", "deno", "dnx")
    if not is_launcher or seen.settings.inherit_home:
        return ()
    return (f"it installs the server each time: {again(seen, 'run', '--inherit-home')} lets it keep that",)


@cause
def other_versions(seen: Seen) -> Diagnosis | None:
    """It refuses the version, and says which it speaks."""
    reply = seen.main.hello
    if reply is None or reply.error is None:
        return None
    data = reply.error.get("data") if isinstance(reply.error, dict) else None
    versions = data.get("supported") if isinstance(data, dict) else None
    says = f"{reply.code} {reply.error_message}".lower()
    if versions is None and "version" not in says:
        return None
    speaks = f"; it speaks {show(versions)}" if versions is not None else ""
    advice = ["answer initialize with a version that it does speak, instead of an error"]
    known = [one for one in revisions.KNOWN if isinstance(versions, list) and one in versions]
    if known:
        advice.insert(0, again(seen, "run", "--revision", known[-1]))
    return Diagnosis(f"It refuses the version {seen.main.revision} ({reply}){speaks}.", tuple(advice))


@cause
def an_error(seen: Seen) -> Diagnosis | None:
    """It refuses to be opened."""
    reply = seen.main.hello
    if reply is None or reply.error is None:
        return None
    is_unknown = reply.code == -32601
    advice = "implement initialize" if is_unknown else "the message, and stderr, say what it lacks"
    return Diagnosis(f"It answers initialize with an error: {reply}.", (advice,))


@cause
def no_version(seen: Seen) -> Diagnosis | None:
    """A result that is not that of initialize."""
    attempt = seen.main
    value = attempt.hello.value if attempt.hello is not None else None
    if value is None or revisions.is_modern(attempt.revision):
        return None
    version = value.get("protocolVersion")
    if version is not None and version.json in revisions.HANDSHAKE:
        return None
    got = "no protocolVersion" if version is None else f"the protocolVersion {show(version.json, 60)}"
    known = ", ".join(revisions.HANDSHAKE)
    return Diagnosis(
        f"Its answer to initialize has {got}.",
        (f"answer with the version asked for, or the newest that it knows of {known}",),
    )


@cause
def says_too_much(seen: Seen) -> Diagnosis | None:
    """A list that is longer than the lines we read."""
    return _too_much(seen, seen.main)


def _too_much(seen: Seen, attempt: Attempt) -> Diagnosis | None:
    reply = attempt.listed
    if reply is None or not isinstance(reply.fault, Silence) or not reply.fault.unread:
        return None
    cause = f"It starts, but its answer to {reply.method} is {reply.fault.unread.partition(' (')[0]}."
    return Diagnosis(
        cause, (again(seen, "run", "--max-line", "100"), "clients are likely to give it up, too")
    )


@cause
def gives_up_later(seen: Seen) -> Diagnosis | None:
    """It opens the conversation, and then does not go on."""
    return _gone(seen, seen.main)


def _gone(seen: Seen, attempt: Attempt) -> Diagnosis | None:
    reply = attempt.listed
    if not attempt.is_open or reply is None or reply.value is not None:
        return None
    how = "was not answered:" if reply.fault is not None else "was answered with"
    words = _quoting(attempt) if reply.fault is not None else ""
    cause = f"It starts, but then {reply.method} {how} {named(str(reply), 300)}{words}."
    if _is_chatty(attempt):
        return Diagnosis(f"{cause} It also {_prints(attempt)}", _tidied(seen))
    return Diagnosis(cause, (again(seen, "run"),))


@cause
def chatter(seen: Seen) -> Diagnosis | None:
    """All is well but for what else is on stdout."""
    return _chatter(seen, seen.main)


def _chatter(seen: Seen, attempt: Attempt) -> Diagnosis | None:
    if not attempt.is_open or not _is_chatty(attempt):
        return None
    return Diagnosis(f"It starts and answers, but also {_prints(attempt)}", _tidied(seen))


def _is_chatty(attempt: Attempt) -> bool:
    return bool(attempt.noise or attempt.unended)


def _prints(attempt: Attempt) -> str:
    return f"prints to stdout what is no message: {_sample(attempt)}"


def _tidied(seen: Seen) -> tuple[str, ...]:
    """How to keep stdout clean, and what to do then."""
    return _quietly(seen), f"then: {again(seen, 'run')}"


def _sample(attempt: Attempt) -> str:
    """The first line that is no message, and is not empty."""
    raw = next((line.raw for line in attempt.noise if line.raw.strip()), attempt.unended)
    return visible(raw, 100) or "an empty line"


def _quietly(seen: Seen) -> str:
    """How to keep stdout clean."""
    if _runs_a_script(seen):
        return "npm prints what it runs: npm run --silent, or the program in package.json itself"
    return TO_STDERR.get(language(seen), "write to stderr whatever is no message")


def _runs_a_script(seen: Seen) -> bool:
    return Path(seen.command[0]).stem in ("npm", "pnpm", "yarn") and "--silent" not in seen.command


@cause
def healthy(seen: Seen) -> Diagnosis | None:
    """Nothing is wrong."""
    if not seen.main.is_open:
        return None
    return Diagnosis("It is healthy.", (again(seen, "run"),), is_healthy=True)


# What it wrote tells -----------------------------------------------------------------------------


@cause
def an_interpreter_alone(seen: Seen) -> Diagnosis | None:
    """An interpreter that takes stdin for its program."""
    program, *rest = seen.command
    if rest or not INTERPRETER.fullmatch(Path(program).name):
        return None
    advice = again(seen, "doctor", command=[program, "SERVER"])
    return Diagnosis(f"{program} has no program to run, so it reads one from stdin.", (advice,))


INTERPRETER = re.compile(r"(python|pypy|node|ruby|deno|bun|bash|sh|zsh)[\d.]*(\.exe)?")


@cause
def by_its_words(seen: Seen) -> Diagnosis | None:
    """One of the messages that runtimes and launchers are known for."""
    attempt = seen.main
    if attempt.is_answered:
        return None
    text = _said(attempt)
    for words in WORDS:
        found = re.search(words.pattern, text, re.MULTILINE)
        state = "ended" if attempt.has_ended else "running"
        if found and words.when in (state, "either"):
            names = {name: named(one or "", 120) for name, one in found.groupdict().items()}
            names |= {
                "line": named(_line_of(text, found.start()), 200),
                "program": shlex.quote(seen.command[0]),
            }
            names["yes"] = _with_yes(seen)
            advice = tuple(one.format(**names) for one in words.advice)
            is_last = not any(map(ERROR.match, text[found.end() :].splitlines()[1:]))
            return Diagnosis(words.cause.format(**names), advice, is_sure=attempt.has_ended and is_last)
    return None


def _line_of(text: str, place: int) -> str:
    start = text.rfind("\n", 0, place) + 1
    return text[start:].split("\n", 1)[0].strip()


def _with_yes(seen: Seen) -> str:
    """The command in which npx is told not to ask."""
    program, *rest = seen.command
    is_npx = Path(program).stem == "npx" and not {"-y", "--yes"} & set(rest)
    return again(seen, "doctor", command=[program, "-y", *rest]) if is_npx else "npx -y asks nothing"


@cause
def a_variable(seen: Seen) -> Diagnosis | None:
    """A variable of the environment is missing."""
    attempt = seen.main
    said, last = _said(attempt), _last_words(attempt)
    names = [
        one for text in (last, said) for found in VARIABLE.finditer(text) for one in found.groups() if one
    ]
    if attempt.is_answered or not names or names[0] in seen.settings.env:
        return None
    option = names[0] if names[0] in os.environ else f"{names[0]}=VALUE"
    return Diagnosis(
        f"It wants the environment variable {names[0]}: {_line_with(said, names[0])}",
        (again(seen, "doctor", "--env", option),),
        is_sure=attempt.has_ended and names[0] in last,
    )


def _line_with(said: str, word: str) -> str:
    found = [line.strip() for line in said.splitlines() if word in line]
    return named(found[-1], 200) if found else ""


@cause
def docker_without_stdin(seen: Seen) -> Diagnosis | None:
    """A container that is not given stdin."""
    words = seen.command
    if language(seen) != "docker" or "run" not in words[1:]:
        return None
    is_given = any(re.fullmatch(r"-[a-zA-Z]*i[a-zA-Z]*|--interactive(=true)?", word) for word in words)
    wants_terminal = "not a TTY" in seen.main.stderr
    if is_given and not wants_terminal:
        return None
    place = words.index("run") + 1
    others = [word for word in words[place:] if not re.fullmatch(r"-(it|ti|t|i)|--tty|--interactive", word)]
    advice = again(seen, "doctor", command=[*words[:place], "-i", *others])
    if wants_terminal:
        return Diagnosis("docker run -t wants a terminal.", (advice,))
    return Diagnosis("docker run without -i closes the server's stdin.", (advice,))


@cause
def other_arguments(seen: Seen) -> Diagnosis | None:
    """A usage, with status 2 or without another reason."""
    attempt = seen.main
    usage, errors = USAGE.search(_said(attempt)), _errors(attempt)
    if attempt.exit_code is None or usage is None or (errors and attempt.exit_code != 2):
        return None
    words = named(errors[-1] if errors else usage[0].strip(), 300)
    advice = "give them at the end of the command; with --help it may tell which"
    return Diagnosis(f"It wants other arguments: {words}", (advice,))


USAGE = re.compile(r"^\W*usage:.*", re.IGNORECASE | re.MULTILINE)


# The end -----------------------------------------------------------------------------------------


@cause
def goes_on_in_the_background(seen: Seen) -> Diagnosis | None:
    """A script that starts the server with ``&``, or a server that makes a daemon of itself."""
    attempt = seen.main
    if attempt.exit_code is None or attempt.is_closed:
        return None
    return Diagnosis(
        f"It {_how_it_ended(attempt)}, but something that it started goes on, and holds its stdout.",
        ("let the server be that process: in a script, exec it as the last command, without &",),
    )


@cause
def a_signal(seen: Seen) -> Diagnosis | None:
    """A crash in machine code, or something that killed it."""
    attempt = seen.main
    if attempt.exit_code is None or attempt.exit_code >= 0:
        return None
    number = -attempt.exit_code
    why = {
        9: " (somebody killed it: perhaps the system, for want of memory)",
        11: " (a segmentation fault)",
        6: " (it aborted)",
    }
    return Diagnosis(
        f"It {_how_it_ended(attempt)}{why.get(number, '')}{_quoting(attempt)}.", (_see(attempt),)
    )


def _quoting(attempt: Attempt) -> str:
    words = _last_words(attempt)
    return f": {words.rstrip('.')}" if words else ""


def _see(attempt: Attempt) -> str:
    """Where to look for more."""
    if attempt.stderr.strip():
        return "its own words on stderr, above, are all that is known"
    return "it says nothing of the reason: run it by hand, or in a debugger"


@cause
def ends_at_once(seen: Seen) -> Diagnosis | None:
    """Status 0, though nobody told it to end."""
    attempt = seen.main
    if attempt.exit_code != 0:
        return None
    code = {
        "python": "see that main() is called, if it is async by asyncio.run(main()), and goes on serving",
        "node": "see that the server is connected: await server.connect(new StdioServerTransport())",
        "go": "see that main waits for the server's Run to return",
        "rust": "see that main waits for the service: service.waiting().await",
    }
    return Diagnosis(
        f"It {_how_it_ended(attempt)}, as if all were done{_quoting(attempt)}.",
        (
            code.get(
                language(seen),
                "it has to go on reading stdin until that is closed; in a script, start it without &",
            ),
        ),
    )


@cause
def a_crash(seen: Seen) -> Diagnosis | None:
    """Any other end."""
    attempt = seen.main
    if attempt.exit_code is None:
        return None
    return Diagnosis(f"It {_how_it_ended(attempt)}{_quoting(attempt)}.", (_see(attempt),))


@cause
def closed_stdout(seen: Seen) -> Diagnosis | None:
    """Alive, but mute."""
    if not seen.main.is_closed:
        return None
    return Diagnosis(
        "It runs, but has closed its stdout, on which answers are awaited.",
        ("keep stdout open, and write only messages to it",),
    )


@cause
def listens_elsewhere(seen: Seen) -> Diagnosis | None:
    """A port, where stdio was expected."""
    ports = seen.first.ports
    if not ports:
        return None
    cause = f"It listens on port {ports[0]}: it seems to serve HTTP instead of stdio."
    return Diagnosis(cause, (STDIO_WANTED,), is_sure=False)


@cause
def talks_past_us(seen: Seen) -> Diagnosis | None:
    """Something on stdout, but no message."""
    attempt = seen.main
    if not (attempt.noise or attempt.unended):
        return None
    return Diagnosis(
        f"It prints to stdout what is no message, and does not answer: {_sample(attempt)}",
        (_quietly(seen), *SILENT),
        is_sure=False,
    )


@cause
def silent(seen: Seen) -> Diagnosis | None:
    """Nothing at all."""
    seconds = f"{seen.first.seconds:.0f} s"
    return Diagnosis(
        f"It runs, but does not answer initialize in {seconds}{_quoting(seen.main)}.", SILENT, is_sure=False
    )


SILENT = (
    "see that it serves stdio: many servers want an argument such as stdio or --transport stdio",
    "see that it reads stdin line by line, and flushes stdout after each message",
    "see that it waits for nothing else first: a network, a login, a lock",
    "if it only takes longer than that, give it more time: --start-timeout 120",
)
TELLING: tuple[Cause, ...] = (
    *(by_its_words, a_variable, docker_without_stdin, other_arguments),
    *(an_interpreter_alone, listens_elsewhere),
)
