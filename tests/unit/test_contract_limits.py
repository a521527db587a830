"""What a contract says of sizes, link classes, parts and hosts is what was measured, or there is no PASS."""

import json
import re
from pathlib import Path

import pytest
from contracts import LONG_AGO, SIZE, TESTCASE, Sold, draft_of, limits_of

from linkmatrix import cli
from linkmatrix.contract import terms
from linkmatrix.contract.inventory import Inventory
from linkmatrix.errors import BadInput
from linkmatrix.references import keys


@pytest.fixture
def sold(machine, tmp_path, capsys):
    machine.prepare("pass")
    return Sold(tmp_path / "sold", machine, capsys)


def edit(machine, change):
    """Changes the text of the prepared record."""
    (path,) = (machine.folder / "output").glob(f"0-{machine.prepared}/record.json")
    path.write_text(change(path.read_text()))


def freeze(sold, limits, **more):
    """Freezes other limits than the ones of `Sold`."""
    sold.folder.mkdir(exist_ok=True)
    (sold.folder / "limits.yaml").write_text(limits)
    (sold.folder / "draft.yaml").write_text(json.dumps(draft_of(**more)))
    sold.contract.write_bytes(terms.frozen(sold.folder / "draft.yaml", LONG_AGO).content)


TWO_CLASSES = limits_of(380) + "      cell[SYS]: [20, 0, null, GB/s]\n"


def test_limits_by_link_class_let_no_other_link_pass(sold, machine):
    freeze(sold, TWO_CLASSES, testcases={TESTCASE: {"classes": {"NV18": 12}}})
    edit(machine, lambda text: text.replace("NV18", "SYS").replace("396.0", "21.0"))
    code, out = sold.run()
    assert code == 3 and "0 cells are of the link class NV18, and 12 were sold" in out, out
    assert sold.verify()[0] == 3


def test_with_limits_of_several_link_classes_their_cells_are_counted(sold):
    with pytest.raises(BadInput, match=r"there are limits for NV18, SYS: say how many cells are of each"):
        freeze(sold, TWO_CLASSES)
    with pytest.raises(BadInput, match="its classes have 11 cells, and it has 12"):
        freeze(sold, TWO_CLASSES, testcases={TESTCASE: {"classes": {"NV18": 11}}})
    freeze(sold, TWO_CLASSES, testcases={TESTCASE: {"classes": {"NV18": 12}}})
    assert sold.run()[0] == 0


@pytest.mark.parametrize(("size", "said"), [(4096, "4 KiB"), (0, "0 bytes")])
def test_another_size_is_incomplete(sold, machine, size, said):
    edit(machine, lambda text: text.replace(f'"size_bytes": {SIZE}', f'"size_bytes": {size}'))
    sold.freeze()
    code, out = sold.run()
    assert code == 3 and f"{TESTCASE} was measured with {said}, and 512 MiB were sold" in out, out
    assert "512 MiB" in sold.bundle.with_suffix(".html").read_text()


@pytest.mark.parametrize("size", [None, True, 0, "0", "much", -1, [1]])
def test_a_bandwidth_without_a_size_is_not_sold(sold, size):
    with pytest.raises(BadInput, match=r"size: 512MiB|is no size"):
        sold.freeze(testcases={TESTCASE: {"size": size}})


def test_no_device_is_two_parts(sold):
    parts = [{"node": "node001", "slot": "0"}, {"node": "node001", "serial": "1650"}, *[{"node": "node001"}] * 2]
    sold.freeze(parts=parts)
    code, out = sold.run()
    assert code == 3 and "each device that it could be is another part that was sold" in out, out


def test_parts_that_many_devices_could_be_find_one_each(sold):
    sold.freeze(
        parts=[*[{"node": "node001"}] * 2, {"node": "node001", "serial": "1651"}, {"node": "node001", "slot": "0"}]
    )
    assert sold.run()[0] == 0


def test_records_of_several_nodes_together_have_as_many_devices_as_were_sold(sold, make_record):
    parts = [{"node": "n1"}] * 4 + [{"node": "n2"}] * 4
    contract = sold.freeze(parts=parts, testcases={TESTCASE: {"nodes": "all", "cells": 12}})

    def across(first):
        record = make_record()
        for at, device in enumerate(record["devices"]):
            device["node"] = device["place"]["node"] = f"n{1 + at % 2}"
            device["part"]["serial"] = device["place"]["slot"] = f"{first + at}"
        return record

    assert "n1 has 2 devices in a record, and 4 were sold" in Inventory(contract, [across(1)]).missing
    assert Inventory(contract, [across(1), across(11)]).missing == []
    assert Inventory(contract, [across(1), across(1)]).missing != []


@pytest.mark.parametrize(
    ("measured", "named", "wanted"),
    [
        ("node001.other.example", "node001.sold.example", 3),
        ("node001.sold.example", "node001.sold.example", 0),
        ("node001", "node001.sold.example", 0),
        ("node001.sold.example", "node001", 0),
    ],
)
def test_a_host_of_the_same_name_in_another_domain_is_another(sold, machine, measured, named, wanted):
    edit(machine, lambda text: text.replace('"node001"', f'"{measured}"'))
    sold.freeze(node=named)
    code, out = sold.run()
    assert code == wanted and (code == 0 or f"node {named} was not measured" in out), out


@pytest.mark.parametrize(
    ("limits", "said"),
    [
        (limits_of(380).replace("intranode_p2p", "no_such_check"), "no check is called 'no_such_check'"),
        (limits_of(380).replace("cell[NV18]", "NV18"), "'NV18' is the limit of no cell"),
        (limits_of(380).replace(":\n      cell[NV18]: [380, 0, null, GB/s]", ": {}"), "there is no limit for"),
        (limits_of(380).replace("  sold:", "  soldier:"), "has no table 'sold'"),
    ],
)
def test_limits_that_can_judge_nothing_are_not_frozen(sold, limits, said):
    with pytest.raises(BadInput, match=said):
        freeze(sold, limits)


def test_limits_of_another_check_are_no_limits(sold):
    freeze(sold, limits_of(1).replace("intranode_p2p", "peer_nvbandwidth"))
    assert sold.run()[0] == 3


NODE_CASE = "node_to_node_bandwidth_mpi"
BETWEEN = f"crossnode_matrix:\n  $index: [reference_name, testcase]\n  sold:\n    {NODE_CASE}:\n"
BETWEEN += "      cell[NET]: [20, 0, null, GB/s]\n"


@pytest.mark.parametrize(
    ("check", "table", "nodes", "said"),
    [
        ("crossnode_matrix", "sold", 2, ""),
        ("crossnode_matrix", "sold", 3, "crossnode_matrix measures @all with 3 nodes: its limits stand in .* sold@all"),
        ("crossnode_matrix", "sold@all", 3, ""),
        ("crossnode_matrix", "sold@all@crossed", 3, ""),
        ("crossnode_device_matrix", "sold", 2, "crossnode_device_matrix measures @device with 2 nodes"),
        ("crossnode_device_matrix", "sold@device", 3, "measures @all, @device with 3 nodes"),
        ("crossnode_device_matrix", "sold@all@device", 3, ""),
        ("crossnode_matchings", "sold@all", 3, "stand in a table sold@all@matchings"),
    ],
)
def test_limits_that_stand_in_no_table_of_what_their_check_measures_are_not_frozen(sold, check, table, nodes, said):
    limits = BETWEEN.replace("crossnode_matrix", check).replace("sold", table)
    parts = [{"node": f"n{at}"} for at in range(nodes)]
    if not said:
        freeze(sold, limits, parts=parts, testcases={NODE_CASE: {"nodes": "all"}})
        assert terms.load(sold.contract).testcases == {NODE_CASE}
        return
    with pytest.raises(BadInput, match=said):
        freeze(sold, limits, parts=parts, testcases={NODE_CASE: {"nodes": "all"}})


def test_each_check_of_two_nodes_and_of_all_is_known_as_one():
    texts = [path.read_text() for path in (Path(__file__).parents[2] / "checks").glob("*.py")]
    classes = [one for text in texts for one in re.findall(r"^class (\w+)\((.*)\):", text, re.MULTILINE)]
    bases = {name: re.findall(r"\w+", of) for name, of in classes}

    def of_extent(name):
        return name == "OfExtent" or any(map(of_extent, bases.get(name, ())))

    assert {name for name in bases if of_extent(name)} - {"OfExtent"} == set(keys.OF_EXTENT)


def test_the_example_is_frozen_with_the_limits_that_stand_below_it(tmp_path, capsys):
    assert cli.main(["contract", "freeze", "--example"]) == 0
    draft, _, limits = capsys.readouterr().out.partition("#\n# limits.yaml")
    (tmp_path / "draft.yaml").write_text(draft.replace("document:", "# document:"))
    lines = [line.removeprefix("# ") for line in limits.splitlines()[1:]]
    (tmp_path / "limits.yaml").write_text("\n".join(lines))
    frozen = terms.frozen(tmp_path / "draft.yaml")
    assert [case.cells for case in frozen.cases] == [2, 2] and "cell[NV18]" in frozen.limits


def test_the_limits_of_a_variant_stand_in_its_own_table(sold):
    sold.cases(lambda runs: [{"testcases": [{**one, "reference_variant": "@all"} for one in runs[0]["testcases"]]}])
    freeze(sold, limits_of(380))
    assert sold.run()[0] == 3
    freeze(sold, limits_of(381).replace("  sold:", "  sold@all:"))
    assert sold.run(sold.folder / "variant.tar")[0] == 0
