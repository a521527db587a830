"""What of a run was not measured, and why; and the command that measures a failed test case again."""

import shlex
from collections.abc import Iterable, Iterator
from typing import Any

from ..errors import clean
from ..judge.verdicts import Verdict
from ..record import units
from ..runs.judging import Judged
from ..runs.modes import NODES, of_program, session_options
from ..runs.stored import Run
from . import words

FITTING = "linkmatrix measure"
MOST_REASONS, MOST_CHARACTERS = 5, 400


def unmeasured_lines(judged: list[Judged]) -> list[str]:
    """Why tests were not measured, in one line for all that share the reason; a sweep says it of each of its nodes."""
    tests: dict[str, list[str]] = {}
    for one in judged:
        if one.test.unmeasured and one.test.result != "skip" and not one.test.node:
            reason = (one.test.reason or one.test.unmeasured).removeprefix("sanity error: ")
            tests.setdefault(reason, []).append(one.test.name)
    lines = []
    for reason, names in tests.items():
        who = clean(names[0]) + (f" and {len(names) - 1} more" if names[1:] else "")
        lines.append(f"  not measured: {who}: {clean(reason)[:MOST_CHARACTERS]}")
    return units.first(lines, MOST_REASONS)


def rerun_lines(judged: list[Judged], content: dict[str, Any]) -> Iterator[str]:
    """The command that measures each test case again that is DISTURBED, INCOMPLETE or FAIL.

    A fixture has none: ReFrame runs no test for its hash.
    """
    failed = {one.test.name: one for one in judged if one.verdict >= Verdict.DISTURBED and not one.test.fixture}
    told = set()
    for attempt in content["runs"]:
        for case in attempt["testcases"]:
            name = str(case.get("display_name") or case["name"])
            if name in failed and name not in told and case.get("hashcode"):
                told.add(name)
                place = f"{case.get('system')}:{case.get('partition')}"
                short = short_samples([failed[name]])
                again = command_of(place, [str(case["hashcode"])], str(case.get("node") or ""), short)
                yield f"  again: {again}  # {clean(name)}"


def short_samples(judged: Iterable[Judged]) -> int:
    """The short samples that tests were asked for: a rerun without them cannot find an intermittent cell again."""
    records = [one.test.record for one in judged if one.test.record is not None]
    asked = [(result.get("short_samples") or {}).get("asked", 0) for record in records for result in record["results"]]
    return max(asked, default=0)


def command_of(partition: str, hashcodes: Iterable[str], node: str, short: int = 0) -> str:
    """The command that repeats tests of ReFrame. node: of tests of one node, else "". short: their short samples."""
    chosen = [f"--system={partition}", *(word for code in hashcodes for word in ("-n", f"/{code}"))]
    chosen += session_options("short_samples", short) if short else []
    again = f"{FITTING} -- {shlex.join(chosen)}"
    return (f"{NODES}={shlex.quote(clean(node))} " if node else "") + clean(again)


def commands(run: Run, judged: list[Judged], most: int) -> list[str]:
    """The commands that repeat a run: its test cases that are DISTURBED, INCOMPLETE or FAIL, the worst first, or all.

    The test cases of a partition are one command. For records: the commands that made them. For a run without pairs:
    the command that chooses what fits.
    """
    if all(words.has_no_pair(one) for one in judged):
        return [FITTING]
    tests = [one for one in judged if one.verdict >= Verdict.DISTURBED and one.test.hashcode]
    tests.sort(key=lambda one: -one.verdict)
    failed: dict[tuple[str, str], dict[str, None]] = {}  # {(partition, node): hashes}
    for test in (one.test for one in tests if not one.test.fixture):
        failed.setdefault((test.partition, test.node), {})[test.hashcode] = None
    if failed and len(tests) < len(judged):
        short = short_samples(tests)
        return [command_of(partition, codes, node, short) for (partition, node), codes in failed.items()][:most]
    return all_commands(run, judged)[:most]


def all_commands(run: Run, judged: list[Judged]) -> list[str]:
    """The command lines that measure all of it again: ReFrame's, or those of the records."""
    if run.rerun:
        return [run.rerun]
    records = (one.test.record for one in judged if one.test.record is not None)
    return list(dict.fromkeys(of_program(record) for record in records)) or [FITTING]
