"""A launcher of mutants that starts in half the time of ``python -m mcp_conformance_fixtures.mutants``.

Run it with ``python -S``; its arguments are the source root of the fixtures and the name of the mutant.
"""

import sys

sys.path.insert(0, sys.argv[1])

from mcp_conformance_fixtures.mutants.__main__ import run

sys.exit(run(sys.argv[2:]))
