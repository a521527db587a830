"""Sphinx's settings: `make docs` builds the site into .build/docs. It opens from disk and loads nothing else."""

import sys
from pathlib import Path

from linkmatrix import __version__

sys.path.insert(0, str(Path(__file__).parent))

import pictures
import taken

project = "linkmatrix"
release = __version__
extensions = ["myst_parser"]
exclude_patterns = ["README.md", "made"]
html_extra_path = ["made/pages"]  # pages of recorded runs, as `linkmatrix report` writes them
myst_heading_anchors = 4
html_theme = "furo"
html_title = f"linkmatrix {release}"
html_show_sourcelink = False
html_copy_source = False
html_show_copyright = False
html_show_sphinx = False


def setup(app):
    """Every page is completed from the repository before it is read, and pictures are made of recorded runs."""

    pictures.made(Path(__file__).with_name("made"))

    def complete(_, name, source):
        source[0] = taken.page(source[0], name)

    app.connect("source-read", complete)
