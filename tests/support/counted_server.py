"""The reference server, which counts its processes in a file: a byte for each."""

import sys
from pathlib import Path

from mcp_conformance_fixtures.reference import main

with Path(sys.argv[1]).open("ab") as starts:
    starts.write(b".")
sys.exit(main())
