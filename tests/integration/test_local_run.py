"""ReFrame, the checks and the programs, together, on this machine: nothing is replaced by a fake."""

import json
import os
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from itertools import permutations
from pathlib import Path

import pytest
from reframe_runs import only

import linkmatrix.record.reading

pytestmark = [pytest.mark.integration, pytest.mark.usefixtures("tools")]

TESTCASE = "device_to_device_memcpy_write_ce"
REPOSITORY = Path(__file__).resolve().parents[2]
REFRAME = str(Path(sys.executable).parent / "reframe")
ONE = ("-r", "-n", f"{TESTCASE}$")
QUICK = "--samples,3"
SIZE = ("-S", "intranode_p2p.size=1MiB")


def values(case):
    """{performance variable: value} of a test case of the report."""
    return {name.split(":")[-1]: entry[0] for name, entry in case["perfvalues"].items()}


def record_of(case):
    return linkmatrix.record.reading.load(Path(case["verdict_file"]).with_name("record.json"))


def verdict_of(case):
    """The verdict that the check of a test case stored."""
    return json.loads(Path(case["verdict_file"]).read_text())


def references(numbers, tolerance):
    """p2p.yaml with the given values as references of the table 'bench@1MiB'."""
    lines = [f"      '{name}': [{value}, -{tolerance}, null, GB/s]" for name, value in numbers.items()]
    return "\n".join(
        ["intranode_p2p:", "  $index: [reference_name, testcase]", "  bench@1MiB:", f"    {TESTCASE}:", *lines]
    )


@pytest.fixture
def fault(reframe):
    """A function that runs the test case with further options of the program, and of ReFrame."""

    def run(*options, of_reframe=(), **keywords):
        extra = ",".join([QUICK, *options])
        return reframe(*ONE, *SIZE, "-S", f"intranode_p2p.extra_opts={extra}", *of_reframe, **keywords)

    return run


@pytest.mark.smoke
def test_every_pair_is_measured_and_the_record_is_kept(fault):
    run = fault()
    assert run.code == 0, run.output
    check = only(run)
    devices = [device["label"] for device in record_of(check)["devices"]]
    assert len(devices) >= 2
    pairs = {f"{source}->{destination}" for source, destination in permutations(devices, 2)}
    published = values(check)
    assert pairs <= set(published)
    assert {name.split("[")[0] for name in set(published) - pairs} == {"min", "median", "max"}
    assert all(value > 0 for value in published.values())


def test_without_references_a_run_has_none_and_acceptance_refuses_it(fault):
    assert all(entry[1:4] == [0, None, None] for entry in only(fault())["perfvalues"].values())
    run = fault(of_reframe=["--mode=acceptance", "-S", "node_session.suite="])
    assert run.code != 0
    assert "no reference value found" in only(run)["fail_reason"]


@pytest.mark.parametrize("mode", ["quick", "acceptance"])
def test_a_run_of_no_test_at_all_is_no_pass_though_reframe_says_so(tmp_path, mode):
    command = [sys.executable, "-m", "linkmatrix", "run", "--mode", mode]
    command += ["--reframe", REFRAME, "--", "--nocolor", "-n", "nothing_at_all"]
    environment = {**os.environ, "LINKMATRIX_PREFIX": str(tmp_path)}
    where = REPOSITORY
    done = subprocess.run(command, env=environment, cwd=where, text=True, capture_output=True, timeout=600)
    assert "PASSED" in done.stdout and "Ran 0/0 test case(s)" in done.stdout, done.stdout + done.stderr
    assert done.returncode == 4
    assert done.stdout.splitlines()[-1] == "INCOMPLETE  ReFrame ended with 0 and wrote no report: nothing began"


def test_a_run_that_is_resumed_leaves_out_what_passed(tmp_path, unavailable):
    command = [sys.executable, "-m", "linkmatrix", "run", "--mode", "quick"]
    command += ["--reframe", REFRAME]
    where, environment = REPOSITORY, {**os.environ, "LINKMATRIX_PREFIX": str(tmp_path)}

    def run(*options):
        done = [*command, *options, "--", "--nocolor", "-n", "^rank_binding"]
        done = subprocess.run(done, env=environment, cwd=where, text=True, capture_output=True, timeout=600)
        return done.returncode, done.stdout

    code, out = run()
    if "Ran 0/0" in out:
        unavailable("no MPI on PATH: there is no rank_binding")
    assert code == 0 and "1 PASS" in out and "manifest" not in out, out
    code, out = run("--resume")
    assert "1 test case passed before" in out and "Ran 0/0" in out, out
    assert "all tests passed earlier" in out and code == 0, out


def test_a_slow_endpoint_is_red_and_its_pairs_are_named(fault):
    first, second = (values(only(fault())) for _ in range(2))
    # the better of two, because another program may disturb one; the fault takes 20 %
    found = references({name: max(first[name], second[name]) for name in first}, tolerance=0.05)
    judged = ("-S", "intranode_p2p.reference_name=bench")
    run = fault("--simulate-fault", "slow:cpu1", of_reframe=judged, references=found)
    assert run.code != 0
    assert re.search(r"\b(cpu1->cpu0|cpu0->cpu1)=\d", only(run)["fail_reason"])


def test_a_pair_below_its_reference_is_measured_again_before_it_fails(fault):
    """Its link class has no other pairs here, so that nothing else can tell that it is slow."""
    high = references({"cpu0->cpu1": 1e6}, tolerance=0.05)
    run = fault(of_reframe=("-S", "intranode_p2p.reference_name=bench"), references=high)
    assert "cpu0->cpu1" in only(run)["fail_reason"], run.output
    record = linkmatrix.record.reading.load(Path(only(run)["stagedir"]) / "record.json")
    (result,) = record["results"]
    # the other way too where it happens to be slower: it has no reference, and is held against their median
    assert ("cpu0", "cpu1") in [(one["row"], one["column"]) for one in result["remeasured"]]


@pytest.mark.parametrize("kind", ["corrupt", "error"])
def test_a_bad_endpoint_fails_the_sanity_and_its_pair_is_named(fault, kind):
    run = fault("--simulate-fault", f"{kind}:cpu1")
    assert run.code != 0
    check = only(run)
    assert check["fail_phase"] == "sanity"
    assert check["fail_reason"].startswith("sanity error: FAIL: ")
    assert re.search({"corrupt": r"cpu\d->cpu\d", "error": "cpu1 was lost"}[kind], check["fail_reason"])
    assert verdict_of(check)["verdict"] == "FAIL"
    assert record_of(check)["results"], "its record is kept though it failed"


def test_half_of_a_matrix_is_no_pass(fault):
    run = fault("--triangle")
    assert run.code != 0
    assert "all pairs should be measured, but the record has one direction of each pair" in only(run)["fail_reason"]


def test_unverified_data_is_no_pass(fault):
    run = fault("--no-verify")
    assert run.code != 0
    assert "its data was not verified" in only(run)["fail_reason"]


def test_a_device_that_counts_errors_fails_though_every_cell_is_fine(fault):
    run = fault("--simulate-fault", "counter:cpu1")
    assert run.code != 0
    assert "cpu1: nvlink_replay rose from 0 to 5" in only(run)["fail_reason"]


def test_a_second_session_configures_and_compiles_nothing(fault):
    logs = [Path(fault().build()["outputdir"]) / "rfm_build.out" for _ in range(2)]
    said = logs[1].read_text()
    assert "Building CXX" not in said and "Configuring done" not in said
    # installed or copied, so that the next session does not overwrite the programs of this one
    assert re.search(r"--prefix prefix|prefix/bin/", logs[1].with_suffix(".sh").read_text())


def test_checks_need_no_more_than_reframe_and_numpy(fault, tmp_path):
    """On a cluster, linkmatrix may be a folder on PYTHONPATH beside ReFrame, without the libraries of its reports."""
    blocker = tmp_path / "blocker"
    blocker.mkdir()
    (blocker / "sitecustomize.py").write_text(
        "import sys\n"
        "class Blocker:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name.split('.')[0] in {'pandas', 'matplotlib', 'rich', 'ruamel'}:\n"
        "            raise ModuleNotFoundError(f'blocked: {name}', name=name)\n"
        "sys.meta_path.insert(0, Blocker())\n"
    )
    run = fault(python_path=[blocker])
    assert run.code == 0, run.output
    assert only(run)["result"] == "pass"


def test_spack_is_refused_in_a_sentence_where_it_has_nothing_to_build_with(reframe, tmp_path):
    run = reframe(*ONE, "-S", "build_linkmatrix.method=spack", "-S", f"build_linkmatrix.spack_systems={tmp_path}")
    assert run.code != 0
    reasons = ["no spack is on PATH: source", "the Spack on PATH ", r"\S+packages.yaml is missing: 'linkmatrix detect"]
    assert re.fullmatch(f"build error: ({'|'.join(reasons)}) .*", run.build()["fail_reason"].strip())


def test_without_spack_cmake_builds_and_the_results_say_so_and_why(fault, tmp_path):
    run = fault(of_reframe=["-S", f"build_linkmatrix.spack_systems={tmp_path}"])
    assert "building with CMake alone, because " in run.output
    kept = json.loads((Path(run.build()["outputdir"]) / "build.json").read_text())
    assert kept["method"] == "cmake"
    assert kept["built"].startswith("cmake -DLINKMATRIX_CUDA=OFF ")
    assert only(run)["built"] == kept["built"]


def test_what_a_program_writes_to_steer_a_terminal_ends_no_session_and_loses_no_junit(reframe, tmp_path):
    (tmp_path / "word").write_text("\033[31mred")
    wanted = ("-S", f"intranode_p2p.extra_opts=$(cat {tmp_path}/word)", f"--report-junit={tmp_path}/junit.xml")
    run = reframe("-r", "-n", "device_to_device_memcpy_write_ce$", *wanted)
    assert "' [31mred' is not an option" in only(run)["fail_reason"]
    assert "run session stopped" not in run.output
    (failure,) = ElementTree.parse(tmp_path / "junit.xml").iter("failure")
    assert "is not an option" in failure.text


def test_no_secret_of_the_environment_reaches_what_is_kept(fault, monkeypatch):
    monkeypatch.setenv("SITE_ACCESS_TOKEN", "not-for-anybody")
    run = fault()
    assert run.code == 0, run.output
    kept = [path for path in run.prefix.rglob("*") if path.is_file()]
    assert any(path.name == "record.json" for path in kept) and any(path.suffix == ".out" for path in kept)
    assert not [path for path in kept if b"not-for-anybody" in path.read_bytes()]
    assert "not-for-anybody" not in run.output


SIMULATED = [
    ("corrupt:cpu1", "FAIL", 1),
    ("error:cpu1", "FAIL", 1),
    ("counter:cpu1", "FAIL", 1),
    ("slow:cpu1", "FAIL", 1),
    (None, "NOT JUDGED", 0),
]


@pytest.mark.parametrize(("kind", "verdict", "code"), SIMULATED)
def test_the_same_fault_has_the_same_verdict_by_reframe_and_by_linkmatrix(fault, tmp_path, config, kind, verdict, code):
    """`linkmatrix run` takes the verdict that the check stored; so does `linkmatrix show` of ReFrame's own run."""
    site, judged = tmp_path / "site", ()
    shutil.copytree(config, site / "config")
    (site / "checks").symlink_to(REPOSITORY / "checks")
    if verdict == "FAIL" and kind.startswith("slow"):
        found = references({name: 1e6 for name in ("cpu0->cpu1", "cpu1->cpu0")}, tolerance=0.05)
        judged = ("-S", "intranode_p2p.reference_name=bench")
    else:
        found = "intranode_p2p: {}\n"
    for file in (site / "config" / "references").glob("*.yaml"):
        file.write_text(found)
    simulated = ("--simulate-fault", kind) if kind else ()
    run = fault(*simulated, of_reframe=judged, references=found)
    assert (run.code != 0) is (code != 0), run.output
    assert verdict_of(only(run))["verdict"] == verdict

    def linkmatrix(prefix, *words):
        environment = {**os.environ, "LINKMATRIX_PREFIX": str(prefix), "CUDA_VISIBLE_DEVICES": ""}
        command = [sys.executable, "-m", "linkmatrix", *words]
        return subprocess.run(command, env=environment, cwd=site, text=True, capture_output=True, timeout=600)

    assert linkmatrix(run.prefix, "show").returncode == code
    extra = ",".join([QUICK, *simulated])
    more = ["-n", f"{TESTCASE}$", *SIZE, "-S", f"intranode_p2p.extra_opts={extra}", *judged]
    done = linkmatrix(tmp_path / "own", "measure", "--reframe", REFRAME, "--", *more)
    assert done.returncode == code, done.stdout + done.stderr
    (stored,) = (tmp_path / "own" / "output").rglob("verdict.json")
    assert json.loads(stored.read_text())["verdict"] == verdict


@pytest.mark.parametrize("option", ["--skip-sanity-check", "--skip-performance-check", "strict_check=no"])
def test_a_test_that_would_pass_unchecked_fails_before_it_measures(fault, option):
    run = fault(of_reframe=[option] if option.startswith("-") else ["-S", option])
    assert run.code != 0
    assert "is refused" in only(run)["fail_reason"] and not only(run)["job_began"]


def test_an_option_that_no_reference_describes_is_no_fail(fault):
    """One-byte copies were compared with the references for the default size, and a device was flagged."""
    found = references({"cpu0->cpu1": 1e6}, tolerance=0.05)
    run = fault("--size,1", of_reframe=("-S", "intranode_p2p.reference_name=bench"), references=found)
    assert run.code != 0
    assert "-S intranode_p2p.size=SIZE" in only(run)["fail_reason"] and not only(run)["job_began"]


def test_a_job_that_reaches_its_time_limit_is_incomplete(fault):
    run = fault("--samples,3000", "--target-ci,0.001", "--max-time,60", of_reframe=["-S", "time_limit=3s"])
    assert run.code != 0 and only(run)["job_began"]
    assert verdict_of(only(run))["verdict"] == "INCOMPLETE"


@pytest.mark.parametrize(("seconds", "verdict"), [(30, "NOT JUDGED"), (1, "INCOMPLETE")])
def test_a_record_that_appears_after_the_job_is_waited_for(fault, tmp_path, seconds, verdict):
    """A client of a network file system keeps its facts about a folder for some seconds."""
    hide = tmp_path / "hide"
    restore = "sleep 3; mv hidden process1/record.json"
    hide.write_text(f"mv process1/record.json hidden\nsetsid bash -c '{restore}' > /dev/null 2>&1 &\n")
    run = fault(of_reframe=["-S", f"intranode_p2p.postrun_cmds=bash {hide}", "-S", f"record_wait={seconds}"])
    assert verdict_of(only(run))["verdict"] == verdict, run.output


def test_errors_of_jobs_that_reframe_traps_do_not_hide_the_verdict(fault, monkeypatch):
    """A program that finds a fault ends with 1."""
    monkeypatch.setenv("RFM_TRAP_JOB_ERRORS", "1")
    run = fault("--simulate-fault", "corrupt:cpu1")
    assert run.code != 0 and verdict_of(only(run))["verdict"] == "FAIL"
