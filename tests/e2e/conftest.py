"""End-to-end tests; `test_installed.py` takes minutes, and runs only with ``INSTALLED=1``."""

import os

collect_ignore = [] if os.environ.get("INSTALLED") else ["test_installed.py"]
