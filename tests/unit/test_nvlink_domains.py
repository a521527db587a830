"""NVLink domains that span nodes: the device, the tray or the switches at fault, and what is no domain."""

from pathlib import Path

import numpy as np
import pytest

from linkmatrix.commands import arguments
from linkmatrix.errors import BadInput
from linkmatrix.locate import confidence, experiments, sentences
from linkmatrix.locate.deviations import Deviations
from linkmatrix.locate.families import families
from linkmatrix.locate.hypotheses import Finding, search
from linkmatrix.locate.layout import layout_of
from linkmatrix.record.matrix import from_result
from linkmatrix.record.reading import check
from linkmatrix.runs import stored
from linkmatrix.runs.testcases import Test
from linkmatrix.site import configured
from tests.tools.fabric import Fabric, Machine, record_of

TRAYS, GPUS = 4, 4


@pytest.fixture(scope="module")
def domain():
    """The record of a domain of four trays with four GPUs each."""
    machine = Machine(TRAYS, GPUS, domain=TRAYS)
    fabric = Fabric(machine, np.random.default_rng(1), missing=0.0)
    return record_of(machine, fabric.run(whole=True).values)


def laid_out(record):
    """(layout, names) of the only matrix of a record."""
    return layout_of(record, record["results"][0], from_result(record["results"][0]))


def named(record, slow):
    """What is found where `slow` is the mask of cells that lose 5.6 %, with names."""
    layout, names = laid_out(record)
    deviation = np.where(slow, np.log(1 - 1 / 18), 0.0)
    deviation[np.eye(len(deviation), dtype=bool)] = np.nan
    found, left = search(deviation, np.full(slow.shape, 0.002), np.full(slow.shape, 0.02), layout)
    assert not left
    kinds = [[(one.kind, one.subject), *one.equivalent] for one in found]
    return [{(kind, sentences.subject_name(kind, who, names)) for kind, who in group} for group in kinds]


def nodes_of(record):
    """The number of each endpoint's tray."""
    return np.arange(len(record["devices"])) // GPUS


def test_a_simulated_domain_is_a_valid_record(domain):
    check(domain)


def test_a_tray_is_slow_also_inside(domain):
    of = nodes_of(domain)
    assert named(domain, (of[:, None] == 2) | (of[None, :] == 2)) == [{("tray", "n002")}]


def test_a_device_is_slow_with_all_of_its_domain(domain):
    at = np.arange(16)
    assert named(domain, (at[:, None] == 5) | (at[None, :] == 5)) == [{("device", "n001:gpu1")}]


def test_a_plane_of_switches_slows_all_cells_of_its_domain(domain):
    (found,) = named(domain, np.ones((16, 16), dtype=bool))
    assert found == {("domain", "domain0"), ("class", "NV18")}, "one domain: its class has the same cells"


def of_two_domains():
    """The record of 4 nodes with 4 devices each, two nodes per domain."""
    machine = Machine(4, 4, domain=2)
    return record_of(machine, Fabric(machine, np.random.default_rng(1)).run(whole=True).values)


@pytest.mark.parametrize(
    ("slow", "component"),
    [
        (lambda row, column: (row // 8 == 1) & (column // 8 == 1), ("domain", "domain1")),
        (lambda row, column: (row == 5) | (column == 5), ("nvlinks", "n001:gpu1")),
        (lambda row, column: (row >= 0) & (column == 5), ("nvlinks_ingress", "n001:gpu1")),
    ],
    ids=["plane", "device", "receiver"],
)
def test_what_is_slow_inside_one_of_two_domains_is_named(slow, component):
    record, at = of_two_domains(), np.arange(16)
    of = nodes_of(record) // 2
    assert named(record, slow(at[:, None], at[None, :]) & (of[:, None] == of[None, :])) == [{component}]


def test_no_adapter_is_blamed_for_cells_over_nvlink(domain):
    kinds = {family.kind for family in families(laid_out(domain)[0])}
    assert {"tray", "domain", "device", "inside"} <= kinds
    assert not kinds & {"nic", "nics", "network", "node", "node_pair", "rail", "links", "nvlinks", "socket"}


@pytest.mark.parametrize("change", ["no domain", "over the network", "of one node"])
def test_what_uses_no_nvlink_between_nodes_has_no_domain(domain, change):
    record = {**domain, "devices": [dict(one) for one in domain["devices"]]}
    for device in record["devices"]:
        own = {"no domain": None, "over the network": "domain0", "of one node": device["node"]}[change]
        device["place"] = {"node": device["node"]} | ({"domain": own} if own else {})
    if change == "over the network":
        classes = [
            ["X" if r == c else "NV18" if r // GPUS == c // GPUS else "NET" for c in range(16)] for r in range(16)
        ]
        record["results"] = [{**domain["results"][0], "link_class": classes}]
    layout, names = laid_out(record)
    assert "domain" not in names.parts and not layout.in_domain.any()
    assert "node" in {family.kind for family in families(layout)}


@pytest.mark.parametrize(
    ("kind", "subject", "words"),
    [
        (
            "tray",
            2,
            "all cells of tray n002 over NVLink are 5.6 % slow (16 of 16 cells): check this tray: its NVLink",
        ),
        (
            "domain",
            0,
            "all cells inside NVLink domain domain0 are 5.6 % slow (16 of 16 cells): check its NVLink swit",
        ),
        (
            "nvlinks",
            5,
            "inside its NVLink domain n001:gpu1 is 5.6 % slow with every peer (16 of 16 cells): check its NVLinks",
        ),
    ],
)
def test_sentences_of_a_domain(domain, kind, subject, words):
    layout, names = laid_out(domain)
    one = Finding(kind, subject, -1 / 18, 16, 16, 100.0)
    values = np.zeros(layout.classes.shape)
    seen = Deviations(layout.classes, values, np.full(values.shape, 0.02))
    assert sentences.sentence(one, names, domain, domain["results"][0], seen, layout).startswith(words)


def test_the_next_experiment_keeps_the_transport(domain):
    layout, names = laid_out(domain)
    result = {**domain["results"][0], "transport": "fabric", "memory": "device"}
    one = Finding("tray", 2, -0.05, 16, 16, 100.0)
    command = experiments.next_experiment(one, names, layout, domain, result).command
    assert "--memory device --transport fabric" in command and "n002" in command
    assert "--transport" not in experiments.next_experiment(one, names, layout, domain, domain["results"][0]).command


def test_the_confidence_of_a_tray_compares_the_other_trays(domain):
    layout, _ = laid_out(domain)
    others = dict(confidence.healthy_cells_nearby(Finding("tray", 2, -0.05, 16, 16, 100.0), layout))
    assert others["of the domain's other trays"].sum() == 12 * 12


def test_groups_that_are_blocks_of_slurm_are_domains(tmp_path):
    file = tmp_path / "topology"
    file.write_text("BlockName=rack1 BlockIndex=0 Nodes=n[1-18] BlockSize=18\n")
    assert configured.group_type(file) == "domain"
    file.write_text("rack1: n[1-18]\n")
    assert configured.group_type(file) == "leaf"


def test_the_domain_of_a_record_is_more_exact_than_the_block_of_a_node():
    """A block of Slurm may have two cliques, and no NVLink connects them."""
    record = of_two_domains()
    del record["devices"][0]["place"]["domain"]
    run = stored.Run(Path("x"), (Test("t", record=record),))
    found = (
        arguments.with_groups(run, {f"n{node:03}": "rack1" for node in range(4)}, "domain").tests[0].record["devices"]
    )
    assert [device["place"]["domain"] for device in found] == ["rack1", *["domain0"] * 7, *["domain1"] * 8]


@pytest.mark.parametrize("name", ["b(1)", "\x1b[31m", "<b>"])
def test_the_name_of_a_block_is_checked(name):
    with pytest.raises(BadInput, match="names no group"):
        configured.parse_groups(f"BlockName={name} BlockIndex=0 Nodes=n[1-2] BlockSize=2\n", "topology.txt")
