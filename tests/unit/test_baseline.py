"""`linkmatrix baseline`: from a machine without references to a run that is compared with them. ReFrame is played."""

import dataclasses
import json
import random
import re
import signal

import pytest

from linkmatrix import cli
from linkmatrix.commands import baseline
from linkmatrix.references.tables import References
from linkmatrix.runs import supervise
from linkmatrix.site import machine as found_machine
from linkmatrix.site import system_files
from linkmatrix.site.machine import Machine
from tests.tools import stores

NODE = Machine("vm", 2, 1, (), None, "local", "mpirun", True)
TESTCASE = "device_to_device_memcpy_write_ce"
READ = "device_to_device_memcpy_read_ce"
STEADY, NOISY = 0.001, 0.7
PAIRS = [(row, column) for row in range(4) for column in range(4) if row != column]


class Site:
    """A repository without references, whose ReFrame is played."""

    def __init__(self, machine, folder, make_record, write_record, capsys):
        self.machine, self.folder, self.capsys = machine, folder, capsys
        self.make_record, self.write_record = make_record, write_record
        (folder / "config" / "references" / "p2p.yaml").unlink()
        (folder / "config" / "systems").mkdir()

    @property
    def file(self):
        return self.folder / "config" / "systems" / "vm.py"

    def describe(self):
        """The system file that `detect` writes."""
        self.file.write_text(found_machine.system_file(NODE, "vm", "cpu"))
        self.machine.choose("vm", "cpu")

    @property
    def reference(self):
        return system_files.load_module(self.file).system["partitions"][0]["extras"].get("reference")

    def prepare(self, number, losses, table="", off=(), variant="", others=None):
        """The report of the run `number`. losses: {test case: largest loss of a run, as a fraction}."""
        cases = []
        for index, (name, loss) in enumerate(losses.items()):
            chance = random.Random(f"{name} {number}")
            level = 396 * (1 - loss * chance.random())
            values = {pair: round(level * (1 + chance.gauss(0, 0.0002)), 3) for pair in PAIRS}
            content = self.make_record(count=4, off=values | dict(off))
            content["started"] = f"2026-11-{10 + number}T01:50:22Z"
            content["results"][0]["testcase"] = name
            if others:
                content["results"][0]["others"] = others
            place = self.machine.folder / "output" / f"{number}-{index}"
            self.write_record(content, place / "record.json")
            cases.append(
                {
                    "name": f"intranode_p2p_{index}",
                    "display_name": f"intranode_p2p %testcase={name}",
                    "result": "pass",
                    "outputdir": str(place),
                    "stagedir": str(place),
                    "reference_name": table,
                    "reference_variant": variant,
                    "system": "vm",
                    "partition": "cpu",
                    "hashcode": f"abc{index}",
                    "fail_reason": None,
                }
            )
        report = {"session_info": {"cmdline": "reframe"}, "runs": [{"testcases": cases}]}
        (self.machine.folder / f"prepared-{number}.json").write_text(json.dumps(report))

    def baseline(self, *options):
        code = cli.main(["baseline", "--reframe", str(self.machine.reframe), *options])
        out = self.capsys.readouterr()
        return code, out.err + out.out

    def run(self, *options):
        """(exit code, output) of `linkmatrix run`."""
        code = cli.main(["run", "--reframe", str(self.machine.reframe), *options])
        return code, self.capsys.readouterr().out

    def runs(self):
        """The command lines of ReFrame's runs."""
        file = self.machine.folder / "command.txt"
        return file.read_text().splitlines() if file.exists() else []


@pytest.fixture
def site(machine, tmp_path, make_record, write_record, capsys):
    return Site(machine, tmp_path / "repository", make_record, write_record, capsys)


def test_six_runs_are_adopted_and_the_seventh_is_compared_with_them(site):
    site.describe()
    for number in range(6):
        site.prepare(number, {TESTCASE: STEADY})
    site.prepare(6, {TESTCASE: STEADY}, table="vm")
    code, out = site.baseline()
    assert code == 0 and "1 PASS" in out and out.splitlines()[-1].startswith("PASS  quick of this machine")
    assert len(site.runs()) == 7 and all("--tag=quick" in line for line in site.runs())
    assert list(References.load(site.folder / "config" / "references").testcases("vm")) == [TESTCASE]
    assert site.reference == "vm"


def test_a_table_of_another_size_is_found_too(site):
    site.describe()
    for number in range(7):
        site.prepare(number, {TESTCASE: STEADY}, variant="@1MiB")
    _, out = site.baseline()  # the verdict on the last run: tests/integration/test_baseline.py
    assert len(site.runs()) == 7 and site.reference == "vm" and "left out: " not in out
    assert References.load(site.folder / "config" / "references").names() == ["vm@1MiB"]


def test_what_is_too_noisy_is_left_out_by_name(site):
    site.describe()
    for number in range(6):
        site.prepare(number, {TESTCASE: STEADY, READ: NOISY})
    site.prepare(6, {TESTCASE: STEADY}, table="vm")
    code, out = site.baseline()
    assert code == 0 and out.splitlines()[-1].startswith("PASS")
    assert f"left out: intranode_p2p %testcase={READ}" in out.splitlines()
    *six, last = site.runs()
    assert "--exclude=/abc1" in last and "suite=quick,-/abc1" in last and not any("/abc" in line for line in six)

    site.prepare(7, {TESTCASE: STEADY}, table="vm")
    code, out = site.run("--mode=quick")
    assert code == 0 and out.splitlines()[-1].startswith("PASS") and READ in out
    assert "--exclude=/abc1" in site.runs()[-1]
    site.prepare(8, {TESTCASE: STEADY, READ: NOISY}, table="vm")
    code, out = site.run("--mode=quick", "--with-left-out")
    assert code == 0 and out.splitlines()[-1].startswith("NOT JUDGED") and "/abc1" not in site.runs()[-1]


def test_acceptance_leaves_out_what_is_noisy_too(site):
    """Without a manifest, the run that is compared with the references was INCOMPLETE."""
    site.describe()
    for number in range(6):
        site.prepare(number, {TESTCASE: STEADY, READ: NOISY})
    site.prepare(6, {TESTCASE: STEADY}, table="vm")
    code, out = site.baseline("--mode=acceptance")
    (file,) = (site.folder / "config").glob("manifests/*.json")
    assert READ in str(json.loads(file.read_text())["modes"]["acceptance"]["left_out"])
    assert code == 0 and "--exclude=/abc1" in site.runs()[-1] and f"left out: intranode_p2p %testcase={READ}" in out


def test_a_selection_writes_no_manifest_without_what_is_noisy(site):
    site.describe()
    for number in range(6):
        site.prepare(number, {TESTCASE: STEADY, READ: NOISY})
    site.prepare(6, {TESTCASE: STEADY}, table="vm")
    code, out = site.baseline("--", "-n", "intranode_p2p")
    assert code == 0 and "--exclude=/abc1" in site.runs()[-1]
    assert not list((site.folder / "config").glob("manifests/*.json"))
    (command,) = [line for line in out.splitlines() if "linkmatrix run" in line and "/abc1" in line]
    assert READ not in command


def test_only_the_run_that_is_compared_repeats_what_failed(site):
    site.describe()
    for number in range(6):
        site.prepare(number, {TESTCASE: STEADY})
    site.prepare(6, {TESTCASE: STEADY}, table="vm")
    site.baseline()
    assert ["--max-retries=1" in line for line in site.runs()] == [False] * 6 + [True]


def test_each_run_is_one_line(site):
    site.describe()
    for number in range(6):
        site.prepare(number, {TESTCASE: STEADY})
    site.prepare(6, {TESTCASE: STEADY}, table="vm")
    _, out = site.baseline()
    runs = [
        line
        for line in out.splitlines()
        if re.fullmatch(r"baseline: run \d, \d of 6 usable: NOT JUDGED .*, \d+ s", line)
    ]
    assert len(runs) == 6 and "adopted: 1 test case in the table vm" in out and len(out.splitlines()) <= 20


def test_a_run_that_cannot_be_used_is_repeated_but_not_for_ever(site):
    site.describe()
    for number in range(7):
        site.prepare(number, {TESTCASE: STEADY}, off={(0, 1): "timeout"} if number == 1 else {})
    site.prepare(7, {TESTCASE: STEADY}, table="vm")
    code, out = site.baseline()
    assert code == 0 and len(site.runs()) == 8 and "run 7, 6 of 6 usable" in out
    for number in range(8, 20):
        site.prepare(number, {TESTCASE: STEADY}, off={(0, 1): "timeout"})
    code, out = site.baseline()
    assert code == 3 and len(site.runs()) == 8 + 12 and "run 12, 0 of 6 usable" in out
    assert out.splitlines()[-2] == "baseline: no references were adopted: no run can be adopted: no result is usable"


def test_a_run_that_is_not_usable_names_the_reason(site):
    """A run that another process disturbed was printed as "0 of 6 usable: NOT JUDGED", without a reason."""
    site.describe()
    for number in range(7):
        site.prepare(number, {TESTCASE: STEADY}, others=stores.disturbed("node001", "hog") if number == 0 else None)
    site.prepare(7, {TESTCASE: STEADY}, table="vm")
    _, out = site.baseline()
    lines = out.splitlines()
    first = next(index for index, line in enumerate(lines) if line.startswith("baseline: run 1, 0 of 6 usable: "))
    assert re.fullmatch(r"  not usable: \S.*: hog used node001 during the measurement: .*", lines[first + 1])
    assert sum("not usable" in line for line in lines) == 1


def test_each_test_case_gets_six_usable_results(site):
    """On 2 H200, one of nine test cases was disturbed in one of six runs, and was left out for ever."""
    site.describe()
    for number in range(7):
        site.prepare(number, {TESTCASE: STEADY} if number == 1 else {TESTCASE: STEADY, READ: STEADY})
    site.prepare(7, {TESTCASE: STEADY, READ: STEADY}, table="vm")
    code, out = site.baseline()
    assert code == 0 and len(site.runs()) == 8 and "run 6, 5 of 6 usable results of intranode_p2p" in out
    assert "adopted: 2 test cases" in out and "left out" not in out


@pytest.mark.parametrize("scheduler", ["local", "slurm"])
def test_a_machine_without_a_system_file_is_described_first(site, monkeypatch, scheduler):
    """Without its scheduler, which may not answer: linkmatrix measure did not use it either."""
    site.machine.choose("this-machine", "default")
    write = found_machine.write

    def described(*arguments):
        write(*arguments)
        site.machine.choose("vm", "cpu")

    monkeypatch.setattr(found_machine, "machine", lambda: dataclasses.replace(NODE, scheduler=scheduler))
    monkeypatch.setattr(found_machine, "write", described)
    for number in range(6):
        site.prepare(number, {TESTCASE: STEADY})
    site.prepare(6, {TESTCASE: STEADY}, table="vm")
    code, out = site.baseline()
    assert code == 0 and f"written: {site.file}" in out and site.reference == "vm"
    assert system_files.load_module(site.file).system["partitions"][0]["scheduler"] == "local"
    assert ("linkmatrix detect --scheduler auto" in out) is (scheduler != "local")


def test_a_failure_of_the_hardware_ends_it_and_adopts_nothing(site):
    site.describe()
    site.prepare(0, {TESTCASE: STEADY})
    site.prepare(1, {TESTCASE: STEADY}, off={(0, 1): "corrupt"})
    code, out = site.baseline()
    assert code == 1 and len(site.runs()) == 2 and site.reference is None, out
    assert not (site.folder / "config" / "references" / "p2p.yaml").exists()


def test_runs_of_which_none_qualifies_name_no_table(site):
    site.describe()
    for number in range(6):
        site.prepare(number, {TESTCASE: NOISY})
    code, out = site.baseline()
    assert code == 3 and len(site.runs()) == 6 and site.reference is None and "refused: " in out
    assert "linkmatrix baseline --wait-idle 600" in out.splitlines()[-1]


def test_a_system_file_without_the_line_is_left_and_the_entry_is_printed(site):
    site.describe()
    site.file.write_text(site.file.read_text().replace('# "reference"', "#"))
    for number in range(6):
        site.prepare(number, {TESTCASE: STEADY})
    code, out = site.baseline("--table", "mine")
    assert code == 3 and len(site.runs()) == 6 and f"{site.file}, line" in out and '"reference": "mine",' in out
    assert out.splitlines()[-1].endswith("linkmatrix run --mode=quick --retries=1")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_and_adopts_nothing(site, monkeypatch, number):
    """The played ReFrame of the second run sends the signal to its parent, as a terminal does."""
    monkeypatch.setattr(supervise, "FORWARDED", [])  # which no later test of this process may see
    site.describe()
    for run in range(6):
        site.prepare(run, {TESTCASE: STEADY})
    sent = site.machine.folder / "sent"
    script = site.machine.reframe.read_text()
    head, _, rest = script.partition("\n")
    first, sends = f"[ -e {sent} ]", f"kill -{int(number)} $PPID; sleep 1"
    site.machine.reframe.write_text(f"{head}\ncase \"$*\" in *' -r '*) {first} && {sends}; touch {sent};; esac\n{rest}")
    code, out = site.baseline()
    assert code == 4 and "interrupted" in out and len(site.runs()) <= 2, out
    assert site.reference is None and not (site.folder / "config" / "references" / "p2p.yaml").exists()


def test_a_run_that_does_not_begin_ends_it(site):
    site.describe()
    code, out = site.baseline()  # ReFrame writes no report
    assert code == 4 and len(site.runs()) == 1


def test_mode_number_of_runs_and_options_of_reframe_are_passed_on(site):
    site.describe()
    for number in range(7):
        site.prepare(number, {TESTCASE: STEADY})
    site.prepare(7, {TESTCASE: STEADY}, table="vm")
    more = ("--samples", "31", "--wait-idle", "5", "--", "-J", "qos=low")
    code, _ = site.baseline("--mode", "nightly", "--runs", "7", *more)
    assert code == 0 and len(site.runs()) == 8
    words = ("--tag=full", "-S extra_opts=--samples,31", "-S wait_idle=5", "-J qos=low")
    assert all(word in line for line in site.runs() for word in words)


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (["--runs", "5"], "--runs 5"),
        (["--runs", "101"], "--runs 101"),
        (["--table", "a b"], "--table 'a b'"),
        (["--table", ""], "--table ''"),
        (["--", "--skip-sanity-check"], "--skip-sanity-check"),
    ],
)
def test_bad_input_is_one_sentence_and_measures_nothing(site, options, named):
    site.describe()
    code, out = site.baseline(*options)
    lines = [line for line in out.splitlines() if not line.startswith("baseline: run 1 ")]
    assert code == 2 and len(lines) == 1 and named in lines[0] and not site.runs()


def test_a_missing_reframe_is_4_and_named_with_the_command_that_installs_it(site):
    site.describe()
    code, out = site.baseline("--reframe", "nosuch")
    assert code == 4 and "nosuch" in out and "pip install" in out and not site.runs()


def test_runs_without_a_report_adopt_nothing_of_earlier_runs(site, monkeypatch):
    site.describe()
    called = []

    def played(command, chosen):
        called.append(command)
        return 3, ["INCOMPLETE  ReFrame ended with 1 and wrote no report"]

    monkeypatch.setattr(baseline, "capture_command", played)
    code, out = site.baseline()
    assert code == 3 and "no run wrote a report" in out and set(called) == {"run"}
