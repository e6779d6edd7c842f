"""`test_installed.py` makes environments with pip, which takes minutes: it runs only with ``INSTALLED=1``."""

import os

collect_ignore = [] if os.environ.get("INSTALLED") else ["test_installed.py"]
