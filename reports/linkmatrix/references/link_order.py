"""The order of link classes, from good to bad, by the words of nvidia-smi: NV18, NV8, PIX, PXB, PHB, NODE, SYS, NET."""

from collections.abc import Callable, Sequence

import numpy as np

from ..record.names import DIRECT, PCI_CLASSES, UNKNOWN
from .pair_classes import NO_CLASS

PCI = (*PCI_CLASSES, "NET")  # after all direct links


def is_worse(found: str, adopted: str) -> bool:
    """Whether a link class is worse than the adopted one. False if the classes cannot be compared."""
    direct, before = DIRECT.fullmatch(found), DIRECT.fullmatch(adopted)
    if direct and before:
        return direct[1] == before[1] and int(direct[2]) < int(before[2])
    if found not in PCI:
        return False
    return bool(before) or (adopted in PCI and PCI.index(found) > PCI.index(adopted))


def is_lost(found: str, adopted: str) -> bool:
    """Whether the class of a pair is unknown, and the adopted one is known."""
    return found == UNKNOWN and adopted not in (UNKNOWN, NO_CLASS)


def cells_where(
    compare: Callable[[str, str], bool],
    found: np.ndarray,
    names: Sequence[str],
    adopted: np.ndarray,
    known: Sequence[str],
) -> np.ndarray:
    """True for the cells where `compare` is true of the found and the adopted class.

    found, adopted: rows × columns, indices of `names` and of `known`.
    """
    table = np.array([[compare(one, other) for other in known] for one in names], dtype=bool)
    return table.reshape(len(names), len(known))[found, adopted]
