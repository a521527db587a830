"""Typical values: each has a source with a date and a quote, and outputs show shares of them without a verdict."""

import statistics
from pathlib import Path

import pytest
import yaml

from linkmatrix.errors import BadInput
from linkmatrix.record import grids, reading
from linkmatrix.references.typical import FILE, nccl_algorithm, pair_link_name, typical_values

REPOSITORY = Path(__file__).parents[2]
OWN = "tests/data/"
CONTENT = yaml.safe_load(FILE.read_text())


def load(name):
    return reading.load(REPOSITORY / name)


def median(record, testcase, group):
    """The median of the cells of a link class."""
    (result,) = [one for one in record["results"] if one["testcase"] == testcase]
    values, classes = grids.numbers(result["values"]), [one for row in result["link_class"] for one in row]
    return statistics.median(
        one for one, name in zip(values.ravel(), classes, strict=True) if name == group and one > 0
    )


def test_each_published_figure_is_in_the_quote_of_its_source():
    for entry in CONTENT["values"]:
        if not CONTENT["sources"][entry["source"]]["place"].endswith(".record.json"):
            assert str(entry["value"]).removesuffix(".0") in entry["quote"]


def test_each_figure_of_a_record_here_is_the_median_of_that_record():
    checked = 0
    for entry in CONTENT["values"]:
        place = CONTENT["sources"][entry["source"]]["place"]
        if place.endswith(".record.json"):
            group = "HOST" if entry["link"].startswith("PCIe") else entry["link"]
            assert median(load(place), entry["testcase"], group) == pytest.approx(entry["value"], rel=2e-3)
            checked += 1
    assert checked > 10


def test_a_figure_of_a_document_here_is_in_the_document():
    for entry in CONTENT["values"]:
        place = CONTENT["sources"][entry["source"]]["place"]
        if place.startswith(OWN) and place.endswith(".txt"):
            assert str(entry["value"]) in (REPOSITORY / place).read_text()


def test_a_record_tells_product_and_link():
    record = load("tests/data/h100x2/idle.record.json")
    by_name = {result["testcase"]: result for result in record["results"]}
    found = typical_values()
    host, peer = by_name["host_to_device_memcpy_ce"], by_name["device_to_device_memcpy_write_ce"]
    assert pair_link_name(record, host, "HOST") == "PCIe 5 x16"
    assert found.of(record, host, "HOST").value == 55.43
    assert found.of(record, peer, "NV18").value == 396.72
    assert found.of(record, peer, "PIX") is None
    for device in record["devices"]:
        device["name"] = "NVIDIA GB200"
    assert found.of(record, host, "HOST").value == 201, "not the typical value of PCIe"
    record["devices"][0]["name"] = "another GPU"  # of several products nobody can say
    assert found.of(record, peer, "NV18") is None


@pytest.mark.parametrize(
    ("testcase", "rates", "link"),
    [
        ("ib_write_bw", ["400 Gb/sec (4X NDR)", ""], "NDR"),
        ("ib_write_bw", ["400 Gb/sec (4X NDR)", "200 Gb/sec (4X HDR)"], ""),
        ("ib_write_bw", ["100 Gb/sec"], ""),
        ("other", ["400 Gb/sec (4X NDR)"], "NET"),
    ],
)
def test_the_link_of_adapters_is_their_common_infiniband_rate(testcase, rates, link):
    record = {"devices": [], "adapters": [{"rate": rate} for rate in rates]}
    assert pair_link_name(record, {"testcase": testcase}, "NET") == link


@pytest.mark.parametrize(
    ("notes", "algorithm"),
    [
        (["NCCL ran RING, SIMPLE, channels 0..23", "another note"], "Ring"),
        (["NCCL ran NVLS, SIMPLE"], "NVLS"),
        (["NCCL ran NVLS, SIMPLE", "NCCL ran RING, LL"], ""),
        (["NCCL ran TREE, LL"], ""),
        ([], ""),
    ],
)
def test_an_algorithm_counts_if_nccl_ran_no_other(notes, algorithm):
    assert nccl_algorithm({"notes": notes}) == algorithm


def test_a_rate_in_bits_is_converted_and_a_minimum_yields_to_a_measurement():
    found = typical_values().values
    assert found["any", "ib_write_bw", "HDR"].value == pytest.approx(24.25)
    assert found["any", "host_to_device_memcpy_ce", "PCIe 3 x16"].value == pytest.approx(12.1507)
    assert not found["A100 SXM", "all_reduce_perf", "8 GPUs"].minimum
    assert found["B300", "all_reduce_perf", "8 GPUs NVLS"].minimum


def test_a_share_below_one_is_worse_for_a_bandwidth_and_for_a_latency():
    found = typical_values().values
    assert found["H100 SXM", "device_to_device_memcpy_write_ce", "NV18"].share(198.36) == pytest.approx(0.5)
    assert found["H100 SXM", "device_to_device_latency_sm", "NV18"].share(1.66) == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda c: c.pop("sources"), "products, sources and values"),
        (lambda c: c["values"][0].pop("quote"), "must have the fields"),
        (lambda c: c["values"][0].update(value=-1), "positive number"),
        (lambda c: c["values"][0].update(value=True), "positive number"),
        (lambda c: c["values"][0].update(unit="TB/s"), "the unit"),
        (lambda c: c["values"][0].update(kind="guess"), "the field kind"),
        (lambda c: c["values"][0].update(source="nowhere"), "source 'nowhere'"),
        (lambda c: c["values"][0].update(product="X1"), "product 'X1'"),
        (lambda c: c["values"].append(dict(c["values"][0])), "twice"),
        (lambda c: c["sources"]["h100"].update(date="yesterday"), "date"),
        (lambda c: c["products"].update(B200="NVIDIA B200"), "list of device names"),
    ],
)
def test_a_mistake_in_the_file_is_refused_with_its_place(tmp_path, change, problem):
    content = yaml.safe_load(FILE.read_text())
    change(content)
    file = tmp_path / "typical.yaml"
    file.write_text(yaml.safe_dump(content))
    with pytest.raises(BadInput, match=problem) as raised:
        typical_values(file)
    assert str(file) in str(raised.value)
