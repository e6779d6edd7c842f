"""A launcher of the reference server with a tool that asks an API, which starts fast under ``python -S``.

Its arguments are the source root of the fixtures, and a port if it is to speak HTTP.
"""

import sys

sys.path.insert(0, sys.argv[1])

from mcp_conformance_fixtures.api import served

sys.exit(served(sys.argv[2:]))
