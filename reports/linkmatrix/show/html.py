"""Renders a page as a single HTML file, without scripts, and without external fonts and pictures.

The template engine escapes all texts from machines. A Content-Security-Policy allows only the page's style sheet (by
hash) and embedded pictures. The browser therefore loads and runs nothing else.
"""

from __future__ import annotations

import base64
import hashlib
import re
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup, escape

from ..errors import clean
from ..invocation import runnable

TEMPLATES = Path(__file__).with_name("templates")
#: Texts that a browser would break after a hyphen: options of programs, and cells.
WHOLE = re.compile(r"(?<![\w-])--?[A-Za-z][a-z-]*|\b[\w:.]{1,24}-&gt;[\w:.]{1,24}")


def rendered(template: str, sheet: str = "page.css", **values: Any) -> str:
    """Renders a template of this package. sheet: file name of its style sheet."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: value if isinstance(value, Markup) else clean(runnable(str(value))),
    )
    environment.filters["whole_options"] = whole_options
    style = (TEMPLATES / sheet).read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    return environment.get_template(template).render(
        style=Markup(style), style_hash=Markup(f"sha256-{digest}"), **values
    )


def whole_options(text: str) -> Markup:
    """A sentence as HTML, without line breaks inside options and inside names of cells ("gpu0->gpu1")."""
    return Markup(WHOLE.sub(r'<span class="option">\g<0></span>', str(escape(clean(runnable(text))))))


def picture(png: bytes) -> str:
    """A PNG in base64, to embed in the page."""
    return base64.b64encode(png).decode()
