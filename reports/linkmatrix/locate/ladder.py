"""The ladder of advice: what to do about a slow component, by how well its fault is confirmed."""

from enum import IntEnum


class Rung(IntEnum):
    """How well a fault is confirmed.

    AGAIN: by one measurement. SWAP: in two runs, or by a measurement alone and undisturbed. REPAIR: by a swap.
    """

    AGAIN = 0
    SWAP = 1
    REPAIR = 2


def rung_of(runs: int, remeasured: bool = False, swapped: bool = False) -> Rung:
    """The rung of a component. runs: that found the fault. swapped: whether a swap has shown which part is faulty."""
    if swapped:
        return Rung.REPAIR
    return Rung.SWAP if remeasured or runs > 1 else Rung.AGAIN


ALONE = "Measure {who} again, alone, before a part is replaced: a part that stays slow beside healthy ones is faulty."
MOVES = "A fault that moves with the part is the part's. A fault that stays is the slot's."
RANK = "Measure {who} again, alone: a rank that stays slow beside healthy ones is faulty."
PATH = "Measure {who} again, alone: a path that stays slow beside healthy ones is faulty."
NODE = (
    "Compare {who} with a good node: other processes, BIOS, driver and firmware, clocks, IOMMU and ACS.",
    "Keep jobs away from {who} until it passes: linkmatrix export --format slurm-exclude.",
)
HOST = (
    "Compare the host with a good one: width and speed of its PCIe switches (lspci -vv), memory channels and their"
    " speed, power limits, NUMA and BIOS settings.",
)
FABRIC = ("Look at the switches between {who}: rates and error counters of their ports, number of uplinks, routing.",)
ENDS = ("Look at the network between the ends: state and rate of the adapters, error counters, routing.",)
CORES = (
    "Look at the node of {who}: other processes on its cores and memory, the cores it was bound to, their clocks.",
)
#: (kind of component, rung) → steps. {who}: the components by name.
LADDER: dict[tuple[str, Rung], tuple[str, ...]] = {
    ("device", Rung.AGAIN): (ALONE,),
    ("device", Rung.SWAP): (
        "Look at {who}: dmesg for Xid errors, nvidia-smi -q -d PERFORMANCE,ECC for throttling, nvidia-smi nvlink -e"
        " for link errors.",
        f"Swap {{who}} with a good one, then measure both. {MOVES}",
    ),
    ("device", Rung.REPAIR): ("Replace {who} if the fault followed the part. Else repair the slot.",),
    ("link", Rung.AGAIN): (ALONE,),
    ("link", Rung.SWAP): (
        "Look at both ends of {who}: over NVLink nvidia-smi nvlink -s and -e, over PCIe lspci -vv (LnkSta) for width"
        " and speed.",
        f"Swap one end of {{who}} with a good device, then measure both. {MOVES}",
    ),
    ("link", Rung.REPAIR): ("Replace the end of {who} that the fault followed. Else repair the slot.",),
    ("adapter", Rung.AGAIN): (ALONE,),
    ("adapter", Rung.SWAP): (
        "Look at {who}: ibstat or ethtool for state and rate, its error counters, lspci -vv (LnkSta) for width and"
        " speed.",
        "Exchange the cable of {who}, then its switch port, with a good one. The fault moves with the faulty part.",
    ),
    ("adapter", Rung.REPAIR): ("Replace the part of {who} that the fault followed: adapter, cable or switch port.",),
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
