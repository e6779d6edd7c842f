"""The values in a server's lists: resources, templates, prompts and tools, and in completions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from urllib.parse import unquote

from mcp_conformance.world.known import Known, Origin, Owner, is_worth_knowing
from mcp_conformance.world.ours import NOTHING, Ours
from mcp_conformance.world.records import varied
from mcp_conformance.world.words import words_of_text

MAX_URI = 300
"""The most characters of a URI whose variables are looked for."""
VARIABLE = re.compile(r"\{([+#]?)(\w[\w.]*)\*?\}")
"""An expression of a template with one variable that stands in a URI as it is."""


def values_of_resources(
    items: Iterable[Any], templates: Iterable[str] = (), *, ours: Ours = NOTHING
) -> Iterator[Known]:
    """Yield the URIs and names of listed resources, and the values of the variables of templates in them."""
    origin = Origin("the list of resources")
    patterns = list(templates)
    for item in varied([one for one in items if isinstance(one, Mapping)]):
        uri = item.get("uri")
        for key in ("uri", "name", "title"):
            if isinstance(item.get(key), str) and not ours.is_secret(item[key]):
                yield Known(
                    item[key], (key, "resource"), origin, ours.owner(item[key]), 3 if key == "uri" else 2
                )
        for template in patterns if isinstance(uri, str) else ():
            for name, value in variables_in(template, str(uri)).items():
                if is_worth_knowing(value) and not ours.is_secret(value, (name,)):
                    yield Known(value, (name,), origin, ours.owner(uri), 3)


def variables_in(template: str, uri: str) -> dict[str, str]:
    """Return the values with which a template expands to a URI; none if it does not, or is not so simple."""
    parts, names, at = [], [], 0
    for found in VARIABLE.finditer(template):
        parts += [re.escape(template[at : found.start()]), "(.+?)" if found[1] else "([^/?#]+?)"]
        names.append(found[2])
        at = found.end()
    rest = template[at:]
    if not names or len(uri) > MAX_URI or "{" in rest or "{" in "".join(parts).replace(r"\{", "{"):
        return {}
    match = re.fullmatch("".join(parts) + re.escape(rest), uri)
    return dict(zip(names, map(unquote, match.groups()), strict=True)) if match else {}


def values_of_completion(name: str, of: str, values: Any, *, ours: Ours = NOTHING) -> Iterator[Known]:
    """Yield the values that a server completes for a variable or an argument ``name``: they exist."""
    listed = [one for one in values if isinstance(one, str)] if isinstance(values, list) else []
    for value in varied(listed):
        if is_worth_knowing(value) and not ours.is_secret(value, (name,)):
            yield Known(value, (name,), Origin("a completion of", of), ours.owner(value), 3)


def words_of_prompts(items: Iterable[Any]) -> Iterator[Known]:
    """Yield the words in the descriptions of prompts' arguments, and the names of prompts."""
    for item in items:
        name = item.get("name") if isinstance(item, Mapping) else None
        if not isinstance(name, str):
            continue
        yield Known(name, ("prompt", "name"), Origin("the list of prompts"), Owner.WORD, 0)
        listed = item.get("arguments")
        for one in listed if isinstance(listed, list) else ():
            argument = one.get("name") if isinstance(one, Mapping) else None
            if isinstance(argument, str) and isinstance(one.get("description"), str):
                yield from words_of_text(one["description"], (argument,), f"{name}, {argument}")


def words_of_templates(items: Iterable[Any]) -> Iterator[Known]:
    """Yield the words in the descriptions of templates, for each of their variables."""
    for item in items:
        uri = item.get("uriTemplate") if isinstance(item, Mapping) else None
        if isinstance(uri, str) and isinstance(item.get("description"), str):
            for found in VARIABLE.finditer(uri):
                yield from words_of_text(item["description"], (found[2],), uri)


def names_of_tools(names: Iterable[str]) -> Iterator[Known]:
    """Yield the names of tools: some servers have a tool that explains another."""
    for name in names:
        yield Known(name, ("tool", "name"), Origin("the list of tools"), Owner.WORD, 0)
