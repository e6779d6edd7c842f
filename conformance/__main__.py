"""``python -m conformance`` is the command ``mcp-conformance``."""

import sys

from conformance.cli import main

sys.exit(main())
