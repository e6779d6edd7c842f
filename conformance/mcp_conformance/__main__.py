"""``python -m mcp_conformance`` is the command ``mcp-conformance``."""

import sys

from mcp_conformance.cli.main import main

sys.exit(main())
