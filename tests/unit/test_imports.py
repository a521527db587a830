"""Each subpackage imports only the subpackages that CONTRIBUTING.md allows, and no module imports itself."""

import ast
import re
from graphlib import TopologicalSorter
from pathlib import Path

import linkmatrix

PACKAGE = Path(linkmatrix.__file__).parent
REPOSITORY = Path(__file__).resolve().parents[2]
BASE = {"errors", "files", "invocation", "lock", "suite"}  # modules that every subpackage may import
#: {subpackage: the subpackages that it may import}
SUBPACKAGES = {
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
SUBPACKAGES["commands"] = {*SUBPACKAGES}


def imports(path: Path) -> set[str]:
    """The modules of linkmatrix that a module imports, also inside functions and for type checkers."""
    found, package = set(), path.relative_to(PACKAGE.parent).parts[:-1]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.level:
            where = [*package[: len(package) - node.level + 1], *(node.module.split(".") if node.module else [])]
            for name in node.names:
                module = PACKAGE.parent.joinpath(*where, f"{name.name}.py")
                found.add(".".join([*where, name.name] if module.is_file() else where))
    return found - {"linkmatrix"}  # the version


def test_a_subpackage_imports_only_allowed_subpackages():
    wrong = [
        f"{path.relative_to(PACKAGE)} imports {name}"
        for subpackage, allowed in SUBPACKAGES.items()
        for path in (PACKAGE / subpackage).rglob("*.py")
        for name in imports(path)
        if name.split(".")[1] not in {subpackage, *allowed, *BASE}
    ]
    assert not wrong
    assert {path.parent.name for path in PACKAGE.glob("*/__init__.py")} == set(SUBPACKAGES)


def test_no_module_imports_itself_through_other_modules():
    graph = {
        ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts): imports(path)
        for path in PACKAGE.rglob("*.py")
    }
    TopologicalSorter(graph).prepare()  # raises CycleError with the names of the modules


#: Calls that write into files, and the modules that may call them: writing, locks, a temporary folder.
WRITES = {"write_text", "write_bytes", "replace", "rename", "link", "savefig", "to_csv", "to_parquet"}
WRITERS = {"files.py", "lock.py", "site/spack.py"}


def test_only_these_modules_write_files():
    wrong = []
    for path in [
        *PACKAGE.rglob("*.py"),
        *(REPOSITORY / "checks").rglob("*.py"),
        *(REPOSITORY / "config").rglob("*.py"),
    ]:
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
            # pandas returns the text if it gets no file
            kept = name.startswith("to_") and all(getattr(one, "value", one) is None for one in node.args[:1])
            if (name in WRITES and of_os and not kept) or opened:
                wrong.append(path.relative_to(PACKAGE if PACKAGE in path.parents else REPOSITORY).as_posix())
    assert set(wrong) <= WRITERS, wrong


#: Modules that call print: for constant texts, for a system file, and the two modules that escape text.
PRINTERS = {
    "cli.py",
    "errors.py",
    "show/screen.py",
    "commands/detect.py",
    "commands/schedule.py",
}


def test_only_these_modules_call_print():
    wrong = {
        path.relative_to(PACKAGE).as_posix()
        for path in PACKAGE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "print"
    }
    assert wrong == PRINTERS


def test_schemas_and_templates_are_installed():
    text = (PACKAGE.parents[1] / "pyproject.toml").read_text(encoding="utf-8")
    patterns = re.search(r"^linkmatrix = \[(.*)\]$", text, re.MULTILINE)[1].replace('"', "").split(", ")
    installed = {path for pattern in patterns for path in PACKAGE.glob(pattern)}
    others = {path for path in PACKAGE.rglob("*") if path.is_file() and path.suffix not in (".py", ".pyc")}
    assert others == installed and len(others) >= 6


def names_in(node):
    """The names in an expression."""
    return {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}


def hides_a_signal(node):
    """Whether a `try` catches ReframeError without raising ABORTS again, or a call suppresses ReframeError."""
    if isinstance(node, ast.Call):
        return "suppress" in ast.unparse(node.func) and any("ReframeError" in names_in(one) for one in node.args)
    if not isinstance(node, ast.Try):
        return False
    caught = [names_in(handler.type) if handler.type else {"ReframeError"} for handler in node.handlers]
    first = next((at for at, names in enumerate(caught) if "ReframeError" in names), None)
    return first is not None and not any("ABORTS" in names for names in caught[:first])


def test_no_code_of_reframe_sessions_catches_the_error_of_a_signal():
    """ReFrame raises ForceExitError, a ReframeError, for SIGTERM. A session that catches this error continues."""
    files = [*(REPOSITORY / "checks").glob("*.py"), *(REPOSITORY / "reports/linkmatrix/reframe_ext").rglob("*.py")]
    found = [
        f"{file.relative_to(REPOSITORY)}:{node.lineno}"
        for file in files
        for node in ast.walk(ast.parse(file.read_text()))
        if hides_a_signal(node)
    ]
    assert files and found == []
