"""The stdio transport (spec: basic/transports, "stdio")."""

from __future__ import annotations

import pytest

from conformance.verdict import Finding


@pytest.mark.requirement("stdio.stdout-purity")
def test_nothing_but_messages_is_on_stdout(server, traffic):
    noise = [line for session in server.sessions for line in session.noise()]
    if noise:
        raise Finding(
            "JSON-RPC messages only", f"{len(noise)} other lines, first {noise[0].text!r}", noise[:3]
        )
