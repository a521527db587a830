"""Rules of the measuring engine, changed one at a time: does a native test fail each time?

    python tests/tools/native_mutants.py [--only FILE] [--first LINE] [--minutes 60]

The changes are those of native_mutants.txt. They are made in a copy, .build/native_mutants, whose tests are built once
(with ccache, where that is set up) and then for each change anew. Prints each change that no test saw, with its line in
the list, and the share that was seen; the exit code is 1 where that is less than LEAST, and 2 where a change does not
compile, which is a mistake in the list.
"""

import argparse
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

REPOSITORY = Path(__file__).resolve().parents[2]
LIST = Path(__file__).with_suffix(".txt")
TREE = REPOSITORY / ".build" / "native_mutants"
BUILD = TREE / ".build" / "test"
LEAST = 0.90
HANGS = 300  # seconds: a change after which the tests never end is seen
#: The tests of these rules; the others do not reach them, or take seconds.
SUITES = (
    *(
        "Median",
        "MedianInterval",
        "RobustSigma",
        "Statistics",
        "FitTransfer",
        "StopRule",
        "Pattern",
        "Measure",
        "Sweep",
    ),
    *(
        "Engine",
        "EngineInTrouble",
        "Calibration",
        "Witnesses",
        "Controls",
        "Outliers",
        "References",
        "SecondLook",
        "Together",
        "Stress",
    ),
    *("CopySampler", "BothWays", "Repeats", "Judge", "EndingOf", "SimulatedFault", "FewRounds", "Suspicion"),
)


class Change(NamedTuple):
    """A text that stands once in a file, and what stands there instead; line: of the list."""

    line: int
    file: str
    old: str
    new: str


class UnfitError(Exception):
    """The list does not fit the sources."""


def changes(text: str) -> Iterator[Change]:
    """The changes of a list. Raises UnfitError."""
    file, old = "", None
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("- ") and file:
            old = line[2:]
        elif line.startswith("+") and old is not None:
            yield Change(number, file, old, line[2:])
            old = None
        elif line.startswith("src/"):
            file = line
        elif line and not line.startswith("#"):
            raise UnfitError(f"{LIST.name}:{number}: '{line}' is neither a file nor a change")


def changed(content: str, change: Change) -> str:
    """A file's content after a change. Raises UnfitError."""
    count = content.count(change.old)
    if count != 1:
        raise UnfitError(f"{LIST.name}:{change.line}: '{change.old}' stands {count} times in {change.file}, not once")
    return content.replace(change.old, change.new)


def build() -> bool:
    """Does it compile?"""
    log = TREE / "build.log"
    with log.open("w") as output:
        words = ["cmake", "--build", BUILD, "-j", "2", "--target", "native_tests"]
        return subprocess.run(words, stdout=output, stderr=output, check=False).returncode == 0


def passes() -> bool:
    """Do the tests pass? Not where they hang."""
    words = [
        BUILD / "tests" / "native_tests",
        "--gtest_fail_fast",
        f"--gtest_filter={':'.join(f'{suite}.*' for suite in SUITES)}",
    ]
    with (TREE / "tests.log").open("w") as output:
        try:
            return subprocess.run(words, stdout=output, stderr=output, timeout=HANGS, check=False).returncode == 0
        except subprocess.TimeoutExpired:
            return False


def prepare() -> None:
    """The copy, configured and built; its tests pass. Files that are the same keep their times, and so do objects."""
    for name in ("src", "tests/native", "tests/data"):
        for source in sorted((REPOSITORY / name).rglob("*")):
            target = TREE / source.relative_to(REPOSITORY)
            if source.is_file() and not (target.is_file() and target.read_bytes() == source.read_bytes()):
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(source, target)
    subprocess.run(
        ["cmake", "--preset", "test", "-DLINKMATRIX_WERROR=OFF"],
        cwd=TREE / "src",
        stdout=subprocess.DEVNULL,
        check=True,
    )
    if not build():
        raise UnfitError(f"the tests are not built without a change: {TREE / 'build.log'}")
    if not passes():
        raise UnfitError(f"the tests fail without a change: {TREE / 'tests.log'}")


def is_seen(change: Change) -> bool:
    """Does a test fail after it? Raises UnfitError."""
    path = TREE / change.file
    before = path.read_text()
    try:
        path.write_text(changed(before, change))
        if not build():
            raise UnfitError(f"{LIST.name}:{change.line}: it does not compile: {TREE / 'build.log'}")
        return not passes()
    finally:
        path.write_text(before)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", default="", metavar="TEXT", help="files whose name has it")
    parser.add_argument(
        "--first", type=int, default=0, metavar="LINE", help="of the list, from which on changes are tried"
    )
    parser.add_argument("--minutes", type=float, default=1e6, help="no change is tried later")
    options = parser.parse_args()
    until = time.monotonic() + 60 * options.minutes
    tried = seen = 0
    try:
        listed = [change for change in changes(LIST.read_text()) if options.only in change.file]
        wanted = [change for change in listed if change.line >= options.first]
        for change in wanted:
            changed((REPOSITORY / change.file).read_text(), change)
        prepare()
        for change in wanted:
            if time.monotonic() > until:
                break
            tried += 1
            found = is_seen(change)
            seen += found
            if not found:
                print(f"{LIST.name}:{change.line}: {change.file}: no test sees '{change.new or 'nothing'}'", flush=True)
            print(f"{tried} of {len(wanted)}: {'seen' if found else 'not seen'}", file=sys.stderr, flush=True)
    except UnfitError as error:
        print(error, file=sys.stderr)
        return 2
    print(f"{seen} of {tried} changes were seen, {100 * seen / max(tried, 1):.1f} %; the list has {len(wanted)}")
    return 0 if seen >= LEAST * tried else 1


if __name__ == "__main__":
    sys.exit(main())
