"""The command that measures a failed test case of a run again."""

import shlex
from collections.abc import Iterator
from typing import Any

from ..errors import clean
from ..judge.verdicts import Verdict
from ..runs.judging import Judged
from ..runs.modes import NODES


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
