"""Adds checks, configuration, sources and Spack's recipe to a wheel, in linkmatrix/_suite.

MANIFEST.in lists the files. Files that a site added are not in the list. $LINKMATRIX_PREBUILT is the folder of compiled
programs that `make wheel` adds; the wheel is then for one platform.
"""

import hashlib
import json
import os
import shutil
import subprocess
from pathlib import Path

from setuptools import Distribution, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_py import build_py
from setuptools.command.egg_info import FileList

HERE = Path(__file__).resolve().parent
SUITE = ("checks", "config", "spack-env", "src")
SUMS = Path("config/SHA256SUMS")
PREBUILT = os.environ.get("LINKMATRIX_PREBUILT")


def suite_files():
    """The paths of the shipped files, relative to this folder."""
    files = FileList()
    for line in (HERE / "MANIFEST.in").read_text().splitlines():
        if line.startswith(("include", "recursive-include")):
            files.process_template_line(line)
    return sorted({Path(name) for name in files.files if Path(name).parts[0] in SUITE})


def shipped_content(name, expected):
    """The content of a file, as committed if a site has changed the file. expected: its SHA-256, None for any.

    Exits with a sentence if no content has the SHA-256.
    """
    content = (HERE / name).read_bytes()
    if expected in (None, hashlib.sha256(content).hexdigest()):
        return content
    try:
        content = subprocess.run(["git", "show", f"HEAD:./{name}"], cwd=HERE, capture_output=True).stdout
    except OSError:
        content = b""
    if hashlib.sha256(content).hexdigest() == expected:
        print(f"note: {name} differs from {SUMS}, so the wheel contains the committed file")
        return content
    raise SystemExit(
        f"{name} is not the shipped file (see {SUMS}): restore the file, and keep the changed one in a folder of"
        " 'linkmatrix init'"
    )


class BuildWithSuite(build_py):
    """An editable installation uses the files of the clone."""

    def run(self):
        if self.editable_mode:
            super().run()
            return
        package = Path(self.build_lib) / "linkmatrix"
        shutil.rmtree(package, ignore_errors=True)  # it may have removed files of an earlier build
        super().run()
        sums = {name: value for value, name in (line.split() for line in (HERE / SUMS).read_text().splitlines())}
        for name in suite_files():
            path = package / "_suite" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(shipped_content(name, sums.get(str(name))))
            shutil.copymode(HERE / name, path)
        if PREBUILT:
            shutil.copytree(PREBUILT, package / "_suite" / "prebuilt")


class WithPrograms(Distribution):
    """A package for one platform, if it contains compiled programs."""

    def has_ext_modules(self):
        return bool(PREBUILT)


class PlatformWheel(bdist_wheel):
    """A wheel for every Python 3, because compiled programs need no Python."""

    def get_tag(self):
        if not PREBUILT:
            return super().get_tag()
        return "py3", "none", json.loads((Path(PREBUILT) / "build.json").read_text())["platform"]


setup(distclass=WithPrograms, cmdclass={"build_py": BuildWithSuite, "bdist_wheel": PlatformWheel})
