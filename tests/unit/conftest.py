"""Fixtures of the unit tests: records, references, runs and schedulers for tests."""

import contextlib
import itertools
import json
import os
import random
import shutil
import time
from types import SimpleNamespace

import hypothesis
import pytest
from reframe.core import runtime

from linkmatrix import cli, invocation
from linkmatrix.record import matrix as matrices
from linkmatrix.record import reading
from linkmatrix.references.tables import References
from linkmatrix.reframe_ext.schedulers import pending
from linkmatrix.runs import judging
from linkmatrix.runs.stored import Run
from linkmatrix.runs.testcases import Test
from tests.tools import stored_verdicts, stores
from tests.tools.plain_record import TESTCASE, one_record
from tests.tools.simulated_reframe import Machine
from tests.tools.sites import Site

# no test asserts a time
hypothesis.settings.register_profile("linkmatrix", deadline=None)
hypothesis.settings.load_profile("linkmatrix")
# mutation tests need no smallest example of a failure
PHASES = (hypothesis.Phase.explicit, hypothesis.Phase.generate)
hypothesis.settings.register_profile("mutants", deadline=None, database=None, max_examples=25, phases=PHASES)


@pytest.fixture(autouse=True)
def nothing_is_built(monkeypatch):
    """Hide the programs that this clone has built, because printed commands name them."""
    monkeypatch.setattr(invocation, "built_programs", lambda name: [])


@pytest.fixture
def wide_terminal(monkeypatch):
    """A terminal that is wide enough to print each sentence on one line."""
    monkeypatch.setenv("COLUMNS", "2000")


@pytest.fixture
def make_record():
    return one_record


@pytest.fixture
def write_record(tmp_path):
    """A function that writes a valid record and returns its path."""

    def write(content=None, path=None, **changes):
        content = content or one_record(**changes)
        reading.check(content)
        path = path or tmp_path / "record.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(content), encoding="utf-8")
        return path

    return write


@pytest.fixture
def reference_folder(tmp_path):
    """A folder with the references 'hgx': 396 GB/s ± 2 % for each pair of 4 GPUs."""
    names = [f"gpu{index}" for index in range(4)]
    cells = [f"      {a}->{b}: [396.0, -0.02, 0.02, GB/s]" for a in names for b in names if a != b]
    head = ["intranode_p2p:", "  $index: [reference_name, testcase]", "  hgx:", f"    {TESTCASE}:"]
    folder = tmp_path / "references"
    folder.mkdir()
    (folder / "p2p.yaml").write_text("\n".join([*head, *cells, ""]), encoding="utf-8")
    return folder


@pytest.fixture
def sweeps(tmp_path, reference_folder):
    """A store of sweeps in the folder `prefix`, compared with the references 'hgx'."""
    return stores.Store(tmp_path / "prefix", reference_folder)


@pytest.fixture
def site_of_sweeps(sweeps, tmp_path, monkeypatch):
    """The working folder is a site with the references of `sweeps` and with this store."""
    (tmp_path / "config" / "references").mkdir(parents=True)
    (tmp_path / "config" / "settings.py").write_text("")
    shutil.copy(sweeps.references / "p2p.yaml", tmp_path / "config" / "references")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LINKMATRIX_PREFIX", str(sweeps.prefix))
    return sweeps


@pytest.fixture
def good(request, site_of_sweeps, make_record, linkmatrix):
    """A function that returns the nodes that are known good.

    `good.add(days, off, change, result, check)` stores a sweep of n1 that ran some days ago, and returns its report.
    The parameter False leaves out the verdict of the check. `good.output` is the output of the last call.
    """
    now, count = time.time() - stores.MEASURED, itertools.count(1)

    def add(days, off=None, change=lambda content: None, result="pass", check=None):
        record = stores.of_node(make_record(off=off), "n1")
        began = now - days * 86400
        path = site_of_sweeps.add(next(count), [record], began=began, change=change, result=result)
        if getattr(request, "param", True):
            stored_verdicts.of_report(path, site_of_sweeps.references, check)
        return path

    def known():
        _, out, errors = linkmatrix("export", "--format", "hostfile")
        known.output = out + errors
        return [line for line in out.splitlines() if not line.startswith("#")]

    known.add = add
    return known


@pytest.fixture
def site(tmp_path, monkeypatch, write_record, reference_folder):
    """A site with references in git. Its runs have stored verdicts."""
    return Site(tmp_path, monkeypatch, write_record, reference_folder)


@pytest.fixture
def judged_run(tmp_path, reference_folder):
    """A function that judges records: (run, judged tests), compared with `reference` or with nothing."""

    def judge(*contents, reference=None, **test):
        tests = tuple(Test(name=TESTCASE, record=content, **test) for content in contents)
        run = Run(path=tmp_path / "record.json", tests=tests)
        return run, judging.judge_all(run, References.load(reference_folder), reference)

    return judge


@pytest.fixture
def machine(tmp_path, monkeypatch, write_record, reference_folder, linkmatrix):
    """A site with a simulated ReFrame."""
    repository, prefix = tmp_path / "repository", tmp_path / "prefix"
    (repository / "config").mkdir(parents=True)
    (repository / "config" / "settings.py").write_text("")
    shutil.copytree(reference_folder, repository / "config" / "references")
    prefix.mkdir()
    monkeypatch.chdir(repository)
    monkeypatch.setenv("LINKMATRIX_PREFIX", str(prefix))
    return Machine(prefix, tmp_path / "played_reframe", write_record, linkmatrix)


@pytest.fixture
def linkmatrix(capsys):
    """A function that runs a command of linkmatrix, and returns (exit code, stdout, stderr).

    `linkmatrix.out` and `linkmatrix.err` assert the exit code, and return the text of this stream.
    """

    def run(*arguments):
        code = cli.main([str(argument) for argument in arguments])
        return code, *capsys.readouterr()

    def out(*arguments, code=0):
        found, printed, errors = run(*arguments)
        assert found == code, printed + errors
        return printed

    def err(*arguments, code=2):
        found, printed, errors = run(*arguments)
        assert found == code, printed + errors
        return errors

    run.out, run.err = out, err
    return run


@pytest.fixture
def nothing_is_held(monkeypatch):
    """Process small matrices like matrices that are too large for memory."""
    monkeypatch.setattr(matrices, "MOST_LOADED", 0)


@pytest.fixture
def store(tmp_path, make_record, write_record):
    """A function that writes records of `count` noisy runs; change(record, number) modifies each record."""

    def make(count=6, folder="runs", level=396.0, sigma=0.0005, size=4, change=None):
        chance = random.Random(f"{folder} {count}")
        for number in range(count):
            off = {
                (r, c): round(level * (1 + chance.gauss(0, sigma)), 3)
                for r in range(size)
                for c in range(size)
                if r != c
            }
            content = make_record(count=size, off=off)
            content["started"] = f"2026-11-{10 + number}T01:50:22Z"
            if change:
                change(content, number)
            write_record(content, tmp_path / folder / f"{number:02}" / "record.json")
        return tmp_path / folder

    return make


@pytest.fixture
def run(tmp_path, capsys):
    """A function that runs `linkmatrix adopt` with the file `run.file`, and returns (exit code, stdout, stderr)."""
    file = tmp_path / "references" / "p2p.yaml"

    def adopted(*arguments):
        code = cli.main(["adopt", *map(str, arguments), "--file", str(file)])
        return code, *capsys.readouterr()

    adopted.file = file
    return adopted


SCHEDULER = """
from linkmatrix import reframe_ext

partition = {"name": "p", "scheduler": reframe_ext.scheduler("WORD"), "launcher": "local", "environs": ["builtin"]}
site_configuration = {"systems": [{"name": "s", "hostnames": ["x"], "partitions": [partition]}]}
"""


@pytest.fixture
def scheduler_of(tmp_path):
    """A function that returns linkmatrix's scheduler for a scheduler name of ReFrame."""
    with contextlib.ExitStack() as stack:

        def make(word):
            settings = tmp_path / f"settings_{word}.py"
            settings.write_text(SCHEDULER.replace("WORD", word))
            found = stack.enter_context(runtime.temp_runtime(settings, "s"))
            return found.system.partitions[0].scheduler

        yield make


@pytest.fixture
def clock(monkeypatch):
    """The time of day, which only the test changes."""
    found = SimpleNamespace(now=1000.0)
    monkeypatch.setattr(time, "time", lambda: found.now)
    return found


@pytest.fixture
def log(monkeypatch):
    """The messages about waiting and doubtful jobs."""
    printed = []
    monkeypatch.setattr(pending, "getlogger", lambda: SimpleNamespace(info=printed.append))
    return printed


@pytest.fixture
def commands(tmp_path, monkeypatch):
    """A function that sets the output and the exit code of a command on PATH.

    `commands.calls(name)` returns the arguments of each call.
    """
    folder = tmp_path / "commands"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")

    def answer(name, output="", errors="", code=0):
        (folder / f"{name}.out").write_text(output)
        (folder / f"{name}.err").write_text(errors)
        program = folder / name
        lines = [f'echo "$*" >> {program}.calls', f"cat {program}.out", f"cat {program}.err >&2", f"exit {code}"]
        program.write_text("\n".join(["#!/bin/sh", *lines, ""]))
        program.chmod(0o755)

    def calls(name):
        file = folder / f"{name}.calls"
        return file.read_text().splitlines() if file.exists() else []

    answer.calls = calls
    return answer
