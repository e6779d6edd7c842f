"""Tests that run the official suite from npm; they run only if ``OFFICIAL_SUITE`` names a folder for it."""

import os

collect_ignore_glob = [] if os.environ.get("OFFICIAL_SUITE") else ["test_*.py"]
