"""The map of the house in CONTRIBUTING.md holds: what a room may import, and no circles anywhere."""

import ast
import re
from graphlib import TopologicalSorter
from pathlib import Path

import linkmatrix

HOUSE = Path(linkmatrix.__file__).parent
REPOSITORY = Path(__file__).resolve().parents[2]
BASE = {"errors", "files", "invocation", "lock", "suite"}  # known to all
#: Room → the rooms that it may import.
ROOMS = {
    "record": set(),
    "foreign": {"record"},
    "references": {"foreign", "record"},
    "judge": {"references", "record"},
    "locate": {"judge", "references", "record"},
    "runs": {"locate", "judge", "references", "record"},
    "adopt": {"runs", "locate", "judge", "references", "record"},
    "show": {"runs", "locate", "judge", "references", "record"},
    "reframe_ext": {"record"},
    "site": {"reframe_ext", "record"},
}
ROOMS["commands"] = {*ROOMS}


def imports(path: Path) -> set[str]:
    """The modules of the house that a module imports anywhere, inside of functions and for type checkers too."""
    found, package = set(), path.relative_to(HOUSE.parent).parts[:-1]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.level:
            where = [*package[: len(package) - node.level + 1], *(node.module.split(".") if node.module else [])]
            for name in node.names:
                module = HOUSE.parent.joinpath(*where, f"{name.name}.py")
                found.add(".".join([*where, name.name] if module.is_file() else where))
    return found - {"linkmatrix"}  # the version


def test_a_room_imports_only_what_the_map_allows():
    wrong = [
        f"{path.relative_to(HOUSE)} imports {name}"
        for room, allowed in ROOMS.items()
        for path in (HOUSE / room).rglob("*.py")
        for name in imports(path)
        if name.split(".")[1] not in {room, *allowed, *BASE}
    ]
    assert not wrong
    assert {path.parent.name for path in HOUSE.glob("*/__init__.py")} == set(ROOMS)


def test_no_module_imports_itself_over_others():
    graph = {
        ".".join(path.relative_to(HOUSE.parent).with_suffix("").parts): imports(path) for path in HOUSE.rglob("*.py")
    }
    TopologicalSorter(graph).prepare()  # raises CycleError, which names the circle


#: Calls that write into files, and the modules that may: the way of writing, the lock, a folder that is thrown away.
WRITES = {"write_text", "write_bytes", "replace", "rename", "link", "savefig", "to_csv", "to_parquet"}
WRITERS = {"files.py", "lock.py", "site/spack.py"}


def test_all_is_written_in_one_way_whole_or_not_at_all():
    wrong = []
    for path in [*HOUSE.rglob("*.py"), *(REPOSITORY / "checks").rglob("*.py"), *(REPOSITORY / "config").rglob("*.py")]:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call):
                continue
            name = getattr(node.func, "attr", getattr(node.func, "id", ""))
            of_os = (
                name not in ("replace", "rename", "link")
                or getattr(getattr(node.func, "value", None), "id", "") == "os"
            )
            modes = [*node.args, *(word.value for word in node.keywords)] if name == "open" else []
            words = [str(one.value) for one in modes if isinstance(one, ast.Constant)]
            opened = any(re.fullmatch("[rwaxbt+]+", word) and set("wax+") & set(word) for word in words)
            # pandas gives the content back where it gets no file
            kept = name.startswith("to_") and all(getattr(one, "value", one) is None for one in node.args[:1])
            if (name in WRITES and of_os and not kept) or opened:
                wrong.append(path.relative_to(HOUSE if HOUSE in path.parents else REPOSITORY).as_posix())
    assert set(wrong) <= WRITERS, wrong


#: Modules that print themselves: texts of ours, a system file that is Python, and the two ways of saying all else.
PRINTERS = {
    "cli.py",
    "errors.py",
    "show/screen.py",
    "commands/detect.py",
    "commands/schedule.py",
}


def test_what_a_stranger_may_have_written_is_printed_by_say_or_on_a_screen():
    wrong = {
        path.relative_to(HOUSE).as_posix()
        for path in HOUSE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "print"
    }
    assert wrong == PRINTERS


def test_schemas_and_templates_are_installed_with_it():
    text = (HOUSE.parents[1] / "pyproject.toml").read_text(encoding="utf-8")
    patterns = re.search(r"^linkmatrix = \[(.*)\]$", text, re.MULTILINE)[1].replace('"', "").split(", ")
    installed = {path for pattern in patterns for path in HOUSE.glob(pattern)}
    others = {path for path in HOUSE.rglob("*") if path.is_file() and path.suffix not in (".py", ".pyc")}
    assert others == installed and len(others) >= 6
