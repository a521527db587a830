"""Detects GPUs in MIG mode. Their slices have no links to other GPUs, so `detect` does not count them."""

from .cluster import Answer

QUERY = ["nvidia-smi", "--query-gpu=mig.mode.current", "--format=csv,noheader"]


def sliced_gpus(answer: Answer) -> set[int]:
    """The positions of the GPUs in MIG mode, in the order of nvidia-smi. Empty if the driver does not support MIG."""
    try:
        lines = answer(QUERY).splitlines()
    except OSError:  # a driver before MIG
        return set()
    return {at for at, line in enumerate(lines) if line.strip() == "Enabled"}


def remarks(sliced: int) -> list[str]:
    """A sentence about the GPUs in MIG mode, in a list; [] if no GPU is in MIG mode.

    sliced: the number of GPUs in MIG mode.
    """
    if not sliced:
        return []
    are = "GPU is" if sliced == 1 else "GPUs are"
    return [f"{sliced} {are} in MIG mode and not counted: a slice has no links to other GPUs"]
