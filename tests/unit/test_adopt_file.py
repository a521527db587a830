"""What adopting changes in the file of references, and what it leaves as it is."""

import pytest

from linkmatrix.adopt import proposal, writing
from linkmatrix.commands.adopt import merged_sentences
from linkmatrix.references.tables import Reference, References

TESTCASE = "device_to_device_memcpy_write_ce"


def test_without_write_nothing_is_written(run, store):
    code, out, _ = run(store(), "--table", "hgx")
    assert code == 0 and "--write" in out and "+  hgx:" in out
    assert not run.file.exists()


def test_a_reference_is_not_rolled_along(run, store):
    run(store(6, "first"), "--table", "hgx", "--write")
    before = run.file.read_text()
    code, out, _ = run(store(6, "second", level=396.01), "--table", "hgx", "--write")
    assert code == 0 and "1 kept" in out
    assert run.file.read_text() == before


def test_a_reference_is_lowered_only_with_a_reason_that_stays(run, store):
    run(store(6, "first"), "--table", "hgx", "--write")
    before = run.file.read_text()
    slow = store(6, "slow", level=380.0)
    code, out, _ = run(slow, "--table", "hgx", "--write")
    assert code == 3 and "1 reference would be lowered" in out
    assert run.file.read_text() == before
    assert run(slow, "--table", "hgx", "--allow-lower", "--write")[0] == 2
    assert run(slow, "--table", "hgx", "--reason", "because", "--write")[0] == 2
    code, out, _ = run(slow, "--table", "hgx", "--write", "--allow-lower", "--reason", "new firmware\nof the switches")
    assert code == 0 and "1 lowered" in out
    text = run.file.read_text()
    assert "new firmware of the switches" in text
    assert References.load(run.file).table("hgx", TESTCASE)["cell[NV18]"].value == pytest.approx(380, rel=0.001)
    run(store(6, "fast", level=396.0), "--table", "hgx", "--write")
    text = run.file.read_text()
    assert "new firmware of the switches" in text and text.count(writing.ADOPTED) == 1
    assert References.load(run.file).table("hgx", TESTCASE)["cell[NV18]"].value == pytest.approx(396, rel=0.001)


def test_higher_latency_is_lower(make_record):
    present = {"cell[NV18]": Reference(2.0, -0.25, 0.2, "us")}
    proposed = proposal.Proposal(
        "case", "us", {"cell[NV18]": Reference(2.4, -0.25, 0.2, "us")}, 56, 6, {"NV18": 0.001}, ()
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


def test_what_is_refused_of_many_test_cases_alike_is_said_once():
    few = "too few runs: 1, at least 6 are needed to measure the noise"
    assert merged_sentences([f"a: {few}", "b: other", f"c: {few}", f"d: {few}", "whole", "whole"]) == [
        f"a and 2 more: {few}",
        "b: other",
        "whole",
    ]
