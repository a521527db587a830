"""What a wheel has beside the package: checks, configuration, sources and Spack's recipe, in linkmatrix/_suite."""

import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

SUITE = ("checks", "config", "src", "spack-env")
#: what runs and Spack leave there, which is of this machine
LEFT = shutil.ignore_patterns("__pycache__", "*.pyc", "processor.json", "spack.lock", ".spack-env")


class WithSuite(build_py):
    """As it is in a clone, an editable installation finds them beside reports."""

    def run(self):
        super().run()
        if self.editable_mode:
            return
        suite = Path(self.build_lib) / "linkmatrix" / "_suite"
        shutil.rmtree(suite, ignore_errors=True)  # a file that is no more, of an earlier build
        for name in SUITE:
            shutil.copytree(Path(__file__).resolve().parent / name, suite / name, ignore=LEFT)


setup(cmdclass={"build_py": WithSuite})
