"""Lists of nodes are in the words of each scheduler, and no node is known good because nobody looked."""

import shlex
import time

import pytest
import stores

from linkmatrix.runs.known_good import NodeClasses
from linkmatrix.show import node_lists

DAY = 86400
SLOW = {(3, c): 350.0 for c in range(3)}


@pytest.fixture
def exported(site_of_sweeps, make_record, linkmatrix):
    """Stored sweeps of the last days: n1 good, n2 suspect, n3 cut off, n4 good long ago; of another partition n6
    suspect. Runs `linkmatrix export`."""
    now = time.time() - stores.MEASURED

    def add(number, days, node, off=None, **how):
        record = stores.of_node(make_record(off=off), node)
        site_of_sweeps.add(number, [record], began=now - days * DAY, **how)

    add(1, 3, "n6", off=SLOW, partition="alpha:other")
    add(2, 2, "n2", off=SLOW)
    add(3, 1, "n1.site")
    add(4, 1, "n3", off={(0, 3): "timeout"}, result="fail")
    add(5, 200, "n4")

    def run(*words):
        code, out, errors = linkmatrix("export", *words)
        return code, [line for line in out.splitlines() if not line.startswith("#")], out + errors

    run.prefix, run.add = site_of_sweeps.prefix, add
    return run


def test_each_scheduler_is_told_of_known_good_nodes_in_its_words(exported):
    for number in range(6, 9):  # n6 of the other partition was slow
        exported.add(number, 3 - 0.1 * number, "n6", partition="alpha:other")
    exported.add(9, 0.5, "n5", partition="alpha:gpu")
    for form, line in {
        "hostfile": ["n1", "n5", "n6"],
        "slurm": ["--nodelist=n1,n5,n6"],
        "pbs": ["-l select=1:host=n1+1:host=n5+1:host=n6"],
        "sge": ["-l hostname=n1|n5|n6"],
    }.items():
        code, lines, out = exported("--format", form)
        assert (code, lines) == (0, line)
        assert "gpu3 of n2 is flagged since" in out
        assert (
            "neither known good nor flagged: n3 was INCOMPLETE 1 day ago (device_to_device_memcpy_write_ce NV18), n4 w"
            in out
        )
        assert "n4 was measured 200 days ago, but only runs of the last 30 days count" in out


def test_each_scheduler_is_told_of_suspect_nodes_with_commands_to_copy(exported):
    found = {
        form: exported("--format", form, "--nodes", "flagged", "--system", "alpha:gpu") for form in node_lists.FORMATS
    }
    assert all(code == 0 for code, _, _ in found.values())
    assert {form: lines for form, (_, lines, _) in found.items()} == {
        "hostfile": ["n2"],
        "slurm": ["--exclude=n2"],
        "pbs": [],
        "sge": ["-l hostname=!(n2)"],
    }
    assert "#   pbsnodes -r -C '' n2   # when it is repaired" in found["pbs"][2]
    assert "PBS cannot exclude nodes" in found["pbs"][2]
    drain = next(line for line in found["pbs"][2].splitlines() if "-o -C" in line)
    assert shlex.split(drain.removeprefix("#"))[:3] == ["pbsnodes", "-o", "-C"]
    assert "#   qmod -d '*@n2'" in found["sge"][2] and "#   qmod -e '*@n2'" in found["sge"][2]
    assert found["slurm"][1] == exported("--format", "slurm-exclude", "--system", "alpha:gpu")[1]


def test_a_partition_knows_its_own_nodes_only(exported):
    assert exported("--format", "slurm", "--system", "alpha:gpu")[1] == ["--nodelist=n1"]
    assert exported("--format", "slurm-exclude", "--system", "alpha:other")[1] == ["--exclude=n6"]
    assert exported("--format", "slurm-exclude")[1] == ["--exclude=n2,n6"]


def test_named_runs_say_it_of_themselves_alone(exported):
    reports = exported.prefix / "reports"
    assert exported("--format", "hostfile", reports / "run-report-3.json")[1] == ["n1"]
    code, lines, out = exported("--format", "hostfile", reports / "run-report-2.json")
    assert (code, lines) == (3, []) and "no node is known good: n2 is flagged" in out
    assert exported("--format", "slurm", "--nodes", "flagged", reports / "run-report-2.json")[1] == ["--exclude=n2"]


def test_no_file_is_written_where_no_node_is_known_good(exported, tmp_path):
    hosts = tmp_path / "hosts"
    assert exported("--format", "hostfile", "--within", "1", "--system", "alpha:other", "--out", hosts)[0] == 3
    assert not hosts.exists()
    out = exported("--format", "hostfile", "--system", "alpha:unmeasured")[2]
    assert "no node is known good: no node was measured alone: linkmatrix run --mode=sweep" in out
    assert exported("--format", "hostfile", "--out", hosts, "--system", "alpha:gpu")[0] == 0
    assert hosts.read_text().splitlines()[-1] == "n1"


@pytest.mark.parametrize("form", node_lists.FORMATS)
@pytest.mark.parametrize("which", [node_lists.GOOD, node_lists.FLAGGED])
def test_a_hostile_name_is_a_comment_and_no_word_of_a_command(form, which):
    hostile = ["n1\n--exclude=all", "$(touch x)", "-w", "a b", "n1;reboot"]
    found = NodeClasses(
        [*hostile, "n7"], dict.fromkeys([*hostile, "n8"], "slow'; reboot #\n$(x)"), {"\x1b[2J": "failed"}
    )
    lines = list(node_lists.lines(form, which, found, ["evil\nsentence"], 3))
    plain = [line for line in lines if not line.startswith("#")]
    assert all("\n" not in line.strip("\n") and "\x1b" not in line for line in lines)
    assert not any(word in line for line in plain for word in ("all", "touch", "reboot", ";", " b"))
    for line in (one for one in lines if "linkmatrix: slow" in one):
        assert sum("slow" in word for word in shlex.split(line.removeprefix("#"))) == 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--format", "csv", "--nodes", "flagged"], "--nodes and --system select nodes"),
        (["--format", "slurm-exclude", "--nodes", "known-good"], "--format slurm-exclude lists flagged nodes only"),
        (["--format", "hostfile", "--within", "0"], "--within 0: use 1 to 3650 days"),
    ],
)
def test_bad_input_is_one_sentence(exported, words, said):
    code, lines, out = exported(*words)
    assert code == 2 and lines == [] and said in out


@pytest.mark.parametrize("named", [False, True])
def test_a_suspect_of_another_partition_is_none_that_is_known_good_however_its_node_is_called(exported, named):
    def good():
        reports = sorted((exported.prefix / "reports").iterdir()) if named else []
        return exported("--format", "hostfile", "--system", "alpha:gpu", *reports)

    assert good()[1] == ["n1"]
    exported.add(10, 0.9, "n1.site", off=SLOW, partition="alpha:net")
    exported.add(11, 0.4, "n1")
    code, lines, out = good()
    assert (code, lines) == (3, []) and "n1 is flagged" in out
    exported.add(12, 0.3, "n1.other", partition="alpha:net")
    assert exported("--format", "hostfile", "--system", "alpha:gpu", "--nodes", "flagged")[1] == ["n1", "n2"]


@pytest.mark.parametrize("more", [[], ["--system", "alpha:gpu"]])
def test_nobody_is_cleared_of_suspicion_where_nothing_is_stored(exported, tmp_path, monkeypatch, more):
    monkeypatch.setenv("LINKMATRIX_PREFIX", str(tmp_path / "another"))
    code, lines, out = exported("--format", "slurm-exclude", *more)
    assert (code, lines) == (3, []) and "no stored run" in out and "no node is flagged" not in out


def test_nobody_is_cleared_of_suspicion_by_runs_of_another_partition(exported):
    code, lines, out = exported("--format", "slurm-exclude", "--system", "alpha:cpu")
    assert (code, lines) == (3, []) and "no stored run of alpha:cpu" in out and "no node is flagged" not in out
