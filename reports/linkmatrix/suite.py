"""Where checks, configuration, sources and Spack's recipe lie, and how a site's folder has the shipped configuration.

In a clone they stand around this package; a wheel brings them in a folder of its own, `_suite`, which setup.py fills.
"""

import importlib.util
import re
from pathlib import Path
from types import ModuleType

from .errors import BadInput

WITHIN = Path(__file__).resolve().parent / "_suite"
FOLDER = WITHIN if WITHIN.is_dir() else Path(__file__).resolve().parents[2]
REFERENCES = FOLDER / "config" / "references"
#: The programs that measure. They have the same options of a process, and record what other processes did.
PROGRAMS = ("p2p_matrix", "collective_perf", "nbody_scaling")
#: In front of the name of one of ReFrame's schedulers: its extension.
EXTENSION = "linkmatrix_"
#: In the reason of a test whose program did not begin, because an option was wrong.
REFUSED_OPTIONS = "refused its options"
#: In the reason of a test whose program did not begin, because of --refuse-busy.
BUSY = "another process uses the node"
#: ReFrame starts scripts by the shell's words, and replaces variables in the name of its log file
UNUSABLE = re.compile(r"""[\s'"\\$]""")


def usable(folder: Path) -> Path:
    """The folder. Raises BadInput where ReFrame cannot work in it for its path."""
    if UNUSABLE.search(str(folder)):
        raise BadInput(
            f"results cannot go to {folder}: ReFrame needs a path without spaces, quotes, backslashes and $; "
            "name another folder"
        )
    return folder


def settings(site: Path) -> ModuleType:
    """The shipped config/settings.py with the systems, references and topologies of `site`, a site's folder config."""
    spec = importlib.util.spec_from_file_location("linkmatrix_settings", FOLDER / "config" / "settings.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    vars(module)["SITE"] = site
    spec.loader.exec_module(module)
    return module
