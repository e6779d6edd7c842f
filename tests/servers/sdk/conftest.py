"""Tests that install SDKs from PyPI and npm; they run only if ``SDK_SERVERS`` names a folder."""

import os

collect_ignore_glob = [] if os.environ.get("SDK_SERVERS") else ["test_*.py"]
