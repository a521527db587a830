"""`linkmatrix init`: creates the folder of a site. Upgrades of linkmatrix do not change this folder."""

import argparse
import difflib
import os
import shlex
from collections.abc import Mapping
from pathlib import Path

from .. import __version__, suite
from ..errors import BadInput, clean, say
from ..files import path_of, write_whole
from ..record import units

#: The config/settings.py of a site. It loads the shipped settings, so an upgrade of the package changes the settings.
SETTINGS = '''"""Configuration of this site: systems, references and topologies. The package contains the rest."""

from pathlib import Path

from linkmatrix.suite import settings

site_configuration = settings(Path(__file__).resolve().parent).site_configuration
'''
IGNORED = "# results and builds of runs, and the link to the checks of linkmatrix\n/.linkmatrix/\n/.build/\n/checks\n"
SYSTEMS = """# Systems of this site

One file per system, as `linkmatrix detect --scheduler auto` writes it on a login node. A file with the name of a
shipped file replaces the shipped file.
"""
#: folders of config that are copied into a new site, and that upgrades do not change
COPIED_FOLDERS = ("references", "topology")


def add_options(command: argparse.ArgumentParser) -> None:
    """Adds the options of `init`."""
    command.description = (
        "Creates a folder outside of the clone for the systems, references and results of a site. Existing files stay"
        " unchanged. Run the command again after an upgrade."
    )
    command.add_argument("folder", type=path_of, metavar="DIR", help="the folder of the site")
    command.add_argument(
        "--diff",
        action="store_true",
        help="print how the files of DIR differ from the files of this version; change nothing",
    )
    command.set_defaults(command=run_init)


def run_init(options: argparse.Namespace) -> int:
    """Creates the missing files of a site, and prints the next step. With --diff, prints the differences only.

    Raises BadInput, OSError.
    """
    folder = checked_folder(Path(os.path.abspath(options.folder)))
    settings = folder / "config" / "settings.py"
    if settings.exists() and "linkmatrix.suite" not in settings.read_text(encoding="utf-8", errors="replace"):
        raise BadInput(f"{folder} has a config/settings.py that linkmatrix init did not write: name another folder")
    texts = {settings: SETTINGS, folder / ".gitignore": IGNORED, folder / "config" / "systems" / "README.md": SYSTEMS}
    contents = {path: text.encode() for path, text in texts.items()} | shipped_files(folder / "config")
    if options.diff:
        return show_differences(folder, contents)
    if (folder / "checks").exists() and not (folder / "checks").is_symlink():
        raise BadInput(f"{folder / 'checks'} is not a link: move it away, then run the command again")
    outer = next((parent for parent in folder.parents if (parent / "config" / "settings.py").exists()), None)
    if outer and not settings.exists():  # an existing site is updated
        raise BadInput(f"{folder} is inside {outer}, which is a clone or a site: name a folder outside")
    missing = [path for path in contents if not path.exists()]
    for path in missing:
        write_whole(path, contents[path], lasting=False)
    # replaces a link to the checks of an earlier version
    (folder / "checks").unlink(missing_ok=True)
    os.symlink(suite.FOLDER / "checks", folder / "checks")
    unchanged = len(contents) - len(missing)
    say(f"{folder}: {units.counted(len(missing), 'file')} created" + (f", {unchanged} unchanged" if unchanged else ""))
    quoted = shlex.quote(str(folder))
    say(f"next: cd {quoted} && linkmatrix measure    # or linkmatrix detect, to write a system file of this machine")
    return 0


def show_differences(folder: Path, contents: Mapping[Path, bytes]) -> int:
    """Prints how the files of a site differ from the files of this version. Raises BadInput if `folder` is no site.

    contents: {path: content} of the files that a new site gets. The function also compares system files that have the
    same name as a shipped system file.
    """
    config = folder / "config"
    if not (config / "settings.py").exists():
        raise BadInput(f"{folder} is not a folder of linkmatrix init: leave out --diff to create it")
    systems = {config / "systems" / path.name: path for path in (suite.FOLDER / "config" / "systems").glob("*.py")}
    contents = dict(contents) | {path: file.read_bytes() for path, file in systems.items() if path.exists()}
    missing = [path for path in contents if not path.exists()]
    changed = [path for path, content in contents.items() if path.exists() and path.read_bytes() != content]
    for path in changed:
        name = path.relative_to(folder)
        texts = [content.decode(errors="replace").splitlines() for content in (path.read_bytes(), contents[path])]
        say(*difflib.unified_diff(*texts, f"{name} of the site", f"{name} of linkmatrix {__version__}", lineterm=""))
    say(*(f"new in linkmatrix {__version__}: {path.relative_to(folder)}" for path in missing))
    counts = [units.counted(len(paths), "file") for paths in (contents, changed, missing)]
    say(f"{counts[0]} compared: {counts[1]} with differences, {counts[2]} not in {folder}")
    if missing:
        say(f"To create the missing files: linkmatrix init {shlex.quote(str(folder))}")
    return 0


def checked_folder(folder: Path) -> Path:
    """Returns `folder`. Raises BadInput if a site cannot use the path, for example because a file has the same path."""
    suite.supported_folder(folder)
    if clean(str(folder)) != str(folder):
        raise BadInput(f"{folder} has unprintable characters in its path: name another folder")
    inside = [folder / "config", *(folder / "config" / name for name in (*COPIED_FOLDERS, "systems"))]
    for path in (folder, *folder.parents, *inside):
        if os.path.lexists(path) and not path.is_dir():  # or a dangling link
            raise BadInput(f"{path} is not a folder: name a new or an existing folder")
    return folder


def shipped_files(config: Path) -> dict[Path, bytes]:
    """{path in the new site: content} of the shipped files that a new site gets.

    config: the folder config of the site.
    """
    source = suite.FOLDER / "config"
    listed = [Path(line.split()[1]) for line in (source / "SHA256SUMS").read_text(encoding="utf-8").splitlines()]
    names = [path.relative_to("config") for path in listed if path.parts[1] in COPIED_FOLDERS]
    return {config / name: (source / name).read_bytes() for name in names}
