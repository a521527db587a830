"""Mutation tests with mutmut: does a test fail for each change of the judging code?

Run `make mutants`, or `python tests/tools/mutants.py references/noise.py locate` for some modules or subpackages.
`--sample 60` tries at most 60 mutants per module, the same ones each time. The tool prints the surviving mutants and
the share of killed mutants per module. Exit code 1: this share is below LEAST for a module.

mutmut requires the package at the top of its folder, so the tool works on copies, .build/mutants/SUBPACKAGE. A killed
mutant stays killed until its function changes; a surviving mutant is tried again. `cd .build/mutants/SUBPACKAGE &&
mutmut show NAME` shows a mutant.
"""

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
PLACE = REPOSITORY / ".build" / "mutants"
#: Room → the tests that are about it. Others reach it too, but whole runs of them would take days.
ROOMS = {
    "references": (
        "test_noise",
        "test_tolerances",
        "test_references",
        "test_pair_classes",
        "test_reference_keys",
        "test_keys",
        "test_published",
        "test_adopt",
        "test_adopt_classes",
        "test_adopt_limits",
        "test_adopt_noise",
        "test_diagnose",
    ),
    "judge": (
        "test_rules",
        "test_evaluate",
        "test_cell_counts",
        "test_not_held",
        "test_run_findings",
        "test_large",
        "test_crashes",
        "test_disturbances",
        "test_disturbed_recordings",
        "test_test_verdict",
        "test_node_comparison",
        "test_few_matchings",
        "test_soak",
        "test_soak_verdicts",
    ),
    "locate": (
        "test_hypotheses",
        "test_layout",
        "test_wording",
        "test_sentences",
        "test_diagnose",
        "test_between_nodes",
        "test_bottleneck",
        "test_bottleneck_parts",
        "test_deviations",
        "test_few_matchings",
        "test_halves",
        "test_left_out",
        "test_lost_endpoint",
        "test_many_slow_endpoints",
        "test_only_adapter",
        "test_ordering",
        "test_endpoint_layout",
        "test_sharing",
        "test_collective_cause",
    ),
    "foreign": (
        "test_foreign",
        "test_foreign_nvbandwidth",
        "test_foreign_osu",
        "test_foreign_sizes",
        "test_foreign_tables",
        "test_foreign_ppu",
        "test_foreign_reading",
        "test_foreign_scan",
    ),
}
#: Selects fast tests: without those that read hundreds of matrices or all files in tests/data, and of the tests of
#: `adopt` only those about noise.
QUICK = (
    "not (alarm or thousand_endpoints or put_in_are_located or real_run or shipped or archive or mixed_up"
    " or spoilt or wrong_cell or whatever_ends or beside_itself or stand_beside or stands_beside)"
    " and (not test_adopt or noise or has_no_reference or number_of_cells)"
)
LEAST = 0.90
UNKNOWN = "not checked"
KILLED = ("killed", "timeout", "segfault", "suspicious")
COPIED = ("tests", "config", "checks", "src", "scripts", "CONTRIBUTING.md", "README.md", "spack-env", ".ci", "Makefile")

CONFIG = """[mutmut]
source_paths=linkmatrix
only_mutate=
    linkmatrix/{room}/*
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
    -k
    {quick}
    --hypothesis-seed=0
    --hypothesis-profile=mutants
pytest_add_cli_args_test_selection=
    {tests}
"""


def main(arguments: list[str] | None = None) -> int:
    """Run the mutation tests. Exit code: 0 if enough mutants were killed, 1 if not, 2 if mutmut failed."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("wanted", nargs="*", metavar="SUBPACKAGE[/MODULE.py]", help="default: all subpackages")
    parser.add_argument("--sample", type=int, metavar="N", help="try N mutants of each module at most")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), metavar="N", help="mutants at once")
    options = parser.parse_args(arguments)
    package = REPOSITORY / "reports" / "linkmatrix"
    modules = [one for wanted in options.wanted or ROOMS for one in modules_of(package, wanted)]
    unknown = [one for one in options.wanted if not modules_of(package, one)]
    if unknown:
        print(f"{unknown[0]} is no room and no module of {', '.join(ROOMS)}", file=sys.stderr)
        return 2
    rooms = dict.fromkeys(module.split("/")[0] for module in modules)
    return max(tried(room, [one for one in modules if one.startswith(f"{room}/")], options) for room in rooms)


def modules_of(package: Path, wanted: str) -> list[str]:
    """The modules of a subpackage that contain code, or the named module; [] for an unknown name."""
    room, _, name = wanted.partition("/")
    there = sorted((package / room).glob(name or "*.py")) if room in ROOMS else []
    return [f"{room}/{path.name}" for path in there if path.name != "__init__.py"]


def tried(room: str, modules: list[str], options: argparse.Namespace) -> int:
    """Try the mutants of modules of a subpackage. Returns the exit code as `main`."""
    place = PLACE / room
    place.mkdir(parents=True, exist_ok=True)
    copy(REPOSITORY / "reports" / "linkmatrix", place / "linkmatrix")
    there = [name for name in COPIED if (REPOSITORY / name).exists()]
    for name in there:
        copy(REPOSITORY / name, place / name)
    shutil.copy2(REPOSITORY / "pyproject.toml", place)
    tests = [f"tests/unit/{name}.py" for name in ROOMS[room] if (REPOSITORY / f"tests/unit/{name}.py").exists()]
    (place / "setup.cfg").write_text(
        CONFIG.format(room=room, copied="\n    ".join(there), quick=QUICK, tests="\n    ".join(tests))
    )
    names = {module: mutants_of(place, module, options.sample) for module in modules}
    wanted = [name for some in names.values() for name in some]
    known = results(place)
    run(place, [name for name in wanted if known.get(name) not in KILLED], options.jobs)
    found = results(place)
    # mutmut forgets the results of changed functions while it runs
    run(place, [name for name in wanted if found.get(name, UNKNOWN) == UNKNOWN], options.jobs)
    found = results(place)
    return max(
        print_results(module, {name: found.get(name, UNKNOWN) for name in some}) for module, some in names.items()
    )


def mutants_of(place: Path, module: str, sample: int | None) -> list[str]:
    """The names of a module's mutants, or a reproducible choice of `sample` of them."""
    source = (
        "import json, pathlib, sys; from mutmut.mutation.file_mutation import mutate_file_contents as mutate;"
        "print(json.dumps(list(mutate(sys.argv[1], pathlib.Path(sys.argv[1]).read_text(), None, None).mutant_names)))"
    )
    command = [sys.executable, "-c", source, f"linkmatrix/{module}"]
    found = subprocess.run(command, cwd=place, check=True, capture_output=True, text=True).stdout
    dotted = f"linkmatrix/{module}".removesuffix(".py").replace("/", ".")
    names = [f"{dotted}.{name}" for name in json.loads(found)]
    return names if sample is None or len(names) <= sample else random.Random(module).sample(names, sample)


def run(place: Path, names: list[str], jobs: int) -> None:
    """Run mutmut on the named mutants, even if their results are known."""
    if names:
        command = [sys.executable, "-m", "mutmut", "run", "--max-children", str(jobs), *names]
        code = subprocess.run(command, cwd=place, check=False, stdout=sys.stderr).returncode
        if code:
            print(f"{place}: mutmut ended with {code}: nothing is known", file=sys.stderr)
            raise SystemExit(2)


def copy(source: Path, target: Path) -> None:
    """Copy files with their times, because mutmut generates mutants again for newer files."""
    if source.is_file():
        shutil.copy2(source, target)
        return
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__", ".spack-env"))


def results(place: Path) -> dict[str, str]:
    """{mutant: result} of all mutants that mutmut knows."""
    command = [sys.executable, "-m", "mutmut", "results", "--all", "true"]
    text = subprocess.run(command, cwd=place, check=False, capture_output=True, text=True).stdout
    lines = (line.strip().partition(": ") for line in text.splitlines())
    return {name: status for name, _, status in lines if status}


def print_results(module: str, found: dict[str, str]) -> int:
    """Print the surviving mutants and a line for the module."""
    counts = Counter(found.values())
    for name, status in found.items():
        if status not in KILLED:
            print(f"{status}: {name}")
    killed, total = sum(counts[word] for word in KILLED), len(found)
    statuses = ", ".join(f"{count} {word}" for word, count in counts.most_common())
    print(
        f"{module}: {killed} of {total} mutants were killed, {100 * killed / max(total, 1):.1f} % ({statuses})",
        flush=True,
    )
    return 0 if killed >= LEAST * total else 1


if __name__ == "__main__":
    sys.exit(main())
