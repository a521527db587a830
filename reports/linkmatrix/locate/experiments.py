"""The next experiment for a slow component: a command, and the conclusion from its result."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..invocation import launcher
from .layout import Layout, Names, subject_masks
from .next_steps import Origin

if TYPE_CHECKING:
    from ..record.names import Result
    from .hypotheses import Finding

SAMPLES = "21"  # three times the usual number halves the interval of a median, nearly
MAX_SUSPECTS, HEALTHY = 4, 2  # numbers of suspect and of healthy endpoints or nodes in an experiment
INSIDE = "measure inside the node: a faulty device is slow there"
EACH_ADAPTER = "measure each adapter alone: a slow adapter is at fault"
ALL_DEVICES = "measure all devices: a device that is slow with other devices too is at fault"
THIRD_NODE = "measure with a third node: the node that is slow with the third node is at fault"
MORE_SAMPLES = "repeat the test with more samples: an endpoint that stays slow is at fault"
AGAIN_ALONE = "measure the same cells again, alone: an endpoint that stays slow next to healthy endpoints is at fault"
LAUNCHED = ("mpi", "ipc")  # back ends that need a launcher
#: Schedulers whose jobs take the option --nodelist.
WITH_NODELIST = ("slurm", "squeue")
SWEEP, NODES = (
    "node_sweep",
    "LINKMATRIX_NODES",
)  # a check that measures each node alone, and the variable with its nodes


class Experiment(NamedTuple):
    """A command, and the conclusion that its result allows."""

    command: str
    conclusion: str


@dataclass(frozen=True)
class Case:
    """A finding, with the data for its commands. The fields are the arguments of `next_experiment`."""

    one: Finding
    names: Names
    layout: Layout
    content: Mapping[str, Any]
    result: Result
    origin: Origin

    @cached_property
    def devices(self) -> Mapping[str, Mapping[str, Any]]:
        """{label: device}."""
        return {device["label"]: device for device in self.content.get("devices", [])}

    @property
    def suspects(self) -> list[str]:
        """The labels of the endpoints of the finding."""
        rows, columns = subject_masks(self.one.kind, self.one.subject, self.layout)
        named = [self.names.rows[at] for at in np.flatnonzero(rows)]
        named += [self.names.columns[at] for at in np.flatnonzero(columns)]
        return list(dict.fromkeys(named))

    def with_healthy(self, suspects: Sequence[str], every: Iterable[str]) -> list[str]:
        """The first MAX_SUSPECTS suspects, followed by some other endpoints or nodes.

        every: the endpoints or nodes of which up to HEALTHY are added.
        """
        return [*suspects[:MAX_SUSPECTS], *[one for one in every if one not in suspects][:HEALTHY]]

    def node_of(self, label: str) -> str:
        """The node of an endpoint. The label of a node is returned unchanged."""
        return str(self.devices[label]["node"]) if label in self.devices else label

    def nodes_of(self, labels: Iterable[str]) -> list[str]:
        """The nodes of endpoints, without duplicates."""
        return list(dict.fromkeys(self.node_of(label) for label in labels))


def next_experiment(
    finding: Finding,
    names: Names,
    layout: Layout,
    content: Mapping[str, Any],
    result: Result,
    origin: Origin | None = None,
) -> Experiment | None:
    """The next experiment for a finding; None for records of other programs than p2p_matrix.

    origin: the test that left the record; None if the test is unknown.
    """
    if content.get("program") != "p2p_matrix":
        return None
    case = Case(finding, names, layout, content, result, origin or Origin())
    kinds = {finding.kind, *(kind for kind, _ in finding.equivalent)}
    for wanted, conclusion, command in EXPERIMENTS:
        if wanted <= kinds:
            return Experiment(shlex.join(command(case)), conclusion)
    if case.origin.is_queued:
        return Experiment(shlex.join(repeat_test(case)), MORE_SAMPLES)
    return Experiment(shlex.join(repeat_alone(case)), AGAIN_ALONE)


def repeat_test(case: Case) -> list[str]:
    """The command that repeats the ReFrame test with more samples, on the suspects' nodes and some healthy nodes.

    ReFrame uses the scheduler and the launcher of the partition.
    """
    origin, check = case.origin, case.origin.name.partition(" ")[0]
    words = ["linkmatrix", "measure", f"--samples={SAMPLES}", "--", *origin.system, "-n", f"/{origin.hashcode}"]
    every = case.nodes_of(case.devices)
    if check == SWEEP:
        return [f"{NODES}={','.join(every)}", *words]
    if len(every) == 1:
        return [*words, "-S", f"{check}.on={every[0]}"]
    if origin.scheduler not in WITH_NODELIST:
        return words
    is_all_nodes = "%extent=all" in origin.name
    nodes = case.with_healthy(case.nodes_of(case.suspects), case.nodes_of(case.names.rows)) if is_all_nodes else every
    return [*words, f"-Jnodelist={','.join(nodes)}", *(["-S", f"{check}.nodes={len(nodes)}"] if is_all_nodes else [])]


def repeat_alone(case: Case) -> list[str]:
    """The command that measures the suspects and some healthy endpoints, one pair at a time, with more samples."""
    options = ["--concurrency", "serial", "--samples", SAMPLES]
    if case.content["backend"] in LAUNCHED:
        nodes = case.with_healthy(case.nodes_of(case.suspects), case.nodes_of(case.names.rows))
        return [*launch_command(case, nodes), *testcase_options(case), *options]
    devices = [label for label in dict.fromkeys([*case.names.rows, *case.names.columns]) if label in case.devices]
    chosen = case.with_healthy([label for label in case.suspects if label in devices], devices)
    indices = [case.devices[label]["index"] for label in chosen]
    devices_option = ["--devices", ",".join(map(str, indices))] if len(indices) > 1 and not case.layout.of_nodes else []
    return ["p2p_matrix", "--backend", case.content["backend"], *testcase_options(case), *devices_option, *options]


def launch_command(case: Case, nodes: Sequence[str]) -> list[str]:
    """The command that starts p2p_matrix on `nodes`, with as many ranks per node as the run."""
    ranks = {node: 0 for node in nodes}
    for device in case.devices.values():
        if device["node"] in ranks:
            ranks[device["node"]] += 1
    words = launcher({node: max(count, 1) for node, count in ranks.items()}, case.origin.scheduler)
    memory = ["--memory", "device"] if case.result["memory"] == "device" else []
    # NVLink between nodes needs this option
    transport = ["--transport", "fabric"] if case.result["transport"] == "fabric" else []
    return [*words, "p2p_matrix", "--backend", "mpi", *memory, *transport]


def testcase_options(case: Case) -> list[str]:
    """The option --testcase. The option --size is added if the command of the run contains a size."""
    words = [word.partition("=")[0] for word in case.content["command"]]
    has_size = case.result["metric"] != "latency" and {"--size", "--sweep"} & {*words}
    return ["--testcase", case.result["testcase"], *(["--size", str(case.result["size_bytes"])] if has_size else [])]


def measure_third_node(case: Case) -> list[str]:
    """The command that repeats the check on three nodes."""
    check = "crossnode_device_matrix" if case.result["memory"] == "device" else "crossnode_matrix"
    name = f"{check}.*{case.result['testcase']}.*extent=all"
    run = ["linkmatrix", "run", "--mode=nightly", *case.origin.system]
    return [*run, "--", "-n", name, "-S", "nodes=3", "-S", "nodes_session.suite="]


def measure_inside_nodes(case: Case) -> list[str]:
    """The command that measures the suspects' nodes, each node alone."""
    nodes = ",".join(case.nodes_of(case.suspects))
    return ["linkmatrix", "run", "--mode=sweep", *case.origin.system, "--nodes", nodes]


def measure_every_node(case: Case) -> list[str]:
    """The command that measures all nodes of the partition, each node alone."""
    return ["linkmatrix", "run", "--mode=sweep", *case.origin.system]


def measure_each_adapter(case: Case) -> list[str]:
    """The command that measures each adapter alone, without GPUs and MPI."""
    suite = "nodes_session.suite=rdma_perftest"
    run = ["linkmatrix", "run", "--mode=nightly", *case.origin.system]
    return [*run, "--", "-n", "rdma_perftest", "-S", suite]


def measure_all_devices(case: Case) -> list[str]:
    """The command that measures all devices of the node."""
    if case.origin.is_queued:
        return repeat_test(case)
    return ["p2p_matrix", "--backend", case.content["backend"], *testcase_options(case), "--samples", SAMPLES]


#: (kinds of indistinguishable hypotheses, conclusion, command). The first row whose kinds all explain the cells is
#: used.
EXPERIMENTS: Sequence[tuple[set[str], str, Callable[[Case], list[str]]]] = (
    ({"node", "node_pair"}, THIRD_NODE, measure_third_node),
    ({"node", "class"}, THIRD_NODE, measure_third_node),
    ({"nic", "device"}, f"{INSIDE}, a faulty adapter is not", measure_inside_nodes),
    ({"nics", "device"}, f"{INSIDE}, faulty adapters are not", measure_inside_nodes),
    ({"device", "node"}, f"{INSIDE}, a faulty network is not", measure_inside_nodes),
    ({"nic", "node"}, f"{EACH_ADAPTER}, otherwise its node", measure_each_adapter),
    ({"nics", "socket"}, f"{EACH_ADAPTER}, otherwise their socket", measure_each_adapter),
    ({"class", "inside"}, "measure every node: a faulty link class is slow on all nodes", measure_every_node),
    ({"device", "link"}, ALL_DEVICES, measure_all_devices),
    ({"device", "class"}, ALL_DEVICES, measure_all_devices),
    ({"network"}, EACH_ADAPTER, measure_each_adapter),
    ({"nics"}, EACH_ADAPTER, measure_each_adapter),
    ({"class"}, "measure every node: the cause is common if all nodes are slow", measure_every_node),
)


def advice(finding: Finding) -> str:
    """The instruction with which to decide between the hypotheses that explain the cells of a finding."""
    kinds = {finding.kind, *(kind for kind, _ in finding.equivalent)}
    return next((text for wanted, text, _ in EXPERIMENTS if wanted <= kinds), "measure with more endpoints")
