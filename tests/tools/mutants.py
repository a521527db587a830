"""Mutation testing by mutmut: is there a test that fails where the code that judges says something else?

`make mutants`, or `python tests/tools/mutants.py references/noise.py locate` for some modules or rooms. Prints what
survived and the share that was killed, and ends with 1 where that is less than LEAST in a room. mutmut wants the
package at the top of its folder, so it works on copies, .build/mutants/ROOM. They keep what is known: only what changed
is tried again. `cd .build/mutants/ROOM && mutmut show NAME` shows a mutant.
"""

import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
PLACE = REPOSITORY / ".build" / "mutants"
#: Room → the tests that are about it. Others reach it too, but whole runs of them would take days.
ROOMS = {
    "judge": ("test_evaluate", "test_large", "test_huge", "test_between_nodes"),
    "locate": ("test_diagnose", "test_between_nodes", "test_huge"),
    "references": ("test_references", "test_reference_keys", "test_adopt", "test_evaluate", "test_diagnose"),
    "foreign": ("test_foreign", "test_parse", "test_published"),
}
LEAST = 0.90
KILLED = ("killed", "timeout", "segfault", "suspicious")
COPIED = ("tests", "config", "checks", "src", "scripts", "CONTRIBUTING.md", "README.md", "spack-env", ".ci", "Makefile")

CONFIG = """[mutmut]
source_paths=linkmatrix
only_mutate=
    {mutated}
also_copy=
    {copied}
pytest_add_cli_args=
    -x
    -p
    no:cacheprovider
    -m
    not integration
    --hypothesis-seed=0
pytest_add_cli_args_test_selection=
    {tests}
"""


def main(arguments: list[str]) -> int:
    """Exit code: 0 where enough was killed in each room, 1 where not, 2 where mutmut could not work."""
    unknown = [one for one in arguments if one.split("/")[0] not in ROOMS]
    if unknown:
        print(f"{unknown[0]} is in none of the rooms {', '.join(ROOMS)}", file=sys.stderr)
        return 2
    codes = []
    for room in ROOMS:
        wanted = [one for one in arguments or ROOMS if one.split("/")[0] == room]
        if wanted:
            codes.append(tried(room, [one if one.endswith(".py") else f"{one}/*" for one in wanted]))
    return max(codes)


def tried(room: str, wanted: list[str]) -> int:
    """Mutates the modules `wanted` of a room. Exit code as `main`."""
    place = PLACE / room
    place.mkdir(parents=True, exist_ok=True)
    copy(REPOSITORY / "reports" / "linkmatrix", place / "linkmatrix")
    there = [name for name in COPIED if (REPOSITORY / name).exists()]
    for name in there:
        copy(REPOSITORY / name, place / name)
    shutil.copy2(REPOSITORY / "pyproject.toml", place)
    tests = [f"tests/unit/{name}.py" for name in ROOMS[room]]
    lines = {"mutated": [f"linkmatrix/{one}" for one in wanted], "copied": there, "tests": tests}
    (place / "setup.cfg").write_text(CONFIG.format(**{key: "\n    ".join(value) for key, value in lines.items()}))
    code = subprocess.run([sys.executable, "-m", "mutmut", "run"], cwd=place, check=False).returncode
    found = results(place)
    if code or not found:
        print(f"{room}: mutmut ended with {code}: nothing is known", file=sys.stderr)
        return 2
    return told(room, found)


def copy(source: Path, target: Path) -> None:
    """Times stay: mutmut tries again what is newer."""
    if source.is_file():
        shutil.copy2(source, target)
        return
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__", ".spack-env"))


def results(place: Path) -> list[tuple[str, str]]:
    """(mutant, what became of it)."""
    command = [sys.executable, "-m", "mutmut", "results", "--all", "true"]
    text = subprocess.run(command, cwd=place, check=False, capture_output=True, text=True).stdout
    return [
        (name, status) for name, _, status in (line.strip().partition(": ") for line in text.splitlines()) if status
    ]


def told(room: str, found: list[tuple[str, str]]) -> int:
    """Prints survivors, and a line for the room."""
    counts = Counter(status for _, status in found)
    for name, status in found:
        if status not in KILLED:
            print(f"{status}: {name}")
    killed, total = sum(counts[word] for word in KILLED), len(found)
    said = ", ".join(f"{count} {word}" for word, count in counts.most_common())
    print(f"{room}: {killed} of {total} mutants were killed, {100 * killed / total:.1f} % ({said})")
    return 0 if killed >= LEAST * total else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
