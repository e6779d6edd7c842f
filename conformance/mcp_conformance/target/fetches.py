"""The prompts and resources of the server: each is fetched once, and all checks judge the same answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from mcp_conformance.client.refusals import NO_SUCH_NAME
from mcp_conformance.client.reply import Closed, Reply, Unread
from mcp_conformance.client.tool_call import Tool
from mcp_conformance.expect import exercised, skip
from mcp_conformance.generation import with_known
from mcp_conformance.protocol.uri import expand
from mcp_conformance.protocol.value import Value
from mcp_conformance.target.completions import Completions
from mcp_conformance.target.exercise import Exercise
from mcp_conformance.target.lists import Lists
from mcp_conformance.target.preparation import renamed_value
from mcp_conformance.target.reported import Reported
from mcp_conformance.target.sessions import CALLS, Sessions
from mcp_conformance.target.tool_calls import ToolCalls
from mcp_conformance.target.trail import traced
from mcp_conformance.verdicts import Blocked
from mcp_conformance.world.listed import values_of_resources, words_of_prompts, words_of_templates
from mcp_conformance.world.reading import Search, prompt_as_tool, template_as_tool
from mcp_conformance.world.world import World

MAX_SILENT_FETCHES = 2
"""The same for prompts and resources: with the default timeout two cost a minute, four two minutes."""
MAX_READS = 10
"""How many of the listed resources are read: what the checks of results judge; each costs one request."""
# Not measured: the prompts of one server are alike, and each may take eight requests.
MAX_SEARCHED = 10
"""How many prompts that refuse what is tried first get other arguments."""
NOT_FOUND = "resources.read.not-found-is-error"
MAX_VALUES = 3
"""How many of the values that a server completes for an argument are tried."""
MAX_COMPLETED = 30
"""How many arguments of prompts are completed: as many as the checks of completion complete."""


class Fetches:
    """The prompts and resources fetched in one revision; refusals are among the replies.

    Arguments of prompts are values that the server completes or that the ``world`` knows, else made up.
    ``exercise`` counts the fetches of prompts and of what templates expand to.
    """

    def __init__(
        self, sessions: Sessions, lists: Lists, tool_calls: ToolCalls, reported: Reported, world: World
    ):
        self.completions = Completions(sessions)
        self.exercise = Exercise(world.origins)
        self.world = world
        self._sessions, self._lists, self.trail = sessions, lists, sessions.trail
        self._tool_calls, self._reported = tool_calls, reported
        self._refused: list[Reply] = []
        self._counted: set[bytes] = set()
        self._expanded: dict[str, list[Reply]] = {}
        self._searched = self._completed = 0
        self._replies: dict[tuple[str, str], Reply] = {}
        self._silent = 0

    def prompts(self) -> list[Reply]:
        """Fetch each listed prompt; return the best reply to each, then the other refusals.

        One that has arguments is fetched until it gives a result, a few times at most.
        """
        if not self._sessions.surface.declares("prompts"):
            return []
        return [*exercised(self._prompt, self._lists.get("prompts/list").items), *self._refused]

    def prompt_schema(self, prompt: Value) -> Any:
        """Return the schema of a prompt's arguments, which are texts, with the values that are known of them.

        Nothing is known before the prompt was fetched.
        """
        tool = prompt_as_tool(prompt.json)
        return with_known(tool.input_schema, *self.world.known_of(tool, self._sessions.revision))

    def resources(self) -> list[Reply]:
        """Read the first listed resources once."""
        if not self._sessions.surface.declares("resources"):
            return []
        items = self._lists.get("resources/list").first(MAX_READS)
        return exercised(self._resource, items)

    def read(self, uri: str) -> Reply:
        """Read a resource once in a run, listed or not."""
        return self._fetch("resources/read", uri, {"uri": uri}, NOT_FOUND)

    def note_expansion(self, template: Value, reply: Reply, origin: str) -> None:
        """Count the read of a URI that a template expands to, with values from this origin; once in a run."""
        if reply.request.raw not in self._counted:
            self._counted.add(reply.request.raw)
            self.exercise.count_fetch(template_as_tool(template.json), reply, {}, (origin,))

    @traced
    def expansions(self, template: Value) -> list[Reply]:
        """Read expansions of a template with values that the world knows, until one can be read.

        Done once in a run.  Raises `Blocked` for the first check that meets a read without an answer.
        """
        uri = template.json["uriTemplate"]
        if uri not in self._expanded:
            self._expanded[uri] = self._found_expansions(template.json)
        for reply in self._expanded[uri]:
            self._require_answer("resources/read", uri, reply, NOT_FOUND)
        return self._expanded[uri]

    def wanting_input(self) -> list[Reply]:
        """Return the fetches so far of listed prompts and resources that failed or asked for something."""
        known = [one for one in self._replies.values() if NO_SUCH_NAME not in one.request.text]
        return [one for one in known if one.error is not None or one.needs_input]

    def _prompt(self, item: Value) -> Reply:
        name = item.get("name")
        if name is None or not name.is_a(str):
            skip("a prompt without a name")
        return self._once("prompts/get", name.json, lambda: self._found_prompt(item.json))

    def _found_prompt(self, prompt: Mapping[str, Any]) -> Reply:
        """Fetch a prompt with the likeliest arguments; if it refuses them, with others."""
        name = prompt["name"]
        search = self._search(
            prompt_as_tool(prompt), "prompts/get", lambda arguments: {"name": name, "arguments": arguments}
        )
        self.world.add(words_of_prompts([prompt]))
        self.world.recall([search.tool])
        search.begin(self._completed_for(search.tool, {"type": "ref/prompt", "name": name}))
        if search.may_go_on and self._searched < MAX_SEARCHED:
            self._searched += 1
            self._tool_calls.begin()
            search.go_on()
        self.world.keep(search.tool)
        best = search.answer
        self._refused += [reply for reply in search.replies if reply is not best]
        return best

    def _found_expansions(self, template: Mapping[str, Any]) -> list[Reply]:
        uri = template["uriTemplate"]
        search = self._search(
            template_as_tool(template), "resources/read", lambda arguments: {"uri": expand(uri, arguments)}
        )
        listed = [one.json for one in self._lists.get("resources/list").first(MAX_READS)]
        self.world.add(words_of_templates([template]))
        self.world.add(values_of_resources(listed, [uri], ours=self.world.ownership.ours))
        self._tool_calls.begin()
        self.world.recall([search.tool])
        search.begin({})
        if search.may_go_on:
            search.go_on()
        self.world.keep(search.tool)
        return search.replies

    def _search(
        self, tool: Tool, method: str, params: Callable[[dict[str, Any]], Mapping[str, Any]]
    ) -> Search:
        def fetch(arguments: dict[str, Any]) -> Reply:
            reply = self._fetched(method, params(arguments))
            self.exercise.count_fetch(tool, reply, arguments)
            return reply

        return Search(tool, self._sessions.revision, self.world, fetch)

    def _completed_for(self, tool: Tool, ref: Mapping[str, str]) -> dict[str, list[str]]:
        """Return the values that the server completes for a prompt, each in the context of those before."""
        found: dict[str, list[str]] = {}
        for name in tool.input_schema["properties"]:
            if self.completions.are_declared and self._completed < MAX_COMPLETED:
                self._completed += 1
                known = {one: values[0] for one, values in found.items() if values}
                found[name] = self.completions.values(ref, name, "", known)[:MAX_VALUES]
        return found

    def _resource(self, item: Value) -> Reply:
        uri = item.get("uri")
        if uri is None or not uri.is_a(str):
            skip("a resource without a URI")
        params = {"uri": uri.json}
        return self._fetch("resources/read", uri.json, params, "resources.read.listed-is-readable")

    def _fetch(self, method: str, key: str, params: Mapping[str, Any], requirement: str = "") -> Reply:
        return self._once(method, key, lambda: self._fetched(method, params), requirement)

    @traced
    def _once(self, method: str, key: str, fetch: Callable[[], Reply], requirement: str = "") -> Reply:
        """Fetch something once in a run; skip if it asks for something.  Raises `Blocked` without answer."""
        if (method, key) not in self._replies:
            self._replies[method, key] = fetch()
        reply = self._replies[method, key]
        self._require_answer(method, key, reply, requirement)
        if reply.needs_input:
            skip(f"{method} of {key} asks the client for something first")
        return reply

    def _require_answer(self, method: str, key: str, reply: Reply, requirement: str) -> None:
        if reply.fault is not None:
            reason = f"{method} of {key} was not answered: {reply.fault}"
            blocked = Blocked(reason, reply.lines, reply.fault.stderr, requirement)
            self._reported.raise_once(f"{method} {key}", blocked)

    def _fetched(self, method: str, params: Mapping[str, Any]) -> Reply:
        if self._silent >= MAX_SILENT_FETCHES:
            skip(f"{MAX_SILENT_FETCHES} prompts or resources did not come, so no more are fetched")
        if self._tool_calls.pending.keep_others_waiting:
            self._tool_calls.end_pending()
        session = self._sessions.shared(CALLS)
        reply = session.request(method, renamed_value(session, params))
        if reply.fault is not None and not isinstance(reply.fault, Closed | Unread):
            self._silent += 1
        return reply
