"""Mutation tests with mutmut: does a test fail for each change of the judging code?

Run `make mutants`, or `python tests/tools/mutants.py references/noise.py locate` for some modules or subpackages.
`--sample 60` runs at most 60 mutants per module, the same mutants each time. The tool prints the surviving mutants and
the share of killed mutants per module and subpackage. Exit code 1: this share is below LEAST for a module.

mutmut requires the package at the top of its folder, so the tool works on copies, .build/mutants/SUBPACKAGE. mutmut's
output is in mutmut.log in this folder. Killed mutants are not run again until their function changes.
`cd .build/mutants/SUBPACKAGE && mutmut show NAME` shows a mutant.
"""

import argparse
import ast
import itertools
import json
import math
import os
import random
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
PACKAGE = REPOSITORY / "reports" / "linkmatrix"
UNIT_TESTS = REPOSITORY / "tests" / "unit"
COPIES = REPOSITORY / ".build" / "mutants"
LOG = "mutmut.log"
STATISTICS = "mutants/mutmut-stats.json"
SUBPACKAGES = ("references", "judge", "locate", "foreign")
#: The tests of a function: tests whose file imports its module come first, then the fastest.
MOST_TESTS, MOST_SECONDS = 300, 15.0
#: Files whose tests need more of the repository than COPIED, or a browser.
LEFT_OUT = ("test_glossary.py", "test_page_browser.py")
LEAST = 0.90
UNKNOWN = "not checked"
KILLED = ("killed", "timeout", "segfault", "suspicious")
COPIED = (
    "tests",
    "config",
    "checks",
    "src",
    "scripts",
    "docs",
    "CONTRIBUTING.md",
    "README.md",
    "spack-env",
    ".ci",
    "Makefile",
)

CONFIG = """[mutmut]
source_paths=linkmatrix
only_mutate=
    linkmatrix/{subpackage}/*
also_copy=
    {copied}
pytest_add_cli_args=
    -x
    -p
    no:cacheprovider
    -p
    no:xdist
    -p
    no:rerunfailures
    -m
    not thorough
    --hypothesis-seed=0
    --hypothesis-profile=mutants
pytest_add_cli_args_test_selection=
    {tests}
"""


def main(arguments: list[str] | None = None) -> int:
    """Run the mutation tests. Exit code: 0 if enough mutants were killed, 1 if not, 2 if mutmut failed."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("wanted", nargs="*", metavar="SUBPACKAGE[/MODULE.py]", help="default: all subpackages")
    parser.add_argument("--sample", type=int, metavar="N", help="run at most N mutants of each module")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), metavar="N", help="number of concurrent mutants")
    options = parser.parse_args(arguments)
    wanted = {name: modules_of(name) for name in options.wanted or SUBPACKAGES}
    unknown = [name for name, modules in wanted.items() if not modules]
    if unknown:
        print(f"{unknown[0]} is not a subpackage or module of {', '.join(SUBPACKAGES)}", file=sys.stderr)
        return 2
    modules = list(dict.fromkeys(module for some in wanted.values() for module in some))
    subpackages = dict.fromkeys(module.split("/")[0] for module in modules)
    return max(measure(name, [one for one in modules if one.startswith(f"{name}/")], options) for name in subpackages)


def modules_of(wanted: str) -> list[str]:
    """The modules of a subpackage that contain code, or the named module; [] for an unknown name."""
    subpackage, _, name = wanted.partition("/")
    files = sorted((PACKAGE / subpackage).glob(name or "*.py")) if subpackage in SUBPACKAGES else []
    return [f"{subpackage}/{path.name}" for path in files if path.name != "__init__.py"]


def tests_of(subpackage: str) -> list[str]:
    """The files of unit tests about a module of the subpackage."""
    found = {file for module in modules_of(subpackage) for file in tests_about(module)}
    return sorted(f"tests/unit/{name}" for name in found - {*LEFT_OUT})


def tests_about(module: str) -> list[str]:
    """The names of the unit tests' files that import a module, or have its name."""
    dotted = f"linkmatrix.{module.removesuffix('.py').replace('/', '.')}"
    files = {
        file.name for file, names in imports().items() if any(f"{name}.".startswith(f"{dotted}.") for name in names)
    }
    named = f"test_{Path(module).name}"
    return sorted(files | ({named} if (UNIT_TESTS / named).exists() else set()))


@cache
def imports() -> dict[Path, list[str]]:
    """{file of unit tests: the full names that it imports}."""
    return {file: list(imported(ast.parse(file.read_bytes()))) for file in UNIT_TESTS.glob("test_*.py")}


def imported(tree: ast.Module) -> Iterator[str]:
    """The full names that a module imports."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def measure(subpackage: str, modules: list[str], options: argparse.Namespace) -> int:
    """Run the mutants of modules of one subpackage. Returns the exit code of `main`."""
    folder = COPIES / subpackage
    folder.mkdir(parents=True, exist_ok=True)
    copy(PACKAGE, folder / "linkmatrix")
    copied = [name for name in COPIED if (REPOSITORY / name).exists()]
    for name in copied:
        copy(REPOSITORY / name, folder / name)
    shutil.copy2(REPOSITORY / "pyproject.toml", folder)
    (folder / "setup.cfg").write_text(
        CONFIG.format(
            subpackage=subpackage,
            copied="\n    ".join(copied),
            tests="\n    ".join(tests_of(subpackage)),
        )
    )
    names = {module: sample_of(mutants_of(folder, module), options.sample, module) for module in modules}
    wanted = [name for some in names.values() for name in some]
    known = results(folder)
    untested = [name for name in wanted if known.get(name) not in KILLED]
    (folder / STATISTICS).unlink(missing_ok=True)  # mutmut keeps the functions that a changed test called before
    run(folder, untested[:1], options.jobs)
    limit_tests(folder)
    run(folder, untested[1:], options.jobs)
    found = results(folder)
    # mutmut forgets the results of changed functions while it runs
    run(folder, [name for name in wanted if found.get(name, UNKNOWN) == UNKNOWN], options.jobs)
    found = results(folder)
    code = 0
    for module, some in names.items():
        code = max(code, print_results(module, [(name, found.get(name, UNKNOWN)) for name in some]))
    if len(modules) > 1:
        killed = sum(found.get(name) in KILLED for name in wanted)
        low, high = interval(killed, len(wanted))
        print(f"{subpackage}: {share(killed, len(wanted))}, 95 % interval {100 * low:.1f} to {100 * high:.1f} %")
    return code


def mutants_of(folder: Path, module: str) -> list[str]:
    """The names of a module's mutants."""
    source = (
        "import json, pathlib, sys; from mutmut.mutation.file_mutation import mutate_file_contents as mutate;"
        "print(json.dumps(list(mutate(sys.argv[1], pathlib.Path(sys.argv[1]).read_text(), None, None).mutant_names)))"
    )
    command = [sys.executable, "-c", source, f"linkmatrix/{module}"]
    found = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout
    dotted = f"linkmatrix/{module}".removesuffix(".py").replace("/", ".")
    return [f"{dotted}.{name}" for name in json.loads(found)]


def sample_of(names: list[str], size: int | None, seed: str) -> list[str]:
    """A random sample of names, the same for the same seed; all names if `size` is None or too large."""
    return names if size is None or len(names) <= size else random.Random(seed).sample(names, size)


def limit_tests(folder: Path) -> None:
    """Reduce the tests that mutmut runs per function: all of them would take days."""
    file = folder / STATISTICS
    if not file.exists():
        return
    content = json.loads(file.read_text())
    seconds = content["duration_by_test"]
    about = {name: {*tests_about(name)} for name in modules_of(folder.name)}
    for function, tests in content["tests_by_mangled_function_name"].items():
        direct = about.get(f"{folder.name}/{function.split('.')[2]}.py", set())
        ranked = sorted(tests, key=lambda test: (test.split("::")[0].rpartition("/")[2] not in direct, seconds[test]))
        total = itertools.accumulate(seconds[test] for test in ranked)
        chosen = [test for test, until in zip(ranked, total, strict=True) if until <= MOST_SECONDS]
        content["tests_by_mangled_function_name"][function] = chosen[:MOST_TESTS] or ranked[:1]
    file.write_text(json.dumps(content))


def run(folder: Path, names: list[str], jobs: int) -> None:
    """Run mutmut on the named mutants, even if their results are known. Ends the process if mutmut fails."""
    if not names:
        return
    print(f"running {len(names)} mutants; progress: {folder / LOG}", file=sys.stderr, flush=True)
    command = [sys.executable, "-m", "mutmut", "run", "--max-children", str(jobs), *names]
    with (folder / LOG).open("wb") as log:
        code = subprocess.run(command, cwd=folder, check=False, stdout=log, stderr=subprocess.STDOUT).returncode
    if code:
        print(f"mutmut failed with exit code {code}: read {folder / LOG}", file=sys.stderr)
        raise SystemExit(2)


def copy(source: Path, target: Path) -> None:
    """Copy files with their times, because mutmut generates mutants again for newer files."""
    if source.is_file():
        shutil.copy2(source, target)
        return
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__", ".spack-env"))


def results(folder: Path) -> dict[str, str]:
    """{mutant: result} of all mutants that mutmut knows."""
    command = [sys.executable, "-m", "mutmut", "results", "--all", "true"]
    text = subprocess.run(command, cwd=folder, check=False, capture_output=True, text=True).stdout
    lines = (line.strip().partition(": ") for line in text.splitlines())
    return {name: status for name, _, status in lines if status}


def print_results(module: str, found: list[tuple[str, str]]) -> int:
    """Print the surviving mutants and a line for the module. Returns 1 if too few mutants were killed."""
    for name, status in found:
        if status not in KILLED:
            print(f"{status}: {name}")
    statuses = Counter(status for _, status in found)
    killed = sum(statuses[status] for status in KILLED)
    counts = ", ".join(f"{count} {status}" for status, count in statuses.most_common())
    print(f"{module}: {share(killed, len(found))} ({counts})", flush=True)
    return 0 if killed >= LEAST * len(found) else 1


def share(killed: int, total: int) -> str:
    """The number of killed mutants, with its percentage."""
    return f"{killed} of {total} mutants were killed, {100 * killed / max(total, 1):.1f} %"


def interval(killed: int, total: int) -> tuple[float, float]:
    """The 95 % Wilson interval of the share of killed mutants, as fractions."""
    z = 1.96
    middle = (killed + z * z / 2) / (total + z * z)
    half = z / (total + z * z) * math.sqrt(killed * (total - killed) / total + z * z / 4)
    return middle - half, middle + half


if __name__ == "__main__":
    sys.exit(main())
