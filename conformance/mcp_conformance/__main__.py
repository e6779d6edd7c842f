"""``python -m mcp_conformance`` is the command ``mcp-conformance``."""

import sys

if not sys.flags.safe_path:
    del sys.path[0]  # the working directory, whose modules are those of a user, or of a stranger

from mcp_conformance.cli.main import main

sys.exit(main())
