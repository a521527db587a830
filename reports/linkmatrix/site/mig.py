"""GPUs in MIG mode on this machine: their slices have no links to other GPUs, so they are no devices."""

from .cluster import Answer

QUERY = ["nvidia-smi", "--query-gpu=mig.mode.current", "--format=csv,noheader"]


def sliced_gpus(answer: Answer) -> set[int]:
    """The positions, in nvidia-smi's order, of the GPUs in MIG mode. Empty if nvidia-smi does not know the mode."""
    try:
        lines = answer(QUERY).splitlines()
    except OSError:  # a driver before MIG
        return set()
    return {at for at, line in enumerate(lines) if line.strip() == "Enabled"}


def remarks(sliced: int) -> list[str]:
    """A sentence about GPUs that are not counted; none without such GPUs."""
    if not sliced:
        return []
    are = "GPU is" if sliced == 1 else "GPUs are"
    return [f"{sliced} {are} in MIG mode and not counted: a slice has no links to other GPUs"]
