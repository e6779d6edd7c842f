"""How Sphinx builds these pages; `tox -e docs` does it."""

import sys
from importlib.metadata import version as version_of
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

project = "pytest-mcp-conformance"
author = "the authors of pytest-mcp-conformance"
version = release = version_of(project)

extensions = ["myst_parser", "sphinx.ext.autodoc", "generating"]
exclude_patterns = ["requirements.md"]
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3
default_role = "code"
autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
smartquotes = False

html_theme = "furo"
html_title = "pytest-mcp-conformance"
html_show_copyright = False
html_show_sphinx = False
html_copy_source = False
html_static_path = ["static"]
html_css_files = ["own.css"]
