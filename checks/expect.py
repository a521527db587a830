"""The expected configuration of a partition, compared with a record.

Plain Python on the record (linkmatrix.record/2) that starts no programs. Every function returns reasons, each a verdict
with a sentence, and an empty list if everything is as expected. A missing or unknown fact is a reason too.
"""

from dataclasses import dataclass
from itertools import permutations

from linkmatrix.judge.disturbances import not_exclusive
from linkmatrix.judge.reasons import disturbed, failed, missing, unlike
from linkmatrix.record.apart import Apart
from linkmatrix.suite import PROGRAMS

from .cells import name_of


@dataclass(frozen=True)
class Promise:
    """What a partition says that it has; None where it says nothing.

    devices: number of GPUs; model: part of each GPU's name; of every pair of GPUs: link_class ("NV18"), peer_access,
    hops (1: direct); exclusive: that nobody else uses a node while a job has it; state: of each GPU, {"ecc": "on"};
    equal: what must be so of all GPUs, "vbios".
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
        """The promise in a ReFrame partition's GPU devices and extras."""
        gpus = partition.select_devices("gpu")
        names = ("link_class", "peer_access", "hops", "exclusive")
        extras = {name: partition.extras.get(name) for name in names}
        extras["state"] = partition.extras.get("device_state")
        equal = partition.extras.get("equal", ())
        extras["equal"] = (equal,) if isinstance(equal, str) else tuple(equal)
        count = sum(gpu.num_devices or 0 for gpu in gpus)
        return cls(devices=count or None, model=gpus[0].model if len(gpus) == 1 else None, **extras)


def device_faults(record, promise):
    """Is every promised device there, and of the promised model?"""
    devices = record["devices"]
    if promise.devices is None:
        return missing(
            "the partition does not say how many GPUs it has: write them into config/topology/<system>-<partition>/"
            "devices.json"
        )
    reasons = []
    if len(devices) != promise.devices:
        present = ", ".join(device["label"] for device in devices) or "none"
        said = f"the partition promises {promise.devices} GPUs, {record['host']['name']} has {present}"
        reasons += failed(said) if len(devices) < promise.devices else missing(said)
    if promise.model is not None:
        others = [(one["label"], one["name"]) for one in devices if promise.model not in one["name"]]
        promised = f"the partition promises '{promise.model}'"
        reasons += failed(*(f"{label} is '{name}', {promised}" for label, name in others))
    return reasons


def gpu_faults(record, promise):
    """Is every promised device there and connected as promised?"""
    return device_faults(record, promise) + path_faults(record, promise)


def without_pairs(testcase, promise):
    """Why a node that has what a partition promises has no pair of GPUs for a test case; "" where it may have one."""
    if "host" in testcase or "local" in testcase:
        return ""
    if promise.devices == 1:
        return "has one GPU: there is no pair to measure"
    if promise.peer_access is False and not testcase.endswith("_peer_off"):
        return "has GPUs without peer access: the test cases *_peer_off measure what they have"
    return ""


def run_faults(record, check):
    """The reason if the record is of another check."""
    if record["asked_by"] in (None, check):
        return []
    return missing(f"the record is of the check {record['asked_by']}, not of {check}")


def exclusive_faults(record, promise):
    """Did other processes use a node that should be exclusive? Foreign programs do not poll other processes."""
    looked = record["program"] in PROGRAMS and record["backend"] in ("cuda", "host", "mpi")
    return disturbed(*not_exclusive(record)) if promise.exclusive and looked else []


def rank_faults(record, nodes, ranks):
    """Did `ranks` ranks on each of `nodes` nodes take part?"""
    places = [device["node"] for device in record["devices"]]
    reasons = []
    if len(places) != nodes * ranks:
        reasons += missing(f"{nodes * ranks} ranks were started, {len(places)} took part")
    ran = {node: places.count(node) for node in sorted(set(places))}
    if list(ran.values()) != [ranks] * nodes:
        said = ", ".join(f"{count} on {node}" for node, count in ran.items()) or "none"
        reasons += missing(f"{ranks} ranks should run on each of {nodes} nodes, there were {said}")
    return reasons


def pairs_faults(record, pairs, ranks):
    """Was each matrix of nodes measured by so many pairs of their ranks at once? ranks: on a node."""
    measured = dict.fromkeys((result["testcase"], result.get("pairs", ranks)) for result in record["results"])
    wrong = [(testcase, number) for testcase, number in measured if number != pairs]
    return missing(*(f"{name}: {pairs} pairs of ranks were to go together, {number} did" for name, number in wrong))


def version_faults(record, libraries):
    """Has MPI loaded the libraries that the partition promises? Each library records its version."""
    return missing(
        *(
            f"the partition promises {name}, and the MPI of {record['host']['name']} has not loaded it: load its"
            f" module, or remove extras['{name.lower()}']"
            for name in libraries
            if name not in record["software"]
        )
    )


def transport_faults(record, promised):
    """Did all that goes between nodes go by the promised transport?"""
    return [
        reason
        for result in record["results"]
        for which, found in transports_between_nodes(result)
        if found != promised
        for reason in unlike(
            found, f"{result['testcase']}: {which} went by {found}, the partition promises {promised} (GPUDirect)"
        )
    ]


def transports_between_nodes(result):
    """(which pairs, their transport); of a matrix that is too large for its record, all at once."""
    apart = Apart.of(result)
    if apart is not None:
        classes = apart.summaries
        return [("all", one.get("transport", result["transport"])) for one in classes if one["link_class"] == "NET"]
    return [
        (f"{row}->{column}", result["transports"][r][c] if "transports" in result else result["transport"])
        for r, row in enumerate(result["rows"])
        for c, column in enumerate(result["columns"])
        if result["link_class"][r][c] == "NET"
    ]


def engine_faults(results, engine):
    """Was each result measured by a library? None: by any."""
    others = [one for one in results if engine not in (None, one["engine"])]
    return missing(*(f"{name_of(one)} was measured by {one['engine']}, not by {engine}" for one in others))


def nccl_faults(record, transport=None, network=None, direct=False):
    """Did NCCL connect its ranks as promised? transport: inside a node, "P2P"; network: between nodes, "IB"; direct:
    whether it reads and writes the memory of GPUs. None and False promise nothing.
    """
    said = record["software"]
    found = [word for word in said.get("NCCL transports", "").split(", ") if word]
    ran_on = [device["node"] for device in record.get("devices", [])]
    one_node = len(set(ran_on)) == 1
    between = [word for word in found if word.startswith("NET/") and not one_node]
    inside = [word for word in found if word not in between]
    reasons = []
    if (transport or direct) and not found:
        reasons += missing("the record does not contain how NCCL connected its ranks: leave NCCL_DEBUG unset")
    if transport:
        wrong = [word for word in inside if word.partition("/")[0] != transport]
        reasons += failed(*(f"NCCL went by {word}, the partition promises {transport}" for word in wrong))
        if found and not inside and len(ran_on) > len(set(ran_on)):
            reasons += missing(f"no transport inside a node is in the record, the partition promises {transport}")
    if network and said.get("NCCL network") != network:
        used = said.get("NCCL network", "unknown")
        reasons += unlike(used, f"NCCL's network is {used}, the partition promises {network}")
    if direct:
        wrong = [word for word in between if "GDRDMA" not in word.split("/")]
        reasons += failed(*(f"NCCL went by {word}, the partition promises GPUDirect" for word in wrong))
        if found and not between:
            reasons += missing("no transport between nodes is in the record, the partition promises GPUDirect")
    return reasons


def path_faults(record, promise):
    """Is every pair of devices connected as promised? Names the pair that is not."""
    topology = record["topology"]
    promised = {
        "link class": (topology["link_class"], promise.link_class),
        "peer access": (topology["peer_access"], promise.peer_access),
        "the shortest path in hops": (topology["min_path"], promise.hops),
    }
    labels = topology["labels"]
    return [
        reason
        for name, (found, wanted) in promised.items()
        if wanted is not None
        for row, column in permutations(range(len(labels)), 2)
        if found[row][column] != wanted
        for reason in unlike(
            found[row][column],
            f"{labels[row]}->{labels[column]}: {name} is {spoken(found[row][column])}, promised is {spoken(wanted)}",
        )
    ]


def spoken(value):
    """A value of the topology in words."""
    if value is None or value == "":
        return "unknown"
    return {True: "on", False: "off"}[value] if isinstance(value, bool) else str(value)
