"""The next steps for a slow component, by the confirmation of its fault: measure again, swap, repair."""

from enum import IntEnum


class Rung(IntEnum):
    """The kind of the next step.

    AGAIN: one measurement shows the fault. SWAP: two runs show the fault, or a remeasurement, alone and undisturbed.
    REPAIR: a swap has shown which part is faulty.
    """

    AGAIN = 0
    SWAP = 1
    REPAIR = 2


def rung_of(runs: int, remeasured: bool = False, swapped: bool = False) -> Rung:
    """The next step for a component.

    runs: number of runs that found the fault. remeasured: whether the component was slow again when measured alone and
    undisturbed. swapped: whether a swap has shown which part is faulty.
    """
    if swapped:
        return Rung.REPAIR
    return Rung.SWAP if remeasured or runs > 1 else Rung.AGAIN


ALONE = "Measure {who} again, alone, before a part is replaced. A part is faulty if only this part is slow again."
MOVES = "If the fault moves with the part, the part is faulty. If the fault stays, the slot is faulty."
RANK = "Measure {who} again, alone. A rank is faulty if only this rank is slow again."
PATH = "Measure {who} again, alone. A path is faulty if only this path is slow again."
NODE = (
    "Compare {who} with a good node: other processes, BIOS, driver and firmware, clocks, IOMMU and ACS.",
    "Run no jobs on {who} until it passes: linkmatrix export --format slurm-exclude.",
)
HOST = (
    "Compare the host with a good one: width and speed of its PCIe switches (lspci -vv), memory channels and their"
    " speed, power limits, NUMA and BIOS settings.",
)
FABRIC = ("Check the switches between {who}: rates and error counters of their ports, number of uplinks, routing.",)
ENDS = ("Check the network between the endpoints: state and rate of the adapters, error counters, routing.",)
CORES = ("Check the node of {who}: other processes on its cores and memory, core binding, clocks.",)
#: (kind of component, rung) → steps. {who}: the names of the components.
LADDER: dict[tuple[str, Rung], tuple[str, ...]] = {
    ("device", Rung.AGAIN): (ALONE,),
    ("device", Rung.SWAP): (
        "Check {who}: dmesg for Xid errors, nvidia-smi -q -d PERFORMANCE,ECC for throttling, nvidia-smi nvlink -e"
        " for link errors.",
        f"Swap {{who}} with a good one, then measure both. {MOVES}",
    ),
    ("device", Rung.REPAIR): ("If the fault moved with {who}, replace {who}. If the fault stayed, repair the slot.",),
    ("link", Rung.AGAIN): (ALONE,),
    ("link", Rung.SWAP): (
        "Check both endpoints of {who}: nvidia-smi nvlink -s and -e (NVLink), width and speed in lspci -vv (PCIe).",
        f"Swap one endpoint of {{who}} with a good device, then measure both. {MOVES}",
    ),
    ("link", Rung.REPAIR): (
        "If the fault moved with an endpoint of {who}, replace it. If the fault stayed, repair the slot.",
    ),
    ("adapter", Rung.AGAIN): (ALONE,),
    ("adapter", Rung.SWAP): (
        "Check {who}: state and rate (ibstat, ethtool), error counters, PCIe width and speed (lspci -vv, LnkSta).",
        "Swap the cable of {who} with a good one, then the switch port. The fault moves with the faulty part.",
    ),
    ("adapter", Rung.REPAIR): ("Replace the part that the fault of {who} moved with: adapter, cable or switch port.",),
    **{(kind, Rung.AGAIN): (ALONE,) for kind in ("node", "host", "fabric")},
    **{("node", rung): NODE for rung in (Rung.SWAP, Rung.REPAIR)},
    **{("host", rung): HOST for rung in (Rung.SWAP, Rung.REPAIR)},
    **{("fabric", rung): FABRIC for rung in (Rung.SWAP, Rung.REPAIR)},
    ("rank", Rung.AGAIN): (RANK,),
    **{("rank", rung): CORES for rung in (Rung.SWAP, Rung.REPAIR)},
    ("path", Rung.AGAIN): (PATH,),
    **{("path", rung): ENDS for rung in (Rung.SWAP, Rung.REPAIR)},
}
KINDS = tuple(dict.fromkeys(kind for kind, _ in LADDER))
