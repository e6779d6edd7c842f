"""``python -m conformance`` is the command ``mcp-conformance``."""

import sys

from conformance.cli.main import main

sys.exit(main())
