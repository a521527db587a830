"""No code of this repository assigns to ReFrame or to any other foreign module or class, and private members are rare.

The syntax tree of each Python file of config/, checks/ and reports/ is searched for two things: assignments to
attributes of what the file imports from elsewhere, and private members that the file does not define itself.
"""

import ast
import importlib
import inspect
import re
import textwrap
from pathlib import Path

import pytest

from linkmatrix.reframe_ext.schedulers import PRIVATE

REPOSITORY = Path(__file__).resolve().parents[2]
SCHEDULERS = REPOSITORY / "reports" / "linkmatrix" / "reframe_ext" / "schedulers"
FILES = sorted(path for name in ("config", "checks", "reports") for path in (REPOSITORY / name).rglob("*.py"))
#: What is made to be assigned to: the environment of programs that are started, and a hook of the own process.
ASSIGNABLE = {"os.environ", "sys.unraisablehook"}
SETTERS = {"setattr", "delattr"}
#: Public members that Python names with an underscore.
PUBLIC = {"_asdict", "_fields", "_make", "_replace", "_exit"}


def is_foreign(value, foreign):
    """Whether a value is a foreign module, class or function, or a part of one; what a call returns is not."""
    while isinstance(value, ast.Attribute | ast.Subscript):
        value = value.value
    return isinstance(value, ast.Name) and value.id in foreign


def foreign_names(tree):
    """The names that a file binds to foreign modules, classes and functions: by import, or as another name of these."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {(name.asname or name.name).partition(".")[0] for name in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            found |= {name.asname or name.name for name in node.names}
        elif isinstance(node, ast.Assign) and is_foreign(node.value, found):
            found |= {target.id for target in node.targets if isinstance(target, ast.Name)}
    return found


def assigned(tree):
    """Each target of an assignment or a deletion that is no plain name, also by `setattr` and `type.__setattr__`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute | ast.Subscript) and isinstance(node.ctx, ast.Store | ast.Del):
            yield node
        elif isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2].strip("_") in SETTERS:
            yield from node.args[:1]


def patches(text):
    """What a Python file assigns to of others."""
    tree = ast.parse(text)
    foreign = foreign_names(tree)
    targets = (ast.unparse(one) for one in assigned(tree) if is_foreign(one, foreign))
    return [target for target in targets if target.partition("[")[0] not in ASSIGNABLE]


def private_names(text):
    """The private members that a Python file uses: as an attribute, or imported from elsewhere."""
    found = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Attribute):
            found.add(node.attr)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            found |= {name.name for name in node.names}
    return {name for name in found if name.startswith("_") and not name.endswith("__")} - PUBLIC


def overridden(text):
    """The private methods that the classes of a Python file define."""
    classes = (node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.ClassDef))
    methods = (one.name for node in classes for one in node.body if isinstance(one, ast.FunctionDef))
    return {name for name in methods if name.startswith("_") and not name.endswith("__")}


def uses_reframe(text):
    """Whether a Python file imports from ReFrame."""
    return bool(re.search(r"^\s*(import|from) reframe\b", text, re.MULTILINE))


def faults(path):
    """What a file changes of others, and the private members of ReFrame that it uses or overrides."""
    text = path.read_text(encoding="utf-8")
    with_reframe = "reports" not in path.relative_to(REPOSITORY).parts or uses_reframe(text)
    return [*patches(text), *(sorted(private_names(text) | overridden(text)) if with_reframe else [])]


def test_nothing_of_others_is_assigned_and_private_members_are_used_by_the_schedulers_alone():
    found = {
        path.relative_to(REPOSITORY).as_posix(): faults(path) for path in FILES if not path.is_relative_to(SCHEDULERS)
    }
    assert {name: said for name, said in found.items() if said} == {}


def test_the_schedulers_use_private_members_of_the_list_alone_and_all_of_them():
    files = sorted(SCHEDULERS.glob("*.py"))
    texts = [path.read_text(encoding="utf-8") for path in files]
    assert {path.name: patches(text) for path, text in zip(files, texts, strict=True) if patches(text)} == {}
    used = set().union(*(private_names(text) | overridden(text) for text in texts))
    assert used == {name.rpartition(".")[2] for name in PRIVATE}


@pytest.mark.parametrize("name", PRIVATE)
def test_this_reframe_has_each_private_member_of_the_list(name):
    owner, _, member = name.partition(".")
    modules = (importlib.import_module(f"reframe.core.schedulers{one}") for one in ("", ".slurm", ".pbs"))
    found = next(getattr(module, owner) for module in modules if hasattr(module, owner))
    assert not member or hasattr(found, member) or f"self.{member} " in textwrap.dedent(inspect.getsource(found))


@pytest.mark.parametrize(
    "text",
    [
        "import reframe.core.schedulers.slurm as slurm\nslurm.SlurmJobScheduler.poll = print",
        "from reframe.frontend.executors import policies\ncontroller = policies.Controller\ncontroller.snooze = print",
        "import reframe.core.logging\nreframe.core.logging.makers['file'] = print",
        "from a import Pbs\nsetattr(Pbs, 'poll', print)",
        "from a import Pbs\ndel Pbs.poll",
        "from a import Pbs\ntype.__setattr__(Pbs, 'poll', print)",
    ],
)
def test_a_patch_is_found(text):
    assert patches(text)


@pytest.mark.parametrize(
    "text",
    [
        "import os\nos.environ['A'] = '1'",
        "from pathlib import Path\nfile = Path('a')\nfile.name = 1",
        "class A:\n    def __init__(self):\n        self.a = 1",
        "from .own import table\ntable['a'] = 1",
    ],
)
def test_what_is_no_patch_is_none(text):
    assert patches(text) == []


def test_files_of_reports_that_import_reframe_are_searched_for_private_members():
    text = '"""A docstring comes first."""\n\nfrom reframe.core.schedulers.slurm import _SlurmJob\n'
    assert uses_reframe(text) and private_names(text) == {"_SlurmJob"}
    assert any(uses_reframe(path.read_text(encoding="utf-8")) for path in FILES if "reports" in path.parts)
