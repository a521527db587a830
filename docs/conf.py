"""Settings of Sphinx: `make docs` builds the site into .build/docs. The site works from disk, without a network."""

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
html_static_path = ["static"]
html_css_files = ["site.css"]
html_title = f"linkmatrix {release}"
html_show_sourcelink = False
html_copy_source = False
html_show_copyright = False
html_show_sphinx = False


def setup(app):
    """Generates the gallery, and completes each page before Sphinx reads it."""

    pictures.made(Path(__file__).with_name("made"))

    def complete(_, name, source):
        source[0] = taken.page(source[0], name)

    def by_keyboard_and_ear(_, __, ___, context, ____):
        """Makes scrolling blocks reachable by keyboard, and gives captions of the contents a heading level."""
        body = context.get("body", "").replace("<pre>", '<pre tabindex="0">')
        context["body"] = body.replace('<div class="table-wrapper', '<div tabindex="0" class="table-wrapper')
        tree = context.get("furo_navigation_tree", "")
        context["furo_navigation_tree"] = tree.replace('role="heading"', 'role="heading" aria-level="2"')

    app.connect("source-read", complete)
    app.connect("html-page-context", by_keyboard_and_ear, priority=900)  # after the theme has generated its tree
