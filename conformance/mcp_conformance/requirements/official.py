"""The checks of the official conformance suite for servers, and the rules here that judge the same.

They are those of `VERSION` of @modelcontextprotocol/conformance.  Its ids stand beside ours in reports.
Nearly all of its checks need tools, prompts or resources of a server that was written for them; the rules
judge what any server has.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import NamedTuple

VERSION = "0.2.0-alpha.12"
WIRE = "wire-schema-valid"
"""The id of the check that nearly every scenario ends with."""
_SHAPES = (
    *("jsonrpc.version-member", "jsonrpc.message-shape", "jsonrpc.result-xor-error", "jsonrpc.result-object"),
    *("jsonrpc.error-object", "jsonrpc.error-code-integer", "tools.list.result-shape"),
    *("tools.call.result-content-array", "prompts.list.result-shape", "prompts.get.result-shape"),
    *("resources.list.result-shape", "resources.templates.result-shape", "resources.read.result-shape"),
    *("completion.result-shape", "result.result-type-present"),
)
_ELICITS, _ASKS = ("clientfeature.elicitation.schema",), ("mrtr.at-least-one", "mrtr.request-kinds")
_RETRIES = ("mrtr.retry-self-contained",)
_GETS = ("prompts.get.listed-is-gettable", "prompts.get.result-shape")
_MRTR, _NOT_FOUND = "input-required-result", "sep-2575-http-server-method-not-found-404"
_SCHEMA = "compares a listed schema with the one that its server was written with"
_ADVERTISED = "a server without the extension breaks no rule, and the rules of tasks apply to the others"
_DECIDES = "the server decides which calls become tasks, so neither answer breaks a rule"
_PERMITTED = "the text permits a server to take some of the responses, and demands nothing then"
_STATELESS = "warns about a server without session ids, which are optional"
_SERVED = "says that a request is served, as all of a run are"
_ENVELOPE = "the text shows settings without an envelope, and forbids no further members"
_RESERVED = "the text reserves such keys and defines none, and does not say that a server may not have them"

Rules = tuple[str, ...]
"""The ids of rules here."""
Checks = Mapping[str, Mapping[str, Rules | str]]
"""The checks of scenarios by their ids: the rules that judge the same, or why there is none."""


class Scenario(NamedTuple):
    """The ``checks`` of a scenario, and the revisions in which it runs; ``until`` is "" if it still does."""

    checks: Mapping[str, Rules | str]
    since: str
    until: str = ""


_SESSIONS: Checks = {
    "server-session-lifecycle": {
        "server-session-initialized-accepted": ("http.post.notification-202",),
        "server-session-delete-accepted": ("http.session.delete-status",),
        "server-session-terminated-returns-404": ("http.session.unknown-404",),
    },
}
_HANDSHAKE: Checks = {
    "server-initialize": {
        "server-initialize": ("lifecycle.initialize.responds",),
        "server-session-id-visible-ascii": ("http.session.id-visible-ascii",),
    },
    "ping": {"ping": ("ping.responds", "ping.empty-result")},
    "logging-set-level": {"logging-set-level": ("logging.set-level.accepted",)},
    "tools-call-with-logging": {
        "tools-call-with-logging": ("logging.message.level", "logging.message.data-present"),
    },
    "tools-call-sampling": {"tools-call-sampling": ("clientfeature.sampling.schema",)},
    "tools-call-elicitation": {"tools-call-elicitation": _ELICITS},
    "resources-subscribe": {"resources-subscribe": ("resources.subscribe.accepted",)},
    "resources-unsubscribe": {"resources-unsubscribe": ("resources.unsubscribe.accepted",)},
}
_EVER: Checks = {
    "completion-complete": {"completion-complete": ("completion.result-shape",)},
    "tools-list": {
        "tools-list": ("tools.list.result-shape", "tools.def.name-string", "tools.def.input-schema-present"),
        "tools-name-format": ("tools.def.name-length", "tools.def.name-charset"),
        "tools-list-deterministic-order": ("tools.list.deterministic-order",),
    },
    "tools-call-simple-text": {
        "tools-call-simple-text": ("tools.call.result-content-array", "content.text.text-string"),
    },
    "tools-call-image": {"tools-call-image": ("content.image.fields", "content.image.base64")},
    "tools-call-audio": {"tools-call-audio": ("content.audio.fields", "content.audio.base64")},
    "tools-call-embedded-resource": {
        "tools-call-embedded-resource": ("content.embedded.fields", "content.embedded.text-or-blob"),
    },
    "tools-call-mixed-content": {"tools-call-mixed-content": ("tools.call.content-known-type",)},
    "tools-call-error": {"tools-call-error": ("tools.call.execution-error-as-result",)},
    "tools-call-with-progress": {
        "tools-call-with-progress": ("progress.token-known", "progress.increasing"),
    },
    "prompts-list": {"prompts-list": ("prompts.list.result-shape", "prompts.def.name-string")},
    "prompts-get-simple": {
        "prompts-get-simple": (*_GETS, "prompts.get.message-role", "prompts.get.message-content-single"),
    },
    "prompts-get-with-args": {"prompts-get-with-args": (*_GETS, "prompts.get.arguments-substituted")},
    "prompts-get-embedded-resource": {"prompts-get-embedded-resource": ("content.embedded.fields",)},
    "prompts-get-with-image": {"prompts-get-with-image": ("content.image.fields",)},
    "resources-list": {"resources-list": ("resources.list.result-shape",)},
    "resources-read-text": {
        "resources-read-text": ("resources.read.listed-is-readable", "resources.read.result-shape"),
    },
    "resources-read-binary": {
        "resources-read-binary": ("resources.read.result-shape", "content.resource.blob-base64"),
    },
    "resources-templates-read": {"resources-templates-read": ("resources.templates.expansion-readable",)},
}
_NEWEST_HANDSHAKE: Checks = {
    "server-sse-polling": {
        "server-sse-polling-session": _STATELESS,
        "server-sse-priming-event": ("http.sse.priming-event",),
        "server-sse-retry-field": ("http.sse.retry-before-close",),
        "server-sse-disconnect-resume": ("http.resume.replays",),
    },
    "elicitation-sep1034-defaults": {
        "elicitation-sep1034-string-default": _ELICITS,
        "elicitation-sep1034-integer-default": _ELICITS,
        "elicitation-sep1034-number-default": _ELICITS,
        "elicitation-sep1034-enum-default": _ELICITS,
        "elicitation-sep1034-boolean-default": _ELICITS,
    },
    "elicitation-sep1330-enums": {
        "elicitation-sep1330-untitled-single": _ELICITS,
        "elicitation-sep1330-titled-single": _ELICITS,
        "elicitation-sep1330-legacy-enumnames": _ELICITS,
        "elicitation-sep1330-untitled-multi": _ELICITS,
        "elicitation-sep1330-titled-multi": _ELICITS,
    },
}
_SINCE_ICONS: Checks = {
    "server-sse-multiple-streams": {
        "server-sse-multiple-streams-session": _STATELESS,
        "server-accepts-multiple-post-streams": ("jsonrpc.response-every-request",),
        "server-sse-streams-functional": ("http.sse.response-comes",),
    },
    "dns-rebinding-protection": {
        "localhost-host-rebinding-rejected": ("http.security.host",),
        "localhost-host-valid-accepted": _SERVED,
    },
    "json-schema-2020-12": {
        "json-schema-2020-12-tool-found": _SCHEMA,
        "json-schema-2020-12-$schema": _SCHEMA,
        "json-schema-2020-12-$defs": _SCHEMA,
        "json-schema-2020-12-additionalProperties": _SCHEMA,
        "sep-2106-anchor-keyword-preserved": _SCHEMA,
        "sep-2106-composition-keywords-preserved": _SCHEMA,
        "sep-2106-conditional-keywords-preserved": _SCHEMA,
    },
}
_MODERN: Checks = {
    "server-stateless": {
        "sep-2575-request-meta-invalid-missing-meta": ("reqmeta.missing-meta",),
        "sep-2575-request-meta-invalid-missing-protocol-version": ("reqmeta.missing-protocol-version",),
        "sep-2575-request-meta-invalid-missing-client-capabilities": ("reqmeta.missing-client-capabilities",),
        "sep-2575-request-meta-client-info-optional": ("reqmeta.client-info-optional",),
        "sep-2575-http-server-meta-invalid-400": ("http.status.missing-meta",),
        "sep-2575-server-implements-discover": (
            *("discover.implemented", "discover.supported-versions", "discover.capabilities"),
        ),
        "sep-2575-server-identifies-in-result-meta": ("result.server-info", "discover.server-info"),
        "sep-2575-server-declares-prompts-in-discover": ("capabilities.prompts.declared",),
        "sep-2575-discover-capabilities-match-handlers": ("discover.capabilities-true",),
        "sep-2575-server-unsupported-version-error": (
            *("version.unsupported-error", "version.unsupported-supported-list"),
            *("version.unsupported-requested", "version.list-consistent"),
        ),
        "sep-2575-http-server-unsupported-version-400": ("http.version.unsupported-modern",),
        "sep-2575-http-server-header-mismatch-400": ("http.version.matches-meta",),
        "sep-2575-server-rejects-undeclared-capability": ("reqmeta.missing-capability-error",),
        "sep-2575-missing-capability-http-400": ("http.status.missing-capability",),
        _NOT_FOUND: ("http.status.unknown-method",),
        f"{_NOT_FOUND}-initialize": ("removed.initialize", "http.status.removed-method"),
        f"{_NOT_FOUND}-ping": ("removed.ping", "http.status.removed-method"),
        f"{_NOT_FOUND}-logging-setlevel": ("removed.logging-set-level", "http.status.removed-method"),
        f"{_NOT_FOUND}-resources-subscribe": ("removed.resource-subscribe", "http.status.removed-method"),
        f"{_NOT_FOUND}-resources-unsubscribe": ("removed.resource-subscribe", "http.status.removed-method"),
        "sep-2575-http-server-no-independent-requests-on-stream": ("http.sse.no-requests-modern",),
        "sep-2575-server-no-log-without-loglevel": ("reqmeta.log-opt-in", "logging.opt-in"),
        "sep-2575-server-sends-subscription-ack": ("subscriptions.ack-sent", "subscriptions.ack-first"),
        "sep-2575-server-tags-subscription-id": ("subscriptions.id-tag",),
        "sep-2575-server-honors-notification-filter": ("subscriptions.filter-honoured",),
        "sep-2575-server-sends-prompts-list-changed-on-subscription": (
            *("subscriptions.list-changed-sent", "prompts.list-changed.sent"),
        ),
        "sep-2575-server-sends-tools-list-changed-on-subscription": (
            *("subscriptions.list-changed-sent", "tools.list-changed.sent"),
        ),
        "sep-2575-http-server-error-jsonrpc-id": ("http.headers.error-id", "jsonrpc.response-id-echo"),
    },
    "http-header-validation": {
        "sep-2243-server-reject-invalid-headers": (
            *("http.headers.method-missing", "http.headers.method-mismatch", "http.headers.method-case"),
            *("http.headers.name-missing", "http.headers.name-mismatch"),
        ),
        "sep-2243-server-reject-error-code": (
            *("http.headers.method-missing", "http.headers.method-mismatch"),
            *("http.headers.name-missing", "http.headers.name-mismatch"),
        ),
        "sep-2243-header-name-case-insensitive": ("http.headers.names-case-insensitive",),
        "sep-2243-server-accepts-whitespace-header-value": ("http.headers.white-space",),
    },
    "http-custom-header-server-validation": {
        "sep-2243-server-decode-base64": ("http.param.base64",),
        "sep-2243-server-validate-param-match": ("http.param.mismatch", "http.param.missing"),
        "sep-2243-server-reject-param-mismatch": ("http.param.mismatch", "http.param.missing"),
        "sep-2243-server-reject-invalid-param-chars": ("http.param.invalid-characters",),
    },
    "caching": {
        "sep-2549-tools-list-caching-hints": ("caching.hints.tools-list",),
        "sep-2549-prompts-list-caching-hints": ("caching.hints.prompts-list",),
        "sep-2549-resources-list-caching-hints": ("caching.hints.resources-list",),
        "sep-2549-resources-templates-list-caching-hints": ("caching.hints.resources-templates-list",),
        "sep-2549-resources-read-caching-hints": ("caching.hints.resources-read",),
        "sep-2549-ttl-non-negative": ("caching.ttl-non-negative", "caching.ttl-integer"),
        "sep-2549-cache-scope-valid": ("caching.scope-enum",),
    },
    "sep-2164-resource-not-found": {
        "sep-2164-no-empty-contents": (
            *("resources.read.not-found-not-empty", "resources.read.not-found-is-error"),
        ),
        "sep-2164-error-code": ("resources.read.not-found-code",),
        "sep-2164-data-uri": ("resources.read.not-found-data-uri",),
    },
    f"{_MRTR}-basic-elicitation": {
        "sep-2322-elicitation-incomplete": _ASKS,
        "sep-2322-elicitation-complete": _RETRIES,
    },
    f"{_MRTR}-basic-sampling": {
        "sep-2322-sampling-incomplete": _ASKS,
        "sep-2322-sampling-complete": _RETRIES,
    },
    f"{_MRTR}-basic-list-roots": {
        "sep-2322-list-roots-incomplete": _ASKS,
        "sep-2322-list-roots-complete": _RETRIES,
    },
    f"{_MRTR}-request-state": {
        "sep-2322-request-state-incomplete": ("mrtr.state-is-string",),
        "sep-2322-request-state-complete": _RETRIES,
    },
    f"{_MRTR}-multiple-input-requests": {
        "sep-2322-multiple-inputs-incomplete": ("mrtr.keys-unique",),
        "sep-2322-multiple-inputs-complete": _RETRIES,
    },
    f"{_MRTR}-multi-round": {
        "sep-2322-multi-round-r1": _ASKS,
        "sep-2322-multi-round-r2": _RETRIES,
        "sep-2322-multi-round-r3": _RETRIES,
    },
    f"{_MRTR}-missing-input-response": {
        "sep-2322-missing-response-rerequests": ("mrtr.reask-missing",),
    },
    f"{_MRTR}-non-tool-request": {
        "sep-2322-non-tool-incomplete": _ASKS,
        "sep-2322-non-tool-complete": _RETRIES,
    },
    f"{_MRTR}-result-type": {
        "sep-2322-result-type-included": ("mrtr.result-type", "result.result-type-present"),
    },
    f"{_MRTR}-unsupported-methods": {
        "sep-2322-not-on-unsupported-requests": ("mrtr.allowed-methods",),
    },
    f"{_MRTR}-tampered-state": {"sep-2322-reject-tampered-state": ("mrtr.tampered-state",)},
    f"{_MRTR}-capability-check": {
        "sep-2322-respect-client-capabilities": ("mrtr.respect-capabilities",),
    },
    f"{_MRTR}-ignore-extra-params": {"sep-2322-ignore-unexpected-params": ("mrtr.extra-ignored",)},
    f"{_MRTR}-validate-input": {
        "sep-2322-validate-input-responses": ("mrtr.validates-responses",),
        "sep-2322-error-on-protocol-error": ("mrtr.protocol-error-code",),
    },
}
_TASKS: Checks = {
    "tasks-lifecycle": {
        "tasks-sync-tool-call": ("xtasks.result-type-only-there",),
        "sep-2663-result-type-task-on-create": (
            "xtasks.result-type-task",
            "xtasks.task-members",
            "xtasks.older-members",
        ),
        "sep-2663-tasks-get-status-working": ("xtasks.get-status",),
        "sep-2663-tasks-get-status-completed": ("xtasks.get-result",),
        "sep-2663-tool-error-uses-completed-status": ("xtasks.iserror-completes",),
        "sep-2663-tasks-get-status-failed": ("xtasks.get-error",),
        "sep-2663-cancel-ack-empty-result": ("xtasks.cancel-ack", "xtasks.cancel-result-type"),
        "tasks-cancel-terminal-idempotent-ack": ("xtasks.cancel-ended",),
    },
    "tasks-capability-negotiation": {
        "tasks-extension-advertised": _ADVERTISED,
        "sep-2663-tasks-methods-non-declaring": ("xtasks.methods-undeclared",),
        "sep-2663-server-rejects-undeclared-client": ("xtasks.undeclared-no-task",),
        "tasks-per-request-meta-opt-in": _DECIDES,
    },
    "tasks-wire-fields": {
        "tasks-wire-field-renames": ("xtasks.task-members", "xtasks.older-members"),
        "tasks-no-early-ttl-expiry": ("xtasks.kept-until-ttl",),
        "tasks-no-related-task-meta-on-inlined-result": ("xtasks.older-members",),
    },
    "tasks-request-state-removal": {
        "tasks-create-result-no-request-state": ("xtasks.older-members", "xtasks.mrtr-first"),
        "tasks-get-detailed-no-request-state": ("xtasks.older-members",),
    },
    "tasks-mrtr-input": {
        "sep-2663-tasks-get-status-input-required": ("xtasks.get-input-requests",),
        "tasks-mrtr-tasks-update-resumes": (
            "xtasks.update-ack",
            "xtasks.update-result-type",
            "xtasks.update-effective",
        ),
        "tasks-mrtr-partial-fulfillment": _PERMITTED,
    },
    "tasks-request-headers": {
        "tasks-headers-tolerate-mcp-method-on-tools-call": ("http.headers.method-mismatch",),
        "sep-2663-routing-headers-accepted-on-tasks-get": ("xtasks.name-header",),
        "tasks-headers-reject-mismatched-method": ("http.headers.method-mismatch",),
        "sep-2663-server-rejects-mismatched-mcp-name-on-tasks-get": ("xtasks.name-header-mismatch",),
    },
    "tasks-dispatch-and-envelope": {
        "sep-2663-tasks-result-removed-method-not-found": ("removed.core-tasks",),
        "tasks-removed-tasks-list": ("removed.core-tasks",),
        "tasks-server-directed-creation-no-hint": _DECIDES,
        "sep-2663-legacy-task-param-ignored": ("xtasks.task-param-ignored", "removed.core-tasks"),
        "tasks-immediate-result-shortcut": _DECIDES,
        "tasks-result-type-complete-on-non-task-responses": (
            "xtasks.get-result-type",
            "xtasks.update-result-type",
            "xtasks.cancel-result-type",
        ),
        "sep-2663-durable-create-strong-consistency": ("xtasks.durable",),
        "sep-2663-tasks-get-invalid-task-id-32602": ("xtasks.get-unknown-id",),
    },
    "tasks-status-notifications": {
        "tasks-status-notifications": ("xtasks.notification-task", "xtasks.notification-agreed")
    },
    "tasks-required-task-error": {
        "sep-2663-server-returns-missing-capability-when-required": ("xtasks.needs-extension",),
        "sep-2663-server-returns-missing-capability-data-shape": ("xtasks.names-extension",),
    },
    "tasks-mrtr-composition": {"sep-2663-mrtr-synchronous-before-task-creation": ("xtasks.mrtr-first",)},
}
_SKILLS: Checks = {
    "sep-2640-skills-enumeration": {
        "sep-2640-capability-declaration-inline": _ENVELOPE,
        "sep-2640-capability-requires-resources": ("skills.declares-resources",),
        "sep-2640-capability-commits-to-methods": ("skills.list-implemented", "skills.get-implemented"),
        "sep-2640-capability-empty-object": ("extensions.settings-object",),
        "sep-2640-skills-list-implemented": ("skills.list-implemented", "skills.list-shape"),
        "sep-2640-skills-list-pagination": ("skills.pages-end",),
        "sep-2640-skills-list-entry-atomic": ("skills.entry-atomic",),
        "sep-2640-skills-list-cache-attributes": ("skills.list-hints",),
        "sep-2640-entry-uri-required": ("skills.entry-uri",),
        "sep-2640-entry-frontmatter-required": ("skills.name-and-description",),
        "sep-2640-entry-uri-matches-frontmatter-name": ("skills.path-name",),
        "sep-2640-skill-uri-scheme": ("skills.uri-form",),
        "sep-2640-entry-resources-required": ("skills.resources-form",),
        "sep-2640-resources-complete": ("skills.lists-main", "skills.files-once"),
        "sep-2640-resources-uri-within-skill": ("skills.files-inside",),
        "sep-2640-resources-digest-format": ("skills.digest-format",),
        "sep-2640-resources-size-required": ("skills.size",),
        "sep-2640-limit-resources-per-skill": ("skills.files-limit",),
        "sep-2640-limit-total-size": ("skills.bytes-limit",),
        "sep-2640-metadata-reserved-prefix": _RESERVED,
        "sep-2640-name-naming-rules": ("skills.name-rules",),
        "sep-2640-authority-reg-name": ("skills.authority",),
        "sep-2640-names-should-be-unique": ("skills.names-unique",),
        "sep-2640-skills-get-implemented": ("skills.get-implemented",),
        "sep-2640-skills-get-entry-shape": ("skills.get-shape",),
        "sep-2640-skills-get-cache-attributes": ("skills.get-hints",),
        "sep-2640-skills-get-no-cursor": ("skills.get-no-cursor",),
        "sep-2640-skills-get-unknown-uri-invalid-params": ("skills.get-unknown",),
        "sep-2640-skillmd-required": ("skills.main-readable",),
        "sep-2640-skillmd-frontmatter": ("skills.main-frontmatter",),
        "sep-2640-entry-frontmatter-identical": ("skills.frontmatter-equal",),
    },
    "sep-2640-skills-manifest": {
        "sep-2640-skillmd-mimetype": ("skills.mime-type",),
        "sep-2640-skillmd-metadata-name": ("skills.resource-name",),
        "sep-2640-skillmd-metadata-description": ("skills.resource-description",),
        "sep-2640-final-segment-equals-name": ("skills.path-name",),
        "sep-2640-meta-prefix": ("skills.meta-prefix",),
    },
    "sep-2640-skills-directory": {
        "sep-2640-capability-directory-read-flag": ("skills.settings-boolean",),
        "sep-2640-directory-read-method-registered": ("skills.directory-implemented",),
        "sep-2640-directory-read-result-resources-shape": (
            "skills.directory-shape",
            "skills.directory-children",
        ),
        "sep-2640-directory-read-subdir-mimetype": ("skills.directory-types",),
        "sep-2640-directory-read-invalid-params": ("skills.directory-of-file",),
        "sep-2640-directory-read-pagination": ("skills.directory-children",),
    },
}


def _scenarios(checks: Checks, since: str, until: str = "") -> dict[str, Scenario]:
    return {name: Scenario(of_one, since, until) for name, of_one in checks.items()}


SCENARIOS: Mapping[str, Scenario] = MappingProxyType(
    {
        **_scenarios({WIRE: {WIRE: _SHAPES}}, "2025-03-26"),
        **_scenarios(_SESSIONS, "2025-03-26", "2025-11-25"),
        **_scenarios(_HANDSHAKE, "2025-06-18", "2025-11-25"),
        **_scenarios(_EVER, "2025-06-18"),
        **_scenarios(_NEWEST_HANDSHAKE, "2025-11-25", "2025-11-25"),
        **_scenarios(_SINCE_ICONS, "2025-11-25"),
        **_scenarios({**_MODERN, **_TASKS, **_SKILLS}, "2026-07-28"),
    }
)
"""The scenarios by their names, the older first.

`WIRE` stands for itself, as it ends nearly every scenario.  Ids that only say that a scenario could not
begin, such as ``server-sse-polling-error``, are in no report of ours.
"""


@cache
def official_checks() -> Mapping[str, Rules | str]:
    """Return the rules of each official check, or why there is none, by its id."""
    return {id: rules for one in SCENARIOS.values() for id, rules in one.checks.items()}


def rules_of(name: str) -> Rules:
    """Return the rules that judge the same as an official check, or as the checks of a scenario."""
    of_scenario = SCENARIOS[name].checks.values() if name in SCENARIOS else ()
    judged = [*of_scenario, official_checks().get(name, ())]
    return tuple(dict.fromkeys(rule for rules in judged if isinstance(rules, tuple) for rule in rules))


@cache
def official_ids(requirement: str, revision: str = "") -> list[str]:
    """Return the ids of the official checks that judge the same as a rule, in a revision if one is given."""
    return [
        id
        for one in SCENARIOS.values()
        if not revision or one.since <= revision <= (one.until or revision)
        for id, rules in one.checks.items()
        if isinstance(rules, tuple) and requirement in rules
    ]
