"""Reads the GPUs of a node from Slurm's Gres field of `sinfo` and `scontrol show node`."""

import re
from typing import NamedTuple

ENTRY = re.compile(r"(?:^|,)gpu(?::(?P<type>[^:,(]+?))??(?::(?P<count>\d{1,9}))?(?=[(,]|$)")
#: The profile in the type of a MIG slice, such as 1g.10gb, 4g.40gb+me. Some sites write it as 1g10gb.
SLICE = re.compile(r"(?:^|[^a-z0-9])\d+g[._-]?\d+gb", re.IGNORECASE)
#: Word of a GPU's type → its architecture. Source: https://developer.nvidia.com/cuda-gpus and cuda-legacy-gpus,
#: read 2026-11-27. A800 and H800 are exported A100 and H100, as in src/core/limits.cpp.
ARCHITECTURES = {
    **dict.fromkeys(("p100",), "sm_60"),
    **dict.fromkeys(("v100",), "sm_70"),
    **dict.fromkeys(("t4",), "sm_75"),
    **dict.fromkeys(("a100", "a800", "a30"), "sm_80"),
    **dict.fromkeys(("a40", "a16", "a10", "a2", "a6000", "3090"), "sm_86"),
    **dict.fromkeys(("l40", "l40s", "l4", "4090"), "sm_89"),
    **dict.fromkeys(("h100", "h200", "h800", "gh200"), "sm_90"),
    **dict.fromkeys(("b200", "gb200"), "sm_100"),
    **dict.fromkeys(("b300", "gb300"), "sm_103"),
    **dict.fromkeys(("5090",), "sm_120"),
    **dict.fromkeys(("gb10",), "sm_121"),
}
#: Words of the types of GPUs whose processor is Grace, an ARM.
GRACE = ("gh200", "gb200", "gb300", "gb10")


class Gpus(NamedTuple):
    """The GPUs of a node.

    count: the number of GPUs, without MIG slices.
    types: the distinct GPU types in Slurm.
    slices: the number of MIG slices.
    """

    count: int = 0
    types: tuple[str, ...] = ()
    slices: int = 0


def gpus_in(gres: str) -> Gpus:
    """The GPUs in a Gres field of Slurm. "gpu:h200:8(S:0-1),tmpdisk:100" contains 8 GPUs of the type h200."""
    entries = [(found["type"] or "", int(found["count"] or 1)) for found in ENTRY.finditer(gres)]
    whole = [(name, count) for name, count in entries if not SLICE.search(name)]
    return Gpus(
        sum(count for _, count in whole),
        tuple(dict.fromkeys(name for name, count in whole if name and count)),
        sum(count for name, count in entries if SLICE.search(name)),
    )


def architecture(gpu_type: str) -> str:
    """The architecture of a GPU type: "sm_100" for "gb200". "" if the architecture is unknown or ambiguous."""
    found = {ARCHITECTURES[word] for word in words_of(gpu_type) if word in ARCHITECTURES}
    return found.pop() if len(found) == 1 else ""


def has_grace(gpu_type: str) -> bool:
    """Whether nodes with GPUs of this type have NVIDIA's Grace processors."""
    return any(word in GRACE for word in words_of(gpu_type))


def words_of(gpu_type: str) -> list[str]:
    """The words of a GPU type: ["nvidia", "gb200"] for "nvidia_gb200"."""
    return re.split(r"[^a-z0-9]+", gpu_type.lower())
