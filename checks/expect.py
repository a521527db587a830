"""Compares a record with the expected configuration of a partition.

Each function whose name ends with `_faults` returns a list of `Reason`. A `Reason` is a verdict with a sentence. A
property that is missing in the record is also a reason.
"""

from dataclasses import dataclass
from itertools import permutations

from linkmatrix.judge.disturbances import not_exclusive
from linkmatrix.judge.verdicts import disturbed, failed, mismatch, missing
from linkmatrix.record.external_cells import ExternalCells
from linkmatrix.record.link_classes import BETWEEN_NODES
from linkmatrix.reframe_ext.sessions import endings
from linkmatrix.suite import PROGRAMS

from .cells import result_name


@dataclass(frozen=True)
class ExpectedConfiguration:
    """The expected configuration of a partition. None means unspecified.

    devices: the number of GPUs.
    model: a part of each GPU's name.
    link_class: the link class of every pair of GPUs, such as "NV18".
    peer_access: whether every pair of GPUs has peer access.
    hops: the number of hops between every pair of GPUs; 1 is a direct link.
    exclusive: no other process uses a node during a job.
    state: properties of each GPU, such as {"ecc": "on"}.
    equal: names of properties that are the same on all GPUs, such as "vbios".
    """

    devices: int | None = None
    model: str | None = None
    link_class: str | None = None
    peer_access: bool | None = None
    hops: int | None = None
    exclusive: bool | None = None
    state: dict[str, str] | None = None
    equal: tuple[str, ...] = ()

    @classmethod
    def of(cls, partition):
        """Reads the expected configuration from the devices and extras of a ReFrame partition."""
        gpus = partition.select_devices("gpu")
        names = ("link_class", "peer_access", "hops", "exclusive")
        extras = {name: partition.extras.get(name) for name in names}
        extras["state"] = partition.extras.get("device_state")
        equal = partition.extras.get("equal", ())
        extras["equal"] = (equal,) if isinstance(equal, str) else tuple(equal)
        count = sum(gpu.num_devices or 0 for gpu in gpus)
        return cls(devices=count or None, model=gpus[0].model if len(gpus) == 1 else None, **extras)


def device_faults(record, expected):
    """Reasons against PASS: missing GPUs, or GPUs of another model."""
    devices = record["devices"]
    if expected.devices is None:
        return missing(
            "the partition does not specify its number of GPUs: write it to config/topology/<system>-<partition>/"
            "devices.json"
        )
    reasons = []
    if len(devices) != expected.devices:
        present = ", ".join(device["label"] for device in devices) or "none"
        sentence = f"the partition specifies {expected.devices} GPUs, {record['host']['name']} has {present}"
        reasons += failed(sentence) if len(devices) < expected.devices else missing(sentence)
    if expected.model is not None:
        others = [(one["label"], one["name"]) for one in devices if expected.model not in one["name"]]
        specified = f"the partition specifies '{expected.model}'"
        reasons += failed(*(f"{label} is '{name}', {specified}" for label, name in others))
    return reasons


def gpu_faults(record, expected):
    """Reasons against PASS: missing GPUs, GPUs of another model, or unexpected connections."""
    return device_faults(record, expected) + path_faults(record, expected)


def no_pairs_reason(testcase, expected):
    """The reason why a node of this configuration has no pair of GPUs for a test case; "" if the node has pairs.

    The text continues a sentence that begins with the name of the partition.
    """
    if "host" in testcase or "local" in testcase:
        return ""
    if expected.devices == 1:
        return "has one GPU: there is no pair to measure"
    if expected.peer_access is False and not testcase.endswith("_peer_off"):
        return "has GPUs without peer access: run the test cases *_peer_off"
    return ""


def run_faults(record, check):
    """The reason against PASS, if the record belongs to a check other than `check`."""
    if record["asked_by"] in (None, check):
        return []
    return missing(f"the record belongs to the check {record['asked_by']}, not to {check}")


def exclusive_faults(record, expected):
    """Reasons against PASS: other processes used a node that must be exclusive."""
    # only the programs of this suite poll other processes
    polled = record["program"] in PROGRAMS and record["backend"] in ("cuda", "host", "mpi")
    return disturbed(*not_exclusive(record)) if expected.exclusive and polled else []


def rank_faults(record, nodes, ranks):
    """INCOMPLETE reasons: the record does not contain `nodes` nodes with `ranks` ranks each."""
    rank_nodes = [device["node"] for device in record["devices"]]
    reasons = []
    if len(rank_nodes) != nodes * ranks:
        reasons += missing(f"{nodes * ranks} ranks were started, but {len(rank_nodes)} are in the record")
        if len(rank_nodes) == 1:
            reasons += missing(f"each rank may have run alone, without PMI: with srun, {endings.SET_PMI}")
    counts = {node: rank_nodes.count(node) for node in sorted(set(rank_nodes))}
    if list(counts.values()) != [ranks] * nodes:
        found = ", ".join(f"{count} on {node}" for node, count in counts.items()) or "none"
        reasons += missing(f"{ranks} ranks should run on each of {nodes} nodes, but these ran: {found}")
    return reasons


def pairs_faults(record, pairs, ranks):
    """INCOMPLETE reasons: test cases did not use `pairs` concurrent pairs of ranks.

    ranks: the number of ranks per node. If a result has no field "pairs", the number of its pairs is `ranks`.
    """
    measured = dict.fromkeys((result["testcase"], result.get("pairs", ranks)) for result in record["results"])
    wrong = [(testcase, number) for testcase, number in measured if number != pairs]
    return missing(
        *(f"{name}: {pairs} pairs of ranks should measure concurrently, but {number} did" for name, number in wrong)
    )


def version_faults(record, libraries):
    """INCOMPLETE reasons: MPI has not loaded a library that the partition specifies.

    libraries: the expected libraries, such as ["GDRCopy"].
    """
    return missing(
        *(
            f"the partition specifies {name}, but the MPI of {record['host']['name']} has not loaded {name}: load its"
            f" module, or remove extras['{name.lower()}']"
            for name in libraries
            if name not in record["software"]
        )
    )


def transport_faults(record, expected):
    """Reasons against PASS: pairs between nodes that used another transport than `expected`."""
    return [
        reason
        for result in record["results"]
        for which, found in transports_between_nodes(result)
        if found != expected
        for reason in mismatch(
            found, f"{result['testcase']}: {which} used {found}, the partition specifies {expected} (GPUDirect)"
        )
    ]


def transports_between_nodes(result):
    """[(pair, transport)] of all pairs between nodes.

    If the cells are in a separate file, the returned list has one item ("all", transport) per summary of the class NET.
    """
    external = ExternalCells.of(result)
    if external is not None:
        classes = external.summaries
        return [
            ("all", one.get("transport", result["transport"])) for one in classes if one["link_class"] == BETWEEN_NODES
        ]
    return [
        (f"{row}->{column}", result["transports"][r][c] if "transports" in result else result["transport"])
        for r, row in enumerate(result["rows"])
        for c, column in enumerate(result["columns"])
        if result["link_class"][r][c] == BETWEEN_NODES
    ]


def engine_faults(results, engine):
    """INCOMPLETE reasons: a library other than `engine` measured some results. None accepts any library."""
    others = [one for one in results if engine not in (None, one["engine"])]
    return missing(*(f"{result_name(one)} was measured by {one['engine']}, not by {engine}" for one in others))


def nccl_faults(record, transport=None, network=None, direct=False):
    """Reasons against PASS: NCCL did not connect its ranks as the partition specifies.

    transport: the expected transport inside a node, such as "P2P"; None for any.
    network: the expected network between nodes, such as "IB"; None for any.
    direct: whether the network must access GPU memory directly (GPUDirect).
    """
    software = record["software"]
    found = [word for word in software.get("NCCL transports", "").split(", ") if word]
    ran_on = [device["node"] for device in record.get("devices", [])]
    one_node = len(set(ran_on)) == 1
    between = [word for word in found if word.startswith("NET/") and not one_node]
    inside = [word for word in found if word not in between]
    reasons = []
    if (transport or direct) and not found:
        reasons += missing("the record does not contain the transports of NCCL: unset NCCL_DEBUG")
    if transport:
        wrong = [word for word in inside if word.partition("/")[0] != transport]
        reasons += failed(*(f"NCCL used {word}, the partition specifies {transport}" for word in wrong))
        if found and not inside and len(ran_on) > len(set(ran_on)):
            reasons += missing(
                f"the record contains no transport inside a node, but the partition specifies {transport}"
            )
    if network and software.get("NCCL network") != network:
        used = software.get("NCCL network", "unknown")
        reasons += mismatch(used, f"NCCL's network is {used}, the partition specifies {network}")
    if direct:
        wrong = [word for word in between if "GDRDMA" not in word.split("/")]
        reasons += failed(*(f"NCCL used {word}, the partition specifies GPUDirect" for word in wrong))
        if found and not between:
            reasons += missing("the record contains no transport between nodes, but the partition specifies GPUDirect")
    return reasons


def path_faults(record, expected):
    """A reason against PASS for each pair of devices with an unexpected link class, peer access or number of hops."""
    topology = record["topology"]
    compared = {
        "link class": (topology["link_class"], expected.link_class),
        "peer access": (topology["peer_access"], expected.peer_access),
        "the shortest path in hops": (topology["min_path"], expected.hops),
    }
    labels = topology["labels"]
    return [
        reason
        for name, (found, wanted) in compared.items()
        if wanted is not None
        for row, column in permutations(range(len(labels)), 2)
        if found[row][column] != wanted
        for reason in mismatch(
            found[row][column],
            f"{labels[row]}->{labels[column]}: {name} is {as_text(found[row][column])}, expected is {as_text(wanted)}",
        )
    ]


def as_text(value):
    """A value of the topology as text: "on" for True, "off" for False, and "unknown" for None and ""."""
    if value is None or value == "":
        return "unknown"
    return {True: "on", False: "off"}[value] if isinstance(value, bool) else str(value)
