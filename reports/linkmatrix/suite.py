"""The folder with the checks, configuration, sources and Spack recipe, and constants that checks and reports share.

In a clone, the folder is the clone. In a wheel, setup.py creates the folder `_suite` in this package.
"""

import importlib.util
import re
from pathlib import Path
from types import ModuleType

from .errors import BadInput

WHEEL_FOLDER = Path(__file__).resolve().parent / "_suite"
FOLDER = WHEEL_FOLDER if WHEEL_FOLDER.is_dir() else Path(__file__).resolve().parents[2]
REFERENCES = FOLDER / "config" / "references"
#: The measuring programs. They share options, and record other processes.
PROGRAMS = ("p2p_matrix", "collective_perf", "nbody_scaling")
#: Prefix of the name of an extended scheduler of ReFrame.
EXTENSION = "linkmatrix_"
#: This text in the reason of a test means that its program refused an option.
REFUSED_OPTIONS = "refused its options"
#: This text in the reason of a test means that its program did not begin because of --refuse-busy.
BUSY = "another process uses the node"
#: This text in the reason of a test means that its launcher bound two ranks to the same cores.
SHARED_CORES = "share cores"
#: Characters in a path that ReFrame does not quote in its scripts, or replaces in the name of its log file.
UNUSABLE = re.compile(r"""[\s'"\\$]""")


def supported_folder(folder: Path) -> Path:
    """Returns the folder. Raises BadInput if its path contains characters that ReFrame does not support."""
    if UNUSABLE.search(str(folder)):
        raise BadInput(
            f"results cannot go to {folder}: ReFrame needs a path without spaces, quotes, backslashes and $; "
            "name another folder"
        )
    return folder


def settings(site: Path) -> ModuleType:
    """Loads the file config/settings.py of this suite, with the configuration of a site.

    site: the folder `config` of the site.
    """
    spec = importlib.util.spec_from_file_location("linkmatrix_settings", FOLDER / "config" / "settings.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    vars(module)["SITE"] = site
    spec.loader.exec_module(module)
    return module
