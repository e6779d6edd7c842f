"""The scenarios of the official conformance suite for servers, and the rules here that judge the same.

They are those of modelcontextprotocol/conformance of 2026-08-07 (0.2.0-alpha.11).  Nearly all of them need
tools, prompts or resources of a server that was written for them; the rules judge what any server has.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

MRTR = "input-required-result"
SCENARIOS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "server-initialize": ("lifecycle.initialize.responds", "http.session.id-visible-ascii"),
        "server-session-lifecycle": (
            *("http.post.notification-202", "http.session.delete-status", "http.session.unknown-404"),
        ),
        "server-stateless": (
            *("discover.implemented", "discover.supported-versions", "discover.capabilities"),
            *("discover.capabilities-true", "capabilities.prompts.declared", "result.server-info"),
            *("reqmeta.missing-meta", "reqmeta.missing-protocol-version"),
            *("reqmeta.missing-client-capabilities", "reqmeta.client-info-optional"),
            *("reqmeta.missing-capability-error", "reqmeta.log-opt-in", "logging.opt-in"),
            *(
                "removed.initialize",
                "removed.ping",
                "removed.logging-set-level",
                "removed.resource-subscribe",
            ),
            *("version.unsupported-error", "version.unsupported-supported-list"),
            *("version.unsupported-requested", "version.list-consistent"),
            *("http.status.unknown-method", "http.status.removed-method", "http.status.missing-meta"),
            *("http.status.missing-capability", "http.headers.error-id", "http.version.matches-meta"),
            *("http.version.unsupported-modern", "http.sse.no-requests-modern", "subscriptions.ack-sent"),
            *("subscriptions.id-tag", "subscriptions.filter-honoured", "subscriptions.list-changed-sent"),
        ),
        "server-sse-multiple-streams": ("http.sse.response-comes", "http.post.same-id"),
        "server-sse-polling": (
            "http.sse.priming-event",
            "http.sse.retry-before-close",
            "http.resume.replays",
        ),
        "dns-rebinding-protection": ("http.security.host", "http.security.origin-checked"),
        "http-header-validation": (
            *("http.headers.method-missing", "http.headers.method-mismatch", "http.headers.method-case"),
            *("http.headers.name-missing", "http.headers.name-mismatch"),
            *("http.headers.names-case-insensitive", "http.headers.white-space"),
        ),
        "http-custom-header-server-validation": (
            *("http.param.missing", "http.param.mismatch", "http.param.base64"),
            "http.param.invalid-characters",
        ),
        "ping": ("ping.responds", "ping.empty-result"),
        "logging-set-level": ("logging.set-level.accepted",),
        "completion-complete": ("completion.result-shape",),
        "caching": (
            *("caching.hints.tools-list", "caching.hints.prompts-list", "caching.hints.resources-list"),
            *("caching.hints.resources-templates-list", "caching.hints.resources-read"),
            *("caching.scope-enum", "caching.ttl-integer", "caching.ttl-non-negative"),
        ),
        "tools-list": (
            *("tools.list.result-shape", "tools.def.name-string", "tools.def.name-length"),
            *("tools.def.name-charset", "tools.def.input-schema-present"),
        ),
        "tools-call-simple-text": ("tools.call.result-content-array", "content.text.text-string"),
        "tools-call-image": ("content.image.fields", "content.image.base64"),
        "tools-call-audio": ("content.audio.fields", "content.audio.base64"),
        "tools-call-embedded-resource": ("content.embedded.fields", "content.embedded.text-or-blob"),
        "tools-call-mixed-content": ("tools.call.content-known-type",),
        "tools-call-error": ("tools.call.execution-error-as-result",),
        "tools-call-with-logging": ("logging.message.level", "logging.message.data-present"),
        "tools-call-with-progress": ("progress.token-known", "progress.increasing"),
        "tools-call-sampling": ("clientfeature.sampling.schema",),
        "tools-call-elicitation": ("clientfeature.elicitation.schema",),
        "elicitation-sep1034-defaults": ("clientfeature.elicitation.schema",),
        "elicitation-sep1330-enums": ("clientfeature.elicitation.schema",),
        "prompts-list": ("prompts.list.result-shape", "prompts.def.name-string"),
        "prompts-get-simple": (
            *("prompts.get.listed-is-gettable", "prompts.get.result-shape"),
            *("prompts.get.message-role", "prompts.get.message-content-single"),
        ),
        "prompts-get-with-args": ("prompts.get.listed-is-gettable", "prompts.get.result-shape"),
        "prompts-get-embedded-resource": ("content.embedded.fields",),
        "prompts-get-with-image": ("content.image.fields",),
        "resources-list": ("resources.list.result-shape",),
        "resources-read-text": ("resources.read.listed-is-readable", "resources.read.result-shape"),
        "resources-read-binary": ("resources.read.result-shape", "content.resource.blob-base64"),
        "resources-templates-read": ("resources.templates.expansion-readable",),
        "resources-subscribe": ("resources.subscribe.accepted",),
        "resources-unsubscribe": ("resources.unsubscribe.accepted",),
        "sep-2164-resource-not-found": (
            *("resources.read.not-found-is-error", "resources.read.not-found-code"),
            *("resources.read.not-found-not-empty", "resources.read.not-found-data-uri"),
        ),
        f"{MRTR}-basic-elicitation": ("mrtr.at-least-one", "mrtr.request-kinds"),
        f"{MRTR}-basic-sampling": ("mrtr.at-least-one", "mrtr.request-kinds"),
        f"{MRTR}-basic-list-roots": ("mrtr.at-least-one", "mrtr.request-kinds"),
        f"{MRTR}-request-state": ("mrtr.state-is-string", "mrtr.retry-self-contained"),
        f"{MRTR}-multiple-input-requests": ("mrtr.keys-unique", "mrtr.retry-self-contained"),
        f"{MRTR}-multi-round": ("mrtr.retry-self-contained",),
        f"{MRTR}-missing-input-response": ("mrtr.reask-missing",),
        f"{MRTR}-non-tool-request": ("mrtr.at-least-one", "mrtr.request-kinds"),
        f"{MRTR}-result-type": ("mrtr.result-type", "result.result-type-present"),
        f"{MRTR}-unsupported-methods": ("mrtr.allowed-methods",),
        f"{MRTR}-tampered-state": ("mrtr.tampered-state",),
        f"{MRTR}-capability-check": ("mrtr.respect-capabilities",),
        f"{MRTR}-ignore-extra-params": ("mrtr.extra-ignored",),
        f"{MRTR}-validate-input": ("mrtr.validates-responses", "mrtr.protocol-error-code"),
    }
)
"""The rules by scenario."""
TASKS_EXTENSION = "about the extension for tasks, which is not tested here"
NOT_HERE: Mapping[str, str] = MappingProxyType(
    {
        "json-schema-2020-12": "compares a listed schema with the one that its server was written with",
        "tasks-capability-negotiation": TASKS_EXTENSION,
        "tasks-dispatch-and-envelope": TASKS_EXTENSION,
        "tasks-lifecycle": TASKS_EXTENSION,
        "tasks-mrtr-composition": TASKS_EXTENSION,
        "tasks-mrtr-input": TASKS_EXTENSION,
        "tasks-request-headers": TASKS_EXTENSION,
        "tasks-request-state-removal": TASKS_EXTENSION,
        "tasks-required-task-error": TASKS_EXTENSION,
        "tasks-status-notifications": TASKS_EXTENSION,
        "tasks-wire-fields": TASKS_EXTENSION,
    }
)
"""The scenarios of which no rule judges the same, and why."""


def scenarios_of(requirement: str) -> list[str]:
    """Return the official scenarios that judge the same as a rule."""
    return [name for name, rules in SCENARIOS.items() if requirement in rules]
