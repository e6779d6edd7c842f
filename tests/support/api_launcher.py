"""A launcher of the reference server with a tool that asks an API, which starts fast under ``python -S``.

Its argument is the source root of the fixtures.
"""

import sys

sys.path.insert(0, sys.argv[1])

from mcp_conformance_fixtures.api import Asker
from mcp_conformance_fixtures.reference import main

sys.exit(main(Asker()))
