"""The next step for each topic of a finding: measure again, swap or repair a component, or fix the run."""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

from ..judge.findings import NEXT
from ..judge.verdicts import NEXT_STEPS, WAIT, Verdict


class Stage(IntEnum):
    """How well a fault is confirmed. The next step depends on the stage.

    AGAIN: Only one measurement shows the fault. Next step: measure again.
    SWAP: Two runs, or an undisturbed remeasurement, show the fault. Next step: swap the component.
    REPAIR: A swap has shown whether the component or the slot is faulty. Next step: repair.
    """

    AGAIN = 0
    SWAP = 1
    REPAIR = 2


def next_stage(runs: int, remeasured: bool = False, swapped: bool = False) -> Stage:
    """The stage of a fault.

    runs: number of runs that found the fault.
    remeasured: whether the component was slow again when remeasured alone and undisturbed.
    swapped: whether a swap has shown whether the component or the slot is faulty.
    """
    if swapped:
        return Stage.REPAIR
    return Stage.SWAP if remeasured or runs > 1 else Stage.AGAIN


ALONE = (
    "Measure {who} again, alone, before you replace a component. A component is faulty if only this component is slow"
    " again."
)
MOVES = "If the fault moves with the component, the component is faulty. If the fault stays, the slot is faulty."
RANK = "Measure {who} again, alone. A rank is faulty if only this rank is slow again."
PATH = "Measure {who} again, alone. A path is faulty if only this path is slow again."
NODE = (
    "Compare {who} with a healthy node: other processes, BIOS, driver and firmware, clocks, IOMMU and ACS.",
    "Run no jobs on {who} until it passes: linkmatrix export --format slurm-exclude.",
)
HOST = (
    "Compare the host with a healthy host: width and speed of its PCIe switches (lspci -vv), NUMA and BIOS settings.",
    "Compare the memory channels, their speed and the power limits of both hosts.",
)
FABRIC = ("Check the switches between {who}: rates and error counters of their ports, number of uplinks, routing.",)
ENDS = ("Check the network between the endpoints: state and rate of the adapters, error counters, routing.",)
CORES = ("Check the node of {who}: other processes on its cores and memory, core binding, clocks.",)
#: {(kind of component, stage): steps}. {who}: the names of the components.
STAGE_STEPS: dict[tuple[str, Stage], tuple[str, ...]] = {
    ("device", Stage.AGAIN): (ALONE,),
    ("device", Stage.SWAP): (
        "Check {who}: dmesg for Xid errors, nvidia-smi -q -d PERFORMANCE,ECC for throttling, nvidia-smi nvlink -e"
        " for link errors.",
        f"Swap {{who}} with a healthy device, then measure both. {MOVES}",
    ),
    ("device", Stage.REPAIR): ("If the fault moved with {who}, replace {who}. If the fault stayed, repair the slot.",),
    ("link", Stage.AGAIN): (ALONE,),
    ("link", Stage.SWAP): (
        "Check both endpoints of {who}: nvidia-smi nvlink -s and -e (NVLink), width and speed in lspci -vv (PCIe).",
        f"Swap one endpoint of {{who}} with a healthy device, then measure both. {MOVES}",
    ),
    ("link", Stage.REPAIR): (
        "If the fault moved with an endpoint of {who}, replace this endpoint. If the fault stayed, repair the slot.",
    ),
    ("adapter", Stage.AGAIN): (ALONE,),
    ("adapter", Stage.SWAP): (
        "Check {who}: state and rate (ibstat, ethtool), error counters, PCIe width and speed (lspci -vv, LnkSta).",
        "Swap the cable of {who} with a healthy cable, then the switch port. The fault moves with the faulty"
        " component.",
    ),
    ("adapter", Stage.REPAIR): (
        "Replace the component with which the fault of {who} moved: adapter, cable or switch port.",
    ),
    **{(kind, Stage.AGAIN): (ALONE,) for kind in ("node", "host", "fabric")},
    **{("node", stage): NODE for stage in (Stage.SWAP, Stage.REPAIR)},
    **{("host", stage): HOST for stage in (Stage.SWAP, Stage.REPAIR)},
    **{("fabric", stage): FABRIC for stage in (Stage.SWAP, Stage.REPAIR)},
    ("rank", Stage.AGAIN): (RANK,),
    **{("rank", stage): CORES for stage in (Stage.SWAP, Stage.REPAIR)},
    ("path", Stage.AGAIN): (PATH,),
    **{("path", stage): ENDS for stage in (Stage.SWAP, Stage.REPAIR)},
}
KINDS = tuple(dict.fromkeys(kind for kind, _ in STAGE_STEPS))
#: {topic of a finding: steps}, the most urgent topic first. {who}: the components or processes.
TOPICS: dict[str, tuple[str, ...]] = {
    "wrong data": (
        "Take the nodes of {who} out of service now: the data that arrives is not the data that was sent.",
        "Look for memory and link errors (dmesg, nvidia-smi -q -d ECC). Check the IOMMU and ACS settings. Then measure"
        " again.",
    ),
    "computes wrong": (
        "Take {who} out of service now: it computes wrong bits without reporting an error.",
        "Repeat the soak with {who} alone: p2p_matrix --soak 30m. Replace the device if the bits are wrong again.",
    ),
    "impossible": (
        "{who} is faster than its path can carry. Compare the link class in the record with nvidia-smi topo -m, and"
        " measure again.",
    ),
    "build": ("Fix the reason of the failed build, and run again. Nothing was measured, so no component is flagged.",),
    "not run": (
        "Fix what kept the job from running (scheduler, environment or node), and run again. A test case that was not"
        " measured flags no component.",
    ),
    "aborted": ("Repeat the run: it ended early, because of a signal or a limit of ReFrame. No component is flagged.",),
    "options": ("Correct the options of the program, such as extra_opts, and run again.",),
    "binding": (
        "Bind each rank to its own cores: set the launcher's option in rank_options of the partition's extras. If"
        " ranks may share cores, set 'shared_cores': True there.",
    ),
    "busy": (f"Wait until the other processes end: {WAIT}",),
    "program": (
        "Read the last output of the program in the folder of its test, and run the test again. A run whose program"
        " failed cannot be PASS.",
    ),
    "gone": (
        "Check whether {who} is present: nvidia-smi -L or ibstat, and dmesg for a lost device or link.",
        "Restart the device or its node and measure again. Replace a device that still does not answer.",
    ),
    **{kind: STAGE_STEPS[kind, Stage.AGAIN] for kind in ("device", "link", "adapter", "node", "host", "fabric")},
    "settings": (
        "Replace no component: {who} and other components are slow for a common reason. Measure again. If the result is"
        " the same, compare driver, BIOS, clocks and power limits with the runs of the references. linkmatrix history"
        " prints the changes.",
    ),
    **{kind: STAGE_STEPS[kind, Stage.AGAIN] for kind in ("rank", "path")},
    "once": ("Measure {who} again, alone. A component that was slow once is not flagged.",),
    **{kind: (step,) for kind, step in NEXT.items()},
    "changed": (
        "Compare the path of {who} with that of the adopted runs: nvidia-smi topo -m, nvidia-smi nvlink -s, lspci -tv."
        " The system reports the link class, so noise does not explain the change.",
    ),
    "intermittent": (
        "Measure {who} again with short samples, alone, before you replace a component: p2p_matrix --short-samples 72."
        " Without short samples, the measurement can miss the fault.",
    ),
    "cell": (
        "Measure {who} again, alone, before you replace a component. No single component explains the slow cells.",
    ),
    "disturbed": (
        NEXT_STEPS[Verdict.DISTURBED],
        "If the process is a daemon of the node, add its name to ignored_processes of the partition.",
    ),
    "references": (
        "Adopt references for these test cases: linkmatrix baseline",
        "Or name another table: 'reference' in the partition's extras.",
    ),
    "missing": ("Find out why {who} has no value, then measure again. A PASS needs every cell.",),
    "skipped": (
        "Check the reason of each skipped test. If the reason is right for this machine, allow the skipped tests:"
        " linkmatrix run --manifest REASON, or exclude the tests with ReFrame's option -x NAME. If not, compare the"
        " partition in config/systems with the output of linkmatrix detect --dry-run.",
    ),
    "no pair": (
        "Measure with more endpoints, or choose test cases that need one endpoint, such as copies inside a device."
        " linkmatrix measure chooses what fits this machine.",
    ),
    "counters": ("Check the device and its links before use (dmesg, nvidia-smi -q): their error counters rose.",),
    "odd": ("Give the different node the same configuration as the other nodes, then compare again.",),
    "throttled": (
        "Check temperature, power limit and clocks (nvidia-smi -q -d PERFORMANCE), then measure again: devices were"
        " throttled.",
    ),
    "samples": ("Measure again with more samples: linkmatrix measure --samples 31",),
    "time limit": ("Measure again with a longer limit: linkmatrix measure -- -S extra_opts=--max-time,300",),
    "noted": (),
}
SAMPLE_TOPICS = ("samples", "time limit")  # of facts about too few samples
#: {kind of a finding: (topic if the endpoints are devices, topic if the endpoints are ranks)}
KIND_TOPICS = {
    "device": ("device", "rank"),
    "egress": ("device", "rank"),
    "ingress": ("device", "rank"),
    "links": ("device", "rank"),
    "nvlinks": ("device", "rank"),
    "link": ("link", "path"),
    "cell": ("link", "path"),
    "nic": ("adapter", "adapter"),
    "nics": ("adapter", "adapter"),
    "network": ("adapter", "adapter"),
    "node": ("node", "node"),
    "tray": ("node", "node"),
    "domain": ("fabric", "fabric"),
    "node_pair": ("fabric", "fabric"),
    "leaf": ("fabric", "fabric"),
    "uplink": ("fabric", "fabric"),
    "rail": ("fabric", "fabric"),
    "rail_ends": ("fabric", "fabric"),
    "switch": ("host", "host"),
    "socket": ("host", "host"),
    "memory": ("host", "host"),
    "between_sockets": ("host", "host"),
    "inside": ("host", "host"),
    "class": ("settings", "settings"),
}
WRONG_BITS = ("wrong data", "computes wrong")
SLOW = (*KINDS, "once", "cell", "gone", *WRONG_BITS)
#: Topics whose steps come before the adoption of references
BEFORE_ASSESSMENT = (*SLOW, *NEXT, "settings", "changed", "intermittent", "disturbed")


class Origin(NamedTuple):
    """The ReFrame test that left a record. If the test is unknown, all fields are "".

    scheduler: the scheduler of the partition.
    """

    name: str = ""
    hashcode: str = ""
    partition: str = ""
    scheduler: str = ""

    @property
    def is_queued(self) -> bool:
        """Whether the programs of the test run in jobs of a scheduler."""
        return self.scheduler not in ("", "local")

    @property
    def system(self) -> list[str]:
        """The option --system of linkmatrix's commands; [] if the partition is unknown."""
        return [f"--system={self.partition}"] if self.partition else []
