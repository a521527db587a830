"""Prints the size of the project: lines per package, long files, modules that `linkmatrix show` loads, import chains.

python tests/tools/code_size.py
"""

import ast
import subprocess
import sys
import time
from functools import cache
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
PACKAGE = REPOSITORY / "reports" / "linkmatrix"
CODE = (".py", ".cpp", ".hpp", ".cu", ".cuh", ".h")
YAML = (".yaml", ".yml")
PRODUCT = ("src", "checks", "config", "reports", "spack-env")
LONG = 350  # lines of a file
RECORD = REPOSITORY / "tests" / "data" / "h200x4_write_ce.record.json"


def main() -> None:
    """Prints Markdown tables."""
    tracked = subprocess.run(["git", "ls-files"], cwd=REPOSITORY, text=True, capture_output=True, check=True).stdout
    lines = {name: count(REPOSITORY / name) for name in tracked.splitlines() if name.endswith(CODE + YAML)}
    code = {name: number for name, number in lines.items() if name.endswith(CODE)}
    print("| part | files | lines |\n|---|---|---|")
    for part in sorted({part_of(name) for name in code}):
        of_part = [number for name, number in code.items() if part_of(name) == part]
        print(f"| {part} | {len(of_part)} | {sum(of_part)} |")
    totals = {
        "product": sum(number for name, number in code.items() if name.startswith(PRODUCT)),
        "tests": sum(number for name, number in code.items() if name.startswith("tests")),
        "YAML": sum(number for name, number in lines.items() if name.endswith(YAML)),
    }
    for name, number in totals.items():
        print(f"| **{name}** | | {number} |")
    print(f"\nFiles of more than {LONG} lines: {', '.join(name for name, number in code.items() if number > LONG)}")
    modules, empty, seconds = loaded_by_show()
    print(f"\n`linkmatrix show` loads {modules} modules and {empty} empty packages, and takes {seconds:.2f} s.")
    print(f"\nThe longest chain of imports: {' → '.join(longest_chain())}")


def count(path: Path) -> int:
    """The lines of a file; 0 for a file that was deleted."""
    return len(path.read_bytes().splitlines()) if path.is_file() else 0


def part_of(name: str) -> str:
    """The package of a file: two folders, or three for the Python package."""
    folders = Path(name).parts[:-1] or (".",)
    return "/".join(folders[: 3 if folders[0] == "reports" else 2])


def loaded_by_show() -> tuple[int, int, float]:
    """(modules with code, packages without code, seconds) of `linkmatrix show` of a record, the fastest of three."""
    show = f"from linkmatrix import cli; cli.main(['show', {str(RECORD)!r}])"
    files = "[one.__file__ for name, one in sys.modules.items() if name.startswith('linkmatrix.')]"
    tell = f"import sys; print(*{files}, sep='\\n', file=sys.stderr)"
    best = float("inf")
    for _ in range(3):
        begin = time.perf_counter()
        done = subprocess.run([sys.executable, "-c", f"{show}\n{tell}"], text=True, capture_output=True, check=True)
        best = min(best, time.perf_counter() - begin)
    paths = [path for path in map(Path, done.stderr.splitlines()) if path.suffix == ".py"]
    empty = sum(len(ast.parse(path.read_text(encoding="utf-8")).body) <= 1 for path in paths)  # a docstring at most
    return len(paths) - empty, empty, best


def imported(path: Path) -> set[Path]:
    """The modules of the package that a module imports when it is loaded."""
    found = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ImportFrom) and node.level:
            folder = path.parents[node.level - 1].joinpath(*(node.module or "").split("."))
            modules = [folder / f"{name.name}.py" for name in node.names] + [folder.with_suffix(".py")]
            found |= {module for module in modules if module.is_file()}
    return found - {path}


@cache
def chain_from(path: Path) -> tuple[str, ...]:
    """The longest chain of imports that begins with a module."""
    name = ".".join(path.relative_to(PACKAGE).with_suffix("").parts)
    return (name, *max((chain_from(module) for module in imported(path)), key=len, default=()))


def longest_chain() -> tuple[str, ...]:
    """The longest chain of imports in the package."""
    return max(map(chain_from, PACKAGE.rglob("*.py")), key=len)


if __name__ == "__main__":
    main()
