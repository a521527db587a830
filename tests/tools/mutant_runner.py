"""A plugin of pytest that runs each mutant in a fork of one process, after the tests were collected once."""

import itertools
import json
import os
import resource
import signal
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

KILLED = ("killed", "timeout")
MOST_TESTS, MOST_SECONDS = 300, 15.0  # per mutant
MOST_BYTES = 8 << 30  # of memory, per mutant


class PassingTest(NamedTuple):
    """A test that passes without mutants. index: in the session. functions: the mutated functions that it calls."""

    index: int
    file: str
    seconds: float
    functions: list[str]


class MutantRunner:
    """Runs mutants in place of the tests. results: {module: {mutant: "killed", "timeout", "survived" or "no tests"}}.

    chosen: {module: names of its mutants}. about: {module: names of the files of tests about it}. jobs: number of
    concurrent mutants.
    """

    def __init__(self, chosen: Mapping[str, list[str]], about: Mapping[str, set[str]], jobs: int) -> None:
        self.chosen, self.about, self.jobs = chosen, about, jobs
        self.results: dict[str, dict[str, str]] = {module: dict.fromkeys(names, "") for module, names in chosen.items()}
        self.running: dict[int, tuple[str, str]] = {}  # {process: (module, mutant)}

    def pytest_runtestloop(self, session: Any) -> bool:
        """Run the mutants."""
        runs = functions_of_tests(session)
        print(f"{len(runs)} of {len(session.items)} tests pass without mutants", file=sys.stderr, flush=True)
        for module, names in self.chosen.items():
            for name in names:
                tests = limited_tests(f"{module}.{name.partition('__mutmut')[0]}", runs, self.about[module])
                if not tests:
                    self.results[module][name] = "no tests"
                    continue
                if len(self.running) >= self.jobs:
                    self.wait()
                self.running[start(session, f"{module}.{name}", tests)] = module, name
        while self.running:
            self.wait()
        return True

    def wait(self) -> None:
        """Wait for one mutant, and store its result."""
        process, status = os.wait()
        if process in self.running:
            module, name = self.running.pop(process)
            code = os.waitstatus_to_exitcode(status)
            self.results[module][name] = {0: "survived", 1: "killed"}.get(code, "timeout")


def limited_tests(function: str, runs: list[PassingTest], about: set[str]) -> list[PassingTest]:
    """The tests that call a function, limited: tests about its module come first, then the fastest."""
    calling = [run for run in runs if function in run.functions]
    calling.sort(key=lambda run: (run.file not in about, run.seconds))
    total = itertools.accumulate(run.seconds for run in calling)
    limited = [run for run, until in zip(calling, total, strict=True) if until <= MOST_SECONDS]
    return (limited or calling[:1])[:MOST_TESTS]


def functions_of_tests(session: Any) -> list[PassingTest]:
    """Run each test in a fork, because a test may fill a cache."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "runs.json"
        if (process := os.fork()) == 0:
            file.write_text(json.dumps(run_unchanged(session)))
            os._exit(0)
        os.waitpid(process, 0)
        return [PassingTest(*fields) for fields in json.loads(file.read_text())]


def run_unchanged(session: Any) -> list[PassingTest]:
    """The tests that pass without mutants, with the functions that they call."""
    from mutmut.mutation import trampoline

    called: set[str] = set()
    trampoline.record_trampoline_hit = lambda name, caller=None: called.add(name)
    trampoline.set_mutant_under_test("stats")
    found = []
    for index, item in enumerate(session.items):
        called.clear()
        began, failed = time.monotonic(), session.testsfailed
        run_test(session, index)
        if session.testsfailed == failed:
            found.append(PassingTest(index, item.path.name, time.monotonic() - began, sorted(called)))
    return found


def start(session: Any, mutant: str, tests: list[PassingTest]) -> int:
    """Run the tests of a mutant until one fails, in a fork. Returns the process, whose exit code is 1 if one failed."""
    process = os.fork()
    if process:
        return process
    seconds = int(10 + 5 * sum(test.seconds for test in tests))
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, MOST_BYTES))
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(10 * seconds)  # a busy machine needs more time than the processor
    os.environ["MUTANT_UNDER_TEST"] = mutant
    for test in tests:
        run_test(session, test.index)
        if session.testsfailed:
            os._exit(1)
    os._exit(0)


def run_test(session: Any, index: int) -> None:
    """Run a test with its fixtures. No fixture is kept for the next test."""
    item = session.items[index]
    item.config.hook.pytest_runtest_protocol(item=item, nextitem=None)
