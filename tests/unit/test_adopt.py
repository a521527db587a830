"""Adopting references: only from healthy runs, never lower without a reason, and nothing else in the file changes."""

import copy
import random
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from linkmatrix import cli
from linkmatrix.adopt import proposal, writing
from linkmatrix.commands import adopt
from linkmatrix.errors import BadInput
from linkmatrix.judge.evaluate import evaluate
from linkmatrix.judge.verdicts import Verdict
from linkmatrix.locate import diagnosis
from linkmatrix.record import reading
from linkmatrix.references import noise, tolerances
from linkmatrix.references.tables import Reference, References

TESTCASE = "device_to_device_memcpy_write_ce"


@pytest.fixture
def store(tmp_path, make_record, write_record):
    """Writes `count` records of noisy runs to a folder; change(record, number) spoils them."""

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
    file = tmp_path / "references" / "p2p.yaml"

    def adopted(*arguments):
        code = cli.main(["adopt", *map(str, arguments), "--file", str(file)])
        return code, *capsys.readouterr()

    adopted.file = file
    return adopted


def test_k_is_that_of_the_number_of_cells():
    assert [round(noise.sigmas(n * (n - 1)), 1) for n in (8, 64, 1024)] == [3.6, 4.6, 5.6]


def test_what_is_adopted_passes_and_a_lost_link_fails(run, store, make_record):
    code, out, _ = run(store(), "--table", "hgx", "--write")
    assert code == 0, out
    references = References.load(run.file)
    table = references.table("hgx", TESTCASE)
    assert set(table) == {
        *(f"gpu{a}->gpu{b}" for a in range(4) for b in range(4) if a != b),
        *(f"{word}[NV18]" for word in ("min", "median", "max")),
    }
    assert all((one.lower, one.upper) == (-0.02, 0.05) for one in table.values())
    assert evaluate(make_record(value=396.0), references, "hgx").verdict is Verdict.PASS
    lost = make_record(value=396.0, off={(1, 2): 396.0 * 17 / 18})
    assert evaluate(lost, references, "hgx").verdict is Verdict.FAIL


def test_noise_above_the_floor_makes_the_limit():
    values = 400 * (1 + 0.01 * np.random.default_rng(1).standard_normal((30, 8, 8)))
    values[:, range(8), range(8)] = np.nan
    found = noise.spread(values, np.full((8, 8), "NV18"))
    assert found.of_class["NV18"] == pytest.approx(0.01, rel=0.1)
    limit = noise.tolerance(found.of_class["NV18"], 56, 30)
    reference = proposal.made(400.0, found.of_class["NV18"], 56, 30, tolerances.Floor(0.02, 0.05), "GB/s")
    assert reference.lower == -proposal.rounded(limit) and 0.03 < limit < 0.045
    assert reference.upper == 0.05


def between_ranks(content, number, sigma, memory="host", off=lambda r, c: 0.0):
    """Makes a record one of ranks, half of them on another node; sigma: {link class: noise}; off: by how much less."""
    chance, result = random.Random(number), content["results"][0]
    content["backend"] = result["engine"] = result["transport"] = "mpi"
    result.update(memory=memory, testcase="rank_to_rank_bandwidth_mpi")
    nodes = [device["index"] // (len(content["devices"]) // 2) for device in content["devices"]]
    for device in content["devices"]:
        device["node"] = f"n{nodes[device['index']]}"
    for r, c in permutations(range(len(nodes)), 2):
        group = result["link_class"][r][c] = "NODE" if nodes[r] == nodes[c] else "NET"
        value = 396.0 * (1 + chance.gauss(0, sigma[group])) * (1 - off(r, c))
        for grid in ("values", "low", "high"):
            result[grid][r][c] = value
    return content


QUIET = {"NODE": 0.003, "NET": 0.003}


@pytest.mark.parametrize(
    ("memory", "wanted"), [("host", {"NODE": 0.05, "NET": 0.03}), ("device", {"NODE": 0.02, "NET": 0.03})]
)
def test_limits_between_ranks_follow_from_their_noise_and_half_the_rate_fails(run, store, make_record, memory, wanted):
    """GPU matrices between nodes were 45 % slow and passed, because their test case is called rank_…"""
    folder = store(size=8, change=lambda content, number: between_ranks(content, number, QUIET, memory))
    code, out, _ = run(folder, "--table", "hgx", "--write")
    assert code == 0, out
    references = References.load(run.file)
    good = between_ranks(make_record(count=8), 99, QUIET, memory)
    table = references.of(good, good["results"][0]).table("hgx", "rank_to_rank_bandwidth_mpi")
    assert {name: -table[f"median[{name}]"].lower for name in wanted} == wanted
    assert evaluate(good, references, "hgx").verdict < Verdict.NO_VERDICT
    for depth in (0.45, 0.1):
        slow = between_ranks(
            make_record(count=8), 99, QUIET, memory, lambda r, c, depth=depth: depth * (r // 4 != c // 4)
        )
        assert evaluate(slow, references, "hgx").verdict is Verdict.FAIL


def test_each_link_class_has_the_tolerance_of_its_own_noise(run, store):
    noisy = {"NODE": 0.04, "NET": 0.002}
    folder = store(12, size=8, change=lambda content, number: between_ranks(content, number, noisy))
    code, out, _ = run(folder, "--table", "hgx", "--write")
    assert code == 0, out
    table = References.load(run.file).of_check("crossnode_matrix").table("hgx", "rank_to_rank_bandwidth_mpi")
    inside, net = (-table[f"median[{name}]"].lower for name in ("NODE", "NET"))
    assert 0.12 < inside < 0.20 and net == 0.03


@pytest.mark.parametrize("sigma", [0.002, 0.01, 0.03])
@pytest.mark.parametrize("memory", ["host", "device"])
def test_what_is_found_without_references_is_found_with_those_that_were_adopted(run, store, make_record, memory, sigma):
    """Adopting must never make the tool blinder."""
    noise_of = dict.fromkeys(QUIET, sigma)
    folder = store(size=8, change=lambda content, number: between_ranks(content, number, noise_of, memory))
    code, out, _ = run(folder, "--table", "hgx", "--write")
    assert code == 0, out
    references, found = References.load(run.file), []
    for depth in (depth for depth in (0.04, 0.06, 0.1, 0.2, 0.3, 0.5) if depth > 0.03 + 4 * sigma):
        faults = {
            "egress": lambda r, c: r == 3,
            "link": lambda r, c: {r, c} == {1, 6},
            "cell": lambda r, c: (r, c) == (2, 7),
        }
        for kind, hit in faults.items():
            content = between_ranks(
                make_record(count=8), 99, noise_of, memory, lambda r, c, depth=depth, hit=hit: depth * hit(r, c)
            )
            kinds = []
            for table in (References({}), references):
                (matrix,) = evaluate(content, table, "hgx").matrices
                kinds.append([one.kind for one in diagnosis.diagnose(content, content["results"][0], matrix).findings])
            assert kind not in kinds[0] or kind in kinds[1], (kind, depth, kinds)
            found.append(kind in kinds[0])
    assert any(found)


def sick(content, number, depth=0.1):
    """gpu3 sends 10 % slower, in every run."""
    for grid in ("values", "low", "high"):
        row = content["results"][0][grid][3]
        content["results"][0][grid][3] = [value and value * (1 - depth) for value in row]


def test_a_sick_machine_is_refused_or_taken_as_it_is_with_a_reason_that_stays(run, store):
    folder = store(size=8, change=sick)
    code, out, _ = run(folder, "--table", "hgx", "--write")
    assert code == 1 and "gpu3 sends 10." in out and "--as-is REASON" in out and not run.file.exists()
    assert run(folder, "--table", "hgx", "--write", "--as-is", " ")[0] == 2
    code, out, _ = run(folder, "--table", "hgx", "--write", "--as-is", "gpu3 hangs\non a slower switch")
    assert code == 0 and "gpu3 sends 10." in out
    assert "# as is: " in run.file.read_text() and "gpu3 hangs on a slower switch" in run.file.read_text()
    run(store(6, "later", size=8), "--table", "hgx", "--write")  # repaired: all is raised
    text = run.file.read_text()
    assert "gpu3 hangs on a slower switch" in text and text.count(writing.ADOPTED) == 1


def test_a_healthy_machine_is_no_sick_one(run, store):
    for name, sigma in (("quiet", 0.0), ("usual", 0.0005), ("noisy", 0.005)):
        code, out, _ = run(store(6, name, size=8, sigma=sigma), "--table", "hgx")
        assert code == 0 and "suspect" not in out, out
        assert "as is" not in out


def test_a_refusal_is_the_last_line_and_the_exit_code(run, store):
    code, out, _ = run(store(5), "--table", "hgx", "--write")
    assert code == 1
    assert out.splitlines()[-1] == "REFUSED: nothing was written, for 1 reason: see 'refused:' above"
    code, out, _ = run(store(6, "sick", size=8, change=sick), "--table", "hgx")
    assert code == 1 and out.splitlines()[-1].startswith("REFUSED: nothing was written, for 1 reason")


def test_fewer_than_six_runs_are_too_few(run, store):
    code, out, _ = run(store(5), "--table", "hgx", "--write")
    assert code == 1 and "too few runs: 5, at least 6" in out
    assert not run.file.exists()
    assert run(store(6, "more"), "--table", "hgx", "--runs", "5")[0] == 2


def test_a_run_with_an_outlier_is_refused_unless_told(run, store):
    def dip(content, number):
        if number == 3:
            for grid in ("values", "low", "high"):
                content["results"][0][grid][2][1] = 350.0

    folder = store(7, change=dip)
    code, out, _ = run(folder, "--table", "hgx", "--write")
    assert code == 1 and "gpu2->gpu1 in" in out and "11.6 % under" in out
    assert not run.file.exists()
    code, out, _ = run(folder, "--table", "hgx", "--write", "--with-outliers")
    assert code == 0 and "outlier: gpu2->gpu1" in out
    assert References.load(run.file).table("hgx", TESTCASE)["gpu2->gpu1"].value == pytest.approx(396, rel=0.002)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda content: content.update(result="FAIL", error="a bound failed"),
        lambda content: (content["results"][0].update(verified=False), content.update(result="FAIL")),
        lambda content: content.update(result="INCOMPLETE"),
        lambda content: content.update(result="ERROR", lost=[{"label": "gpu1", "why": "out of memory"}]),
        lambda content: content["results"][0].update(verified=None),
    ],
)
def test_a_run_that_failed_is_left_out_and_said(run, store, spoil):
    folder = store(7, change=lambda content, number: spoil(content) if number == 0 else None)
    code, out, _ = run(folder, "--table", "hgx")
    assert code == 0 and "left out: " in out and "6 runs" in out


def test_other_drivers_are_no_noise(run, store):
    folder = store(7, change=lambda content, n: content["software"].update(driver="999") if n > 4 else None)
    code, out, _ = run(folder, "--table", "hgx")
    assert code == 1 and "different driver: 580.159.04, 999" in out


def test_without_write_nothing_is_written(run, store):
    code, out, _ = run(store(), "--table", "hgx")
    assert code == 0 and "--write" in out and "+  hgx:" in out
    assert not run.file.exists()


def test_a_reference_is_not_rolled_along(run, store):
    run(store(6, "first"), "--table", "hgx", "--write")
    before = run.file.read_text()
    code, out, _ = run(store(6, "second", level=396.01), "--table", "hgx", "--write")
    assert code == 0 and "15 kept" in out
    assert run.file.read_text() == before


def test_a_reference_is_lowered_only_with_a_reason_that_stays(run, store):
    run(store(6, "first"), "--table", "hgx", "--write")
    before = run.file.read_text()
    slow = store(6, "slow", level=380.0)
    code, out, _ = run(slow, "--table", "hgx", "--write")
    assert code == 1 and "15 references would be lowered" in out
    assert run.file.read_text() == before
    assert run(slow, "--table", "hgx", "--allow-lower", "--write")[0] == 2
    assert run(slow, "--table", "hgx", "--reason", "because", "--write")[0] == 2
    code, out, _ = run(slow, "--table", "hgx", "--write", "--allow-lower", "--reason", "new firmware\nof the switches")
    assert code == 0 and "15 lowered" in out
    text = run.file.read_text()
    assert "new firmware of the switches" in text
    assert References.load(run.file).table("hgx", TESTCASE)["median[NV18]"].value == pytest.approx(380, rel=0.001)
    run(store(6, "fast", level=396.0), "--table", "hgx", "--write")
    text = run.file.read_text()
    assert "new firmware of the switches" in text and text.count(writing.ADOPTED) == 1
    assert References.load(run.file).table("hgx", TESTCASE)["median[NV18]"].value == pytest.approx(396, rel=0.001)


def test_higher_latency_is_lower(make_record):
    present = {"median[NV18]": Reference(2.0, -0.25, 0.2, "us")}
    proposed = proposal.Proposal(
        "case", "us", {"median[NV18]": Reference(2.4, -0.25, 0.2, "us")}, 56, 6, {"NV18": 0.001}, ()
    )
    assert [one.kind for one in writing.differences(present, proposed)] == ["lowered"]


HAND = """# written by hand
intranode_p2p:
  $index: [reference_name, testcase]
  other:
    # a colleague's remark
    some_case:
      'gpu0->gpu1': [1.50, -0.5, 0.5, us]   # because
  hgx:
    # keep this line
    device_to_device_memcpy_write_ce:
      gpu0->gpu1: [300.0, -0.02, 0.05, GB/s]  # the first pair
      gpu0->gpu2: [396.0, -0.02, 0.05, GB/s]  # kept as it is
# the end
"""


def test_what_a_person_wrote_stays(run, store):
    run.file.parent.mkdir()
    run.file.write_text(HAND)
    code, out, _ = run(store(), "--table", "hgx", "--write")
    assert code == 0, out
    lines = run.file.read_text().splitlines()
    for line in HAND.splitlines():
        assert line in lines or "[300.0" in line
    (first,) = [line for line in lines if "the first pair" in line]
    assert first.startswith("      gpu0->gpu1: [39")
    assert lines.index("    # keep this line") < lines.index("    device_to_device_memcpy_write_ce:")
    assert any(writing.ADOPTED in line and "6 runs of 2026-11-10 to 2026-11-15" in line for line in lines)


def test_a_file_that_is_not_ours_is_refused_and_stays(run, store):
    run.file.parent.mkdir()
    run.file.write_text("intranode_p2p: [")
    assert run(store(), "--table", "hgx", "--write")[0] == 2
    assert run.file.read_text() == "intranode_p2p: ["


def test_a_large_matrix_has_one_reference_for_a_class_and_its_exceptions(run, store, make_record):
    def slower(content, number):
        for grid in ("values", "low", "high"):
            content["results"][0][grid][3][7] = 370.0 + number / 100

    code, out, _ = run(store(size=20, change=slower), "--table", "big", "--write", "--as-is", "a slot with fewer lanes")
    assert code == 0, out
    references = References.load(run.file)
    table = references.table("big", TESTCASE)
    assert set(table) == {"cell[NV18]", "min[NV18]", "median[NV18]", "max[NV18]", "gpu3->gpu7"}
    good = make_record(count=20, value=396.0, off={(3, 7): 370.0})
    verdict = evaluate(good, references, "big")
    assert verdict.verdict is Verdict.WARN  # the exception is far below its class, and said so
    bad = make_record(count=20, value=396.0, off={(3, 7): 370.0, (0, 1): 370.0})
    assert evaluate(bad, references, "big").matrices[0].cells["gpu0", "gpu1"].verdict is Verdict.FAIL
    assert copy.deepcopy(reading.check(good)) is None


@given(st.integers(6, 30), st.floats(0, 0.05))
def test_a_class_of_equal_noise_has_its_spread(runs, sigma):
    chance = np.random.default_rng(0)
    values = 100 * (1 + sigma * chance.standard_normal((runs, 12, 12)))
    found = noise.spread(values, np.full((12, 12), "NET"))
    assert found.of_class["NET"] == pytest.approx(sigma, rel=0.35, abs=1e-9)
    assert np.allclose(found.centre, np.median(values, axis=0))


@pytest.mark.parametrize("runs", [6, 7, 8, 12, 30])
def test_the_noise_of_few_runs_is_not_taken_for_less_than_it_is(runs):
    """Their median lies near each of them: the noise of six was understated by a seventh."""
    values = 100 * (1 + 0.01 * np.random.default_rng(5).standard_normal((runs, 200, 200)))
    found = noise.spread(values, np.full((200, 200), "NET"))
    assert found.of_class["NET"] == pytest.approx(0.01, rel=0.02)


def test_a_cell_that_a_run_lacks_has_no_reference():
    values = np.full((6, 2, 2), 5.0)
    values[2, 0, 1] = np.nan
    assert np.isnan(noise.spread(values, np.full((2, 2), "NET")).centre[0, 1])


def test_dates_sessions_and_systems_choose(run, store):
    folder = store(9)
    assert "7 runs" in run(folder, "--table", "hgx", "--since", "2026-11-12")[1]
    assert "6 runs of 2026-11-13 to 2026-11-18" in run(folder, "--table", "hgx", "--runs", "6")[1]
    assert run(folder, "--table", "hgx", "--since", "yesterday")[0] == 2
    assert run(folder, "--table", "hgx", "--system", "no:where")[0] == 2
    assert run(folder, "--table", "hgx", "--testcase", "none")[0] == 2
    assert run(folder)[0] == 1  # records name no table
    with pytest.raises(BadInput):
        adopt.floor_of("2")


def test_runs_that_agree_on_nothing_give_no_reference(run, store):
    code, out, _ = run(store(sigma=0.35), "--table", "hgx", "--with-outliers", "--write")
    assert code == 1 and "a reference would let" in out and not run.file.exists()


def test_devices_may_differ_within_a_run_but_not_from_run_to_run(run, store):
    def two_models(content, number):
        for device in content["devices"]:
            device["name"] = f"core {device['index']}"

    assert run(store(folder="cores", change=two_models), "--table", "hgx")[0] == 0

    def another(content, number):
        content["devices"][0]["name"] = "NVIDIA H100" if number == 3 else "NVIDIA H200"

    code, out, _ = run(store(folder="mixed", change=another), "--table", "hgx")
    assert code == 1 and "of different devices: NVIDIA H100, NVIDIA H200 and NVIDIA H200" in out
