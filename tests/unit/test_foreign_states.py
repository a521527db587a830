"""Connections and states that other programs report: results without a measurement, judged by what is unlike."""

import json

import pytest
from foreign_texts import DATA, FOREIGN, records

from linkmatrix import cli
from linkmatrix.errors import BadInput
from linkmatrix.foreign.scan import read_text
from linkmatrix.judge.evaluate import evaluate
from linkmatrix.judge.findings import findings
from linkmatrix.judge.test_verdict import CheckFacts, judge_test
from linkmatrix.judge.verdicts import Verdict
from linkmatrix.references.tables import References

NO_REFERENCES = References({})


def found_in(record):
    """[(kind, component)] of the findings of a record."""
    return [(one.kind, one.component) for one in findings(record, evaluate(record, NO_REFERENCES, None))]


def matrix(count=8, links="NV18", nics=(), off=None):
    """A text of `nvidia-smi topo -m`; off: {(row, column): class}, with both directions."""
    off = {**(off or {}), **{(b, a): name for (a, b), name in (off or {}).items()}}
    lines = ["\t".join(["", *(f"GPU{n}" for n in range(count)), *(f"NIC{n}" for n in range(len(nics)))])]
    lines[0] += "\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID"
    for a in range(count):
        cells = [" X " if a == b else off.get((a, b), links) for b in range(count)]
        near = [near_of[a] for near_of in nics]
        lines.append("\t".join([f"GPU{a}", *cells, *near, "0-55", str(a * 2 // count), "N/A"]))
    for n, near_of in enumerate(nics):
        cells = [" X " if n == m else "SYS" for m in range(len(nics))]
        lines.append("\t".join([f"NIC{n}", *near_of, *cells]))
    return "\n".join(lines) + "\n"


def verdict_of(record):
    return judge_test(record, CheckFacts(), NO_REFERENCES, "").verdict


def test_a_topology_is_a_result_and_the_gpu_off_nvlink_is_named(tmp_path, capsys, linkmatrix):
    (record,) = records(FOREIGN["topo_b200_gpu2.txt"])
    assert found_in(record) == [("off NVLink", "gpu2")] and verdict_of(record) is Verdict.NOT_JUDGED
    assert [device["nics"] for device in record["devices"]][2:4] == [["mlx5_2"], ["mlx5_3"]]
    assert cli.main(["import", str(DATA / "foreign" / "topo_b200_gpu2.txt"), "--out", str(tmp_path)]) == 0
    for command in ("show", "diagnose"):
        capsys.readouterr()
        told = " ".join(linkmatrix.out(command, tmp_path / "01" / "record.json").split())
        assert "gpu2 has no NVLink" in told and "Check the fabric manager and the links of gpu2" in told
    assert cli.main(["report", str(tmp_path / "01" / "record.json"), "--out", str(tmp_path / "page")]) == 0
    assert "gpu2 has no NVLink" in next((tmp_path / "page").glob("**/*.html")).read_text()


def test_the_step_after_an_import_is_about_the_import(tmp_path, capsys, linkmatrix):
    foreign = DATA / "foreign"
    for name, step in (
        ("topo_and_matrix_b200.txt", "Next step: Check the fabric manager and the links of gpu2"),
        ("nvbandwidth_v0.10_b300.txt", "Next step: Compare the import with a run or another import"),
    ):
        assert cli.main(["import", str(foreign / name), "--out", str(tmp_path / name)]) == 0
        for command in ("show", "diagnose"):
            capsys.readouterr()
            told = " ".join(linkmatrix.out(command, tmp_path / name).split())
            assert step in told and "baseline" not in told


def test_the_gpus_of_a_gb200_node_are_at_their_sockets():
    (record,) = records(FOREIGN["topo_gb200.txt"])
    assert [device["numa"] for device in record["devices"]] == [0, 0, 1, 1]
    assert {word for row in record["topology"]["link_class"] for word in row} == {"X", "NV18"}
    assert found_in(record) == []


@pytest.mark.parametrize(
    ("affinity", "numa"), [("0-71\t0,3-9,11-17\t\t2", 0), ("72-143\t1,19-25,27-33\t\t18", 1), ("0-71\tN/A\t\t2", None)]
)
def test_a_gpu_of_grace_has_nodes_of_its_own_beside_that_of_its_socket(affinity, numa):
    (record,) = records(f"\tGPU0\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\nGPU0\t X \t{affinity}\n")
    assert record["devices"][0]["numa"] == numa  # one GH200


GLUED = [
    "GPU0GPU1NIC0CPU AffinityNUMA Affinity\nGPU0X NV18PIX0-710\nGPU1NV18X SYS72-1431\nNIC0PIXSYSX\n",
    "GPU0 GPU1 NIC0 CPU AffinityNUMA Affinity\nGPU0 X NV18PIX 0-71 0\nGPU1NV18 X SYS 72-143 1\nNIC0 PIXSYS X\n",
    "    GPU0GPU1NIC0\nGPU0 XNV18PIX\nGPU1NV18XSYS\nNIC0PIXSYSX\n",
]


@pytest.mark.parametrize("text", GLUED)
def test_columns_that_have_lost_their_blanks_are_told_apart(text):
    (run,) = read_text(text)
    assert run.faults == [] and run.topology.link_class == {("gpu0", "gpu1"): "NV18", ("gpu1", "gpu0"): "NV18"}
    assert run.topology.nic_class == {("gpu0", "NIC0"): "PIX", ("gpu1", "NIC0"): "SYS"}


def test_a_number_of_links_beside_a_processor_is_that_of_the_row_or_not_believed():
    (run,) = read_text("GPU0GPU1GPU2CPU Affinity\nGPU0XNV18NV180-71\nGPU1NV18XNV180-71\nGPU2NV18NV18X72-143\n")
    assert run.topology.links["gpu0", "gpu2"] == 18 and run.faults == []
    (run,) = read_text("GPU0GPU1CPU Affinity\nGPU0XNV180-71\nGPU1NV18X72-143\n")
    assert ("gpu0", "gpu1") not in run.topology.links and "row GPU0" in run.faults[0]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (matrix(), []),
        (matrix(off={(5, other): "SYS" for other in range(8) if other != 5}), [("off NVLink", "gpu5")]),
        (matrix(4, off={(0, other): "PHB" for other in range(1, 4)}), [("off NVLink", "gpu0")]),
        (matrix(off={(3, other): "NV17" for other in range(8) if other != 3}), [("unlike links", "gpu3")]),
        (matrix(off={(1, 6): "NV4"}), [("unlike links", "gpu1 and gpu6")]),
        (matrix(off={(1, 6): "SYS"}), [("unlike links", "gpu1 and gpu6")]),
        # bridges of two, a machine without NVLink, a mesh of different links, and four of eight
        (matrix(4, "SYS", off={(0, 1): "NV4", (2, 3): "NV4"}), []),
        (matrix(3, "PHB", off={(0, 1): "NV4"}), []),
        (matrix(8, "NODE"), []),
        (matrix(4, "NV1", off={(0, 1): "NV2", (2, 3): "NV2"}), []),
        (matrix(off={(a, b): "SYS" for a in range(4) for b in range(8) if a != b}), []),
    ],
)
def test_what_is_connected_otherwise_than_the_rest_is_named(text, found):
    (record,) = records(text)
    assert found_in(record) == found and verdict_of(record) is Verdict.NOT_JUDGED


def test_a_topology_whose_two_directions_differ_is_damaged():
    (run,) = read_text(matrix().replace("GPU1\tNV18", "GPU1\tSYS"))
    assert len(run.faults) == 1 and "GPU0 to GPU1 is NV18, but GPU1 to GPU0 is SYS" in run.faults[0]


def near(classes, count=8):
    """NICs, one for each GPU, that are at these classes for their GPU and SYS for the others."""
    return [[classes[n] if n == a else "SYS" for a in range(count)] for n in range(count)]


@pytest.mark.parametrize(
    ("classes", "found"),
    [
        (["PIX"] * 8, []),
        (["PIX"] * 5 + ["NODE"] + ["PIX"] * 2, [("far adapter", "gpu5")]),
        (["PXB"] * 6 + ["PIX"] * 2, []),
        (["PIX"] * 4 + ["SYS"] * 4, []),
        (["SYS"] * 8, []),
    ],
)
def test_a_gpu_whose_network_adapter_is_farther_than_those_of_the_others_is_named(classes, found):
    (record,) = records(matrix(nics=near(classes)))
    assert found_in(record) == found


def test_links_that_are_down_and_links_with_errors_are_named():
    (record,) = records(FOREIGN["nvlink_h100_layout.txt"])
    assert found_in(record) == [("unlike device", "gpu2"), ("link errors", "gpu2")]
    assert record["devices"][2]["state"] == {
        "nvlinks": "18",
        "nvlinks_active": "17",
        "nvlink_speed_least": "26.562",
        "nvlink_errors": "link 4 CRC Errors 14",
    }
    assert record["devices"][0]["name"] == "NVIDIA H100 80GB HBM3" and verdict_of(record) is Verdict.NOT_JUDGED


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        ("<inactive>", "26.562 GB/s", [("link errors", "gpu2")]),
        ("<inactive>", "13.281 GB/s", [("unlike links", "gpu2"), ("link errors", "gpu2")]),
        ("CRC Errors: 14", "CRC Errors: 0", [("unlike device", "gpu2")]),
    ],
)
def test_each_state_of_a_link_is_compared_with_the_others(old, new, found):
    (record,) = records(FOREIGN["nvlink_h100_layout.txt"].replace(old, new))
    assert found_in(record) == found


def test_gpus_whose_links_are_all_down_have_none_that_is_active_and_without_nvlink_nothing_is_known():
    head = "GPU {}: NVIDIA A100-SXM4-80GB (UUID: GPU-1)"
    text = f"{head.format(0)}\n\t Link 0: 25 GB/s\n{head.format(1)}"
    text += " NVML: Unable to retrieve NVLink information as all links are inActive\n"
    (record,) = records(text)
    assert found_in(record) == [("unlike device", "gpu1")]
    down = text.replace("25 GB/s", "<inactive>")
    assert found_in(records(down)[0]) == [("no active NVLink", "gpu0, gpu1")]
    with pytest.raises(BadInput, match="it contains no (valid )?table"):
        read_text(f"{head.format(0)} Device does not have or support Nvlink\n")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (" (UUID: GPU-00000000-0000-0000-0000-000000000002)", ""),
        (
            "\t Link 4: CRC Errors: 14",
            "\t Link 4: Effective BER: 15e-255\n\t Link 4: Tx packets: 7\n\t Link 4: CRC Errors: 14",
        ),
    ],
)
def test_other_lines_of_links_and_another_head_change_nothing(old, new):
    (record,) = records(FOREIGN["nvlink_h100_layout.txt"].replace(old, new))
    assert found_in(record) == [("unlike device", "gpu2"), ("link errors", "gpu2")]


DCGM = json.loads(FOREIGN["dcgm_diag_v4_layout.json"])


def test_what_dcgm_reports_is_a_finding_of_dcgm():
    (record,) = records(FOREIGN["dcgm_diag_v4_layout.json"])
    assert record["imported"]["program"] == "dcgmi_diag" and record["software"] == {
        "DCGM": "4.2.3",
        "driver": "570.148.08",
    }
    assert record["imported"]["findings"] == [
        {"program": "dcgmi_diag", "component": "gpu1", "sentence": "memory fail: A DBE was found."}
    ]
    assert found_in(record) == [("another program", "gpu1")] and verdict_of(record) is Verdict.NOT_JUDGED
    assert any("did not run: pcie" in note for note in record["notes"])


@pytest.mark.parametrize(
    ("result", "component", "sentence"),
    [
        ({"gpu_ids": "0,3", "status": "FAIL", "warnings": "too slow"}, "gpu0, gpu3", "pcie fail: too slow"),
        ({"gpu_id": "7", "status": "WARN", "warnings": ["a", "b"]}, "gpu7", "pcie warn: a; b"),
        ({"entity_group": "CPU", "entity_id": 0, "status": "Fail"}, "node", "pcie fail"),
        ({"entity_id": 2, "info": "\x1b[31mred\nline"}, "gpu2", "pcie without a status: ?[31mred line"),
    ],
)
def test_results_of_each_version_of_dcgm_name_their_gpus(result, component, sentence):
    content = {"DCGM GPU Diagnostic": {"test_categories": [{"tests": [{"name": "pcie", "results": [result]}]}]}}
    (record,) = records(json.dumps(content))
    (found,) = record["imported"]["findings"]
    assert (found["component"], found["sentence"]) == (component, sentence)


@pytest.mark.parametrize(
    "tests",
    [
        [],
        [{"name": "pcie", "results": [{"gpu_id": "0", "status": "Skip"}]}],
        [{"name": "pcie", "test_summary": {"status": "Not Run"}}],
    ],
)
def test_a_report_of_dcgm_that_tested_nothing_is_incomplete(tests):
    (record,) = records(json.dumps({"DCGM Diagnostic": {"test_categories": [{"tests": tests}]}}))
    assert verdict_of(record) is Verdict.INCOMPLETE and "DCGM tested nothing" in record["error"]


def test_a_topology_that_is_not_whole_is_incomplete():
    text = FOREIGN["topo_b200_gpu2.txt"]
    (record,) = records("".join(line for line in text.splitlines(keepends=True) if not line.startswith("GPU4")))
    assert verdict_of(record) is Verdict.INCOMPLETE and "GPU4" in record["error"]


def test_no_text_of_a_report_steers_a_terminal_or_is_markup(tmp_path, linkmatrix):
    text = "\x9b31m\u202e\u2028<script>alert(1)</script>\nFORGED PASS\x1b[2J\ud800"
    content = json.loads(json.dumps(DCGM))
    (hardware,) = content["DCGM Diagnostic"]["test_categories"][1]["tests"]
    hardware["name"], hardware["results"][1] = text, {"gpu_id": "1", "status": text, "warnings": [{"warning": text}]}
    content["metadata"] = {"version": text}
    (tmp_path / "diag.json").write_text(json.dumps(content))
    assert cli.main(["import", str(tmp_path / "diag.json"), "--out", str(tmp_path / "out")]) == 0
    record = str(tmp_path / "out" / "01" / "record.json")
    assert [cli.main([command, record]) for command in ("show", "diagnose")] == [0, 0]
    out = linkmatrix.out("report", record, "--out", tmp_path / "page")
    page = next((tmp_path / "page").glob("**/*.html")).read_text()
    assert not {"\x9b", "\x1b", "\u202e", "\u2028", "\ud800"} & set(out + page)
    assert "\nFORGED" not in out and "<script>alert" not in page


@pytest.mark.parametrize("between", ["", "n02:\n", "\n\nn02 $ nvidia-smi topo -m\n"])
def test_topologies_of_two_nodes_in_one_text_are_two_records(between):
    bad = matrix(off={(5, other): "SYS" for other in range(8) if other != 5})
    found = [found_in(record) for record in records(bad + between + matrix())]
    assert found == [[("off NVLink", "gpu5")], []]


def test_a_topology_and_the_state_of_its_links_are_one_record():
    (record,) = records(matrix(4) + "\n" + FOREIGN["nvlink_h100_layout.txt"])
    assert record["topology"]["link_class"][0][1] == "NV18" and record["devices"][2]["state"]["nvlinks_active"] == "17"


@pytest.mark.parametrize("prefix", ["NVML: ", ""])
def test_a_gpu_whose_links_are_all_inactive_is_named_where_the_sentence_has_its_own_line(prefix):
    (record,) = records(
        "GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-1)\n"
        f"{prefix}Unable to retrieve NVLink information as all links are inActive\n"
        "GPU 1: NVIDIA H100 80GB HBM3 (UUID: GPU-2)\n\t Link 0: 26.562 GB/s\n\t Link 1: 26.562 GB/s\n"
    )
    assert len(record["devices"]) == 2
    assert [component for _, component in found_in(record)] == ["gpu0"]
