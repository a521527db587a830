"""What of a run was not measured, and why; and the command that measures a failed test case again."""

import shlex
from collections.abc import Iterator
from typing import Any

from ..errors import clean
from ..judge.verdicts import Verdict
from ..record import units
from ..runs.judging import Judged
from ..runs.modes import NODES

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
    """The command that measures each failed test case again."""
    failed = {one.test.name for one in judged if one.verdict > Verdict.WARN}
    told = set()
    for attempt in content["runs"]:
        for case in attempt["testcases"]:
            name = str(case.get("display_name") or case["name"])
            if name in failed and name not in told and case.get("hashcode"):
                told.add(name)
                chosen = [f"--system={case.get('system')}:{case.get('partition')}", "-n", f"/{case['hashcode']}"]
                again = shlex.join(["reframe", "-C", "config/settings.py", "-c", "checks", "-R", "-r", *chosen])
                node = f"{NODES}={shlex.quote(clean(str(case['node'])))} " if case.get("node") else ""
                yield f"  again: {node}{clean(again)}  # {clean(name)}"
