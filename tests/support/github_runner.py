"""A runner that plays the steps of a composite action, and GitHub's API of comments."""

import json
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from urllib.parse import parse_qs, urlsplit

from support.running import environment

PROJECT = Path(__file__).parents[2]
BASH = shutil.which("bash")
TOKEN = "ghs_a_token_that_nobody_may_see"
REAL_PYTHON = f'#!/bin/sh\nexec "{sys.executable}" "$@"\n'
FAKE_PYTHON = f"""#!/bin/sh
case "$2" in
  venv) mkdir -p "$3/bin" && cp "$0" "$3/bin/python" ;;
  pip) ;;
  *) exec "{sys.executable}" "$@" ;;
esac
"""
"""A Python whose environments need no installation: it makes itself the Python of each."""
TOKENS = re.compile(r"\s*(&&|==|!=|'[^']*'|[\w.-]+(?:\([\w.]*\))?|!cancelled\(\))")


# Expressions -------------------------------------------------------------------------------------


def evaluated(expression, contexts):
    """Return the value of an expression of terms that && joins; each is a value or a comparison of two."""
    tokens, end = [], 0
    while expression[end:].strip():
        match = TOKENS.match(expression, end)
        assert match, f"this runner does not know {expression[end:]!r}"
        tokens.append(match[1])
        end = match.end()
    terms = [[]]
    for token in tokens:
        terms.append([]) if token == "&&" else terms[-1].append(token)
    for term in terms:
        found = _term(term, contexts)
        if not found:
            return found
    return found


def _term(tokens, contexts):
    if len(tokens) == 1:
        return _value(tokens[0], contexts)
    left, sign, right = tokens
    return (_value(left, contexts) == _value(right, contexts)) is (sign == "==")


def _value(token, contexts):
    if token.startswith("'"):
        return token[1:-1]
    if token == "!cancelled()":
        return True
    if token == "toJSON(matrix)":
        return json.dumps(contexts["matrix"])
    found = contexts
    for name in token.split("."):
        assert isinstance(found, dict), token
        found = found.get(name, "")
    return found


def replaced(text, contexts):
    """Return a text with the values of its expressions."""
    return re.sub(r"\$\{\{(.*?)\}\}", lambda match: str(evaluated(match[1], contexts)), str(text))


# The runner --------------------------------------------------------------------------------------


def outputs(text):
    """Return the outputs that a runner reads from this text."""
    found, lines = {}, iter(text.splitlines())
    for line in lines:
        name, is_block, mark = line.partition("<<")
        if is_block:
            found[name] = "\n".join(iter(lines.__next__, mark))
        else:
            name, _, found_value = line.partition("=")
            found[name] = found_value
    return found


def bash(script, folder, **variables):
    """Run the text of a step."""
    assert BASH is not None
    return subprocess.run(
        [BASH, "--noprofile", "--norc", "-eo", "pipefail", "-c", script],
        cwd=folder,
        env=environment(**variables),
        capture_output=True,
        text=True,
        timeout=600,  # a step that installs takes minutes on a busy machine
        check=False,
    )


@dataclass
class Job:
    """What became of a job: whether it failed, its log and summary, and the actions that it used."""

    has_failed: bool = False
    log: str = ""
    summary: str = ""
    used: dict = field(default_factory=dict)
    outputs: dict = field(default_factory=dict)


class Runner:
    """Plays an action in a repository's folder, whose cache it keeps from job to job.

    The text of ``python`` is the program that makes environments.
    """

    def __init__(self, action, repository, place, python=FAKE_PYTHON):
        self.action, self.repository, self.place = action, repository, place
        self.cache, self.jobs = {}, 0
        place.mkdir()
        self.python = place / "python"
        self.python.write_text(python)
        self.python.chmod(0o755)

    def play(self, api, pull_request=None, base="", **inputs):
        """Run the action in a job of a pull request onto ``base``, or of a push."""
        self.jobs += 1
        temporary = self.place / "temp"
        shutil.rmtree(temporary, ignore_errors=True)
        temporary.mkdir()
        event = {"pull_request": {"number": pull_request}} if pull_request else {"ref": "refs/heads/main"}
        (temporary / "event.json").write_text(json.dumps(event))
        given = {name: about["default"] for name, about in self.action["inputs"].items()} | inputs
        contexts = {
            "inputs": {name: replaced(text, {}) for name, text in given.items()},
            "runner": {"temp": str(temporary)},
            "matrix": None,
            "steps": {},
            "github": {
                "base_ref": base,
                "token": TOKEN,
                "action_path": str(PROJECT),
                "run_id": str(self.jobs),
                "run_attempt": "1",
            },
        }
        variables = {
            "GITHUB_API_URL": api,
            "GITHUB_REPOSITORY": "owner/name",
            "GITHUB_RUN_ID": str(self.jobs),
            "GITHUB_SERVER_URL": "https://github.com",
            "GITHUB_JOB": "mcp",
            "GITHUB_ACTIONS": "true",
            "GITHUB_WORKFLOW_REF": f"owner/name/.github/workflows/ci.yml@refs/{pull_request}",
            "GITHUB_REF_NAME": f"{pull_request}/merge" if pull_request else "main",
            "GITHUB_EVENT_PATH": str(temporary / "event.json"),
            "GITHUB_BASE_REF": base,
            "no_proxy": "*",
        }
        return self._played(contexts, variables)

    def _played(self, contexts, variables):
        job = Job()
        for step in self.action["runs"]["steps"]:
            condition = step.get("if", "").removeprefix("${{").removesuffix("}}")
            is_wanted = evaluated(condition, contexts) if condition else True
            if not is_wanted or (job.has_failed and "cancelled()" not in condition):
                continue
            play = self._used if "uses" in step else self._run
            contexts["steps"][step["id"]] = {"outputs": play(step, contexts, variables, job)}
        for name, about in self.action["outputs"].items():
            job.outputs[name] = replaced(about["value"], contexts)
        return job

    def _used(self, step, contexts, _, job):
        name, given = step["uses"], {key: replaced(text, contexts) for key, text in step["with"].items()}
        job.used[name] = given
        if name.startswith("actions/setup-python@"):
            return {"python-path": str(self.python)}
        if name.startswith("actions/cache/save@"):
            self.cache[given["key"]] = Path(given["path"]).read_text("utf-8")
        if name.startswith("actions/cache/restore@"):
            keys = [key for key in self.cache if key.startswith(given["restore-keys"])]
            if keys:
                Path(given["path"]).parent.mkdir(parents=True, exist_ok=True)
                Path(given["path"]).write_text(self.cache[keys[-1]], "utf-8")
        return {}

    def _run(self, step, contexts, variables, job):
        files = {name: Path(contexts["runner"]["temp"], name) for name in ("outputs", "summary")}
        for file in files.values():
            file.write_text("")
        given = {name: replaced(text, contexts) for name, text in step.get("env", {}).items()}
        given |= {"GITHUB_OUTPUT": str(files["outputs"]), "GITHUB_STEP_SUMMARY": str(files["summary"])}
        folder = self.repository / replaced(step.get("working-directory", "."), contexts)
        done = bash(step["run"], folder, **variables, **given)
        job.log += done.stdout + done.stderr
        job.summary += files["summary"].read_text("utf-8")
        job.has_failed |= done.returncode != 0 and not step.get("continue-on-error")
        return outputs(files["outputs"].read_text("utf-8"))


# The API -----------------------------------------------------------------------------------------


class CommentsApi(ThreadingHTTPServer):
    """The comments of one pull request; with ``forbidden`` nobody may write any."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), _Handler)
        self.comments, self.forbidden, self.requests = [], False, []
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.thread = Thread(target=self.serve_forever, args=(0.01,))
        self.thread.start()

    def write(self, body, login="somebody"):
        number = len(self.comments) + 1
        url = f"https://github.com/owner/name/pull/7#issuecomment-{number}"
        self.comments.append({"id": number, "body": body, "user": {"login": login}, "html_url": url})
        return self.comments[-1]

    def close(self):
        self.shutdown()
        self.thread.join()
        self.server_close()


class _Handler(BaseHTTPRequestHandler):
    server: CommentsApi

    def do_GET(self):
        url = urlsplit(self.path)
        asked = {name: int(values[0]) for name, values in parse_qs(url.query).items()}
        assert url.path == "/repos/owner/name/issues/7/comments"
        first = (asked["page"] - 1) * asked["per_page"]
        self._answer(200, self.server.comments[first : first + asked["per_page"]])

    def do_POST(self):
        assert self.path == "/repos/owner/name/issues/7/comments"
        self._write(lambda body: self.server.write(body, "github-actions[bot]"), 201)

    def do_PATCH(self):
        folder, _, number = self.path.rpartition("/")
        assert folder == "/repos/owner/name/issues/comments"
        comment = self.server.comments[int(number) - 1]
        self._write(lambda body: comment | (comment.update(body=body) or {}), 200)

    def _write(self, change, status):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["body"]
        self._answer(*((403, {"message": "no"}) if self.server.forbidden else (status, change(body))))

    def _answer(self, status, content):
        self.server.requests.append((self.command, status, self.headers["Authorization"]))
        data = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        """Write nothing."""
