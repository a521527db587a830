"""The classes of the fixtures, for ReFrame's `--restore-session`, which imports this file without its package."""

from pathlib import Path

from reframe.utility import import_module_from_file


def module(name):
    """Imports a module of this package as part of its package, so that relative imports in the module work."""
    return import_module_from_file(str(Path(__file__).resolve().with_name(f"{name}.py")), load_parents=True)


build_linkmatrix = module("build").build_linkmatrix
node_session, nodes_session = module("session").node_session, module("session").nodes_session
