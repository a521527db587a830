"""Mutation tests: does a unit test fail for each change of the judging code?

Run `make mutants`, or `python tests/tools/mutants.py references/noise.py locate` for some modules or subpackages.
`--sample 60` runs at most 60 mutants per module, the same mutants each time. The tool prints the changed lines of each
surviving mutant, and the share of killed mutants per module and subpackage. Exit code 1: this share is below LEAST for
a module.

mutmut generates the mutants into a copy of the package in .build/mutants. One process of pytest collects the tests,
and runs each test once to find out which functions it calls (`mutant_runner.py`). Each mutant then runs in a fork of
this process. The output of pytest is in .build/mutants/pytest.log.
"""

import argparse
import ast
import contextlib
import difflib
import math
import os
import random
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

from mutant_runner import KILLED, MutantRunner

REPOSITORY = Path(__file__).resolve().parents[2]
PACKAGE = REPOSITORY / "reports" / "linkmatrix"
UNIT_TESTS = REPOSITORY / "tests" / "unit"
COPY = REPOSITORY / ".build" / "mutants"
SUBPACKAGES = ("references", "judge", "locate", "foreign")
LEAST = 0.90
MANY_FILES, OWN_SHARE = 25, 1 / 3
#: Files of tests that run a browser.
LEFT_OUT = ("test_page_browser.py",)
OPTIONS = (
    *("-s", "-q", "--tb=line", "-m", "not thorough", "-o", "tmp_path_retention_policy=none"),
    *("-p", "no:xdist", "-p", "no:rerunfailures", "-p", "no:cacheprovider", "-p", "no:faulthandler"),
    *("--hypothesis-seed=0", "--hypothesis-profile=mutants"),
)


class Mutants(NamedTuple):
    """The mutants of a module. names: of the mutants. code: all variants of its functions. spans: {variant: lines}."""

    names: list[str]
    code: str
    spans: dict[str, slice]

    def change(self, name: str) -> str:
        """The lines that a mutant changes, with - and +."""
        before, after = (self.lines_of(variant) for variant in (f"{name.rpartition('_')[0]}_orig", name))
        lines = (
            line for line in difflib.unified_diff(before, after, n=0, lineterm="") if line[:3] not in ("---", "+++")
        )
        return "\n".join(f"    {line}" for line in lines if not line.startswith("@@"))

    def lines_of(self, variant: str) -> list[str]:
        """The body of a variant, without the line of its name."""
        return self.code.splitlines()[self.spans[variant]]


def main(arguments: list[str] | None = None) -> int:
    """Run the mutation tests. Exit code: 0 if enough mutants were killed, 1 if not, 2 if pytest failed."""
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
    return measure(modules, options.sample, options.jobs)


def modules_of(wanted: str) -> list[str]:
    """The modules of a subpackage that contain code, or the named module; [] for an unknown name."""
    subpackage, _, name = wanted.partition("/")
    files = sorted((PACKAGE / subpackage).glob(name or "*.py")) if subpackage in SUBPACKAGES else []
    return [f"{subpackage}/{path.name}" for path in files if path.name != "__init__.py"]


def tests_about(module: str) -> list[str]:
    """The names of the unit tests' files that import a module, or have its name; also of a subpackage."""
    prefix = f"{dotted(module)}."
    return [
        file.name
        for file, names in imports().items()
        if file.name == f"test_{Path(module).name}" or any(f"{name}.".startswith(prefix) for name in names)
    ]


def tests_of(wanted: str) -> set[str]:
    """The names of the files of unit tests that run for a module or subpackage.

    Of the many files that import a common module, only the files run that import little of other subpackages.
    """
    prefix = f"linkmatrix.{wanted.partition('/')[0]}."
    own = {
        file.name: sum(name.startswith(prefix) for name in names)
        / sum(name.startswith("linkmatrix.") for name in names)
        for file, names in imports().items()
        if any(name.startswith(prefix) for name in names)
    }
    about = [tests_about(module) for module in modules_of(wanted)]
    return {name for names in about for name in names if len(names) <= MANY_FILES or own.get(name, 0) >= OWN_SHARE}


@cache
def imports() -> dict[Path, list[str]]:
    """{file of unit tests: the full names that it imports}."""
    files = [file for file in sorted(UNIT_TESTS.glob("test_*.py")) if file.name not in LEFT_OUT]
    return {file: list(imported(ast.parse(file.read_bytes()))) for file in files}


def imported(tree: ast.Module) -> Iterator[str]:
    """The full names that a module imports."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def dotted(module: str) -> str:
    """ "linkmatrix.judge.rules" of "judge/rules.py"."""
    return f"linkmatrix.{module.removesuffix('.py').replace('/', '.')}"


def sample_of(names: list[str], size: int | None, seed: str) -> list[str]:
    """A random sample of names, the same for the same seed; all names if `size` is None or too large."""
    return names if size is None or len(names) <= size else random.Random(seed).sample(names, size)


def measure(modules: list[str], sample: int | None, jobs: int) -> int:
    """Run the mutants of modules, and print the results. Returns the exit code of `main`."""
    mutants = copy_package(modules)
    chosen = {dotted(module): sample_of(mutants[module].names, sample, module) for module in modules}
    about = {dotted(module): {*tests_about(module)} for module in modules}
    runner = MutantRunner(chosen, about, jobs)
    subpackages = dict.fromkeys(module.split("/")[0] for module in modules)
    files = [
        str(UNIT_TESTS / name) for name in sorted(set().union(*map(tests_of, subpackages), *map(tests_of, modules)))
    ]
    if code := run_pytest(files, runner):
        print(f"pytest failed with exit code {code}: read {COPY / 'pytest.log'}", file=sys.stderr)
        return 2
    codes = [print_module(module, mutants[module], runner.results[dotted(module)]) for module in modules]
    for subpackage in subpackages:
        prefix = f"linkmatrix.{subpackage}."
        print_total(
            subpackage,
            [one for name, some in runner.results.items() if name.startswith(prefix) for one in some.values()],
        )
    return max(codes)


def copy_package(modules: list[str]) -> dict[str, Mutants]:
    """Copy the package with the mutants of modules. Returns {module: its mutants}.

    Links to the other folders of the repository are next to the copy, because `suite.py` looks for them there.
    """
    from mutmut.mutation.file_mutation import mutate_file_contents  # `make mutants` installs mutmut

    shutil.rmtree(COPY, ignore_errors=True)
    copy = COPY / "reports" / PACKAGE.name
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    for entry in REPOSITORY.iterdir():
        if entry.name not in ("reports", ".build", ".git"):
            (COPY / entry.name).symlink_to(entry)
    found = {}
    for module in modules:
        mutated = mutate_file_contents(module, (copy / module).read_text(), None, None)
        (copy / module).write_text(mutated.code)
        spans = {name: slice(span.start, span.end) for name, span in mutated.line_span_by_function_name.items()}
        found[module] = Mutants(list(mutated.mutant_names), mutated.code, spans)
    return found


def run_pytest(files: list[str], runner: MutantRunner) -> int:
    """Run pytest with the runner on the copy of the package. Returns its exit code."""
    import pytest

    os.environ["OPENBLAS_NUM_THREADS"] = "1"  # a fork copies no threads
    sys.path.insert(0, str(COPY / "reports"))
    with (
        (COPY / "pytest.log").open("w") as log,
        contextlib.redirect_stdout(log),
        tempfile.TemporaryDirectory() as folder,  # other runs of pytest remove old folders from the usual place
    ):
        places = ["--rootdir", str(REPOSITORY), "--basetemp", f"{folder}/tests"]
        return int(pytest.main([*OPTIONS, *places, *files], plugins=[runner]))


def print_module(module: str, mutants: Mutants, results: dict[str, str]) -> int:
    """Print the surviving mutants and a line for the module. Returns 1 if too few mutants were killed."""
    for name, result in results.items():
        if result not in KILLED:
            print(f"{result}: {module} {name}\n{mutants.change(name)}")
    counts = ", ".join(f"{count} {result}" for result, count in Counter(results.values()).most_common())
    killed = sum(result in KILLED for result in results.values())
    print(f"{module}: {share(killed, len(results))} ({counts})")
    return 0 if killed >= LEAST * len(results) else 1


def print_total(subpackage: str, results: list[str]) -> None:
    """Print the share of killed mutants of a subpackage."""
    killed = sum(result in KILLED for result in results)
    low, high = interval(killed, len(results))
    print(f"{subpackage}: {share(killed, len(results))}, 95 % interval {100 * low:.1f} to {100 * high:.1f} %")


def share(killed: int, total: int) -> str:
    """The number of killed mutants, with its percentage."""
    return f"{killed} of {total} mutants were killed, {100 * killed / max(total, 1):.1f} %"


def interval(killed: int, total: int) -> tuple[float, float]:
    """The 95 % Wilson interval of the share of killed mutants, as fractions."""
    z = 1.96
    middle = (killed + z * z / 2) / (total + z * z)
    half = z / (total + z * z) * math.sqrt(killed * (total - killed) / max(total, 1) + z * z / 4)
    return middle - half, middle + half


if __name__ == "__main__":
    sys.exit(main())
