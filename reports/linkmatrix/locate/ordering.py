"""Of a visibility test: between whom the order of writes is not kept, in sentences to act on."""

from collections.abc import Iterator

from ..judge.handover import ROUNDS, UNSEEN, WRONG, is_of_words
from ..record.reading import Result
from ..record.units import counted, first

MOST = 4  # ways in a sentence

REMEDY = (
    "a program that hands data over so, as NCCL does, computes with old data or hangs: look for an IOMMU or ACS that"
    " sends peer traffic through the root complex, and for a virtual machine whose peer access was never promised"
    " (iommu=pt, ACS off, or without peer access: NCCL_P2P_DISABLE=1)"
)


def sentences(result: Result) -> Iterator[str]:
    """What is wrong with the writes of a visibility test; nothing of other matrices, and where all is well."""
    if not is_of_words(result) or not {WRONG, ROUNDS, UNSEEN} <= result["parts"].keys():
        return
    wrong, unseen = ({way: count for way, count in counts(result, part) if count} for part in (WRONG, UNSEEN))
    rounds = dict(counts(result, ROUNDS))
    if wrong:
        worst = sorted(wrong, key=lambda way: -wrong[way])
        told = [f"{way} {counted(wrong[way], 'word')} in {counted(rounds[way], 'round')}" for way in worst]
        yield (
            f"ordering of writes {', '.join(first(worst, MOST))} is not kept: wrong data behind a set flag"
            f" ({', '.join(first(told, MOST))}); {REMEDY}"
        )
    if unseen:
        yield f"a flag that was set was never seen: {', '.join(first(list(unseen), MOST))}; {REMEDY}"


def counts(result: Result, part: str) -> Iterator[tuple[str, int]]:
    """("gpu1->gpu2", 12) of each cell that has one."""
    for row, values in zip(result["rows"], result["parts"][part]["values"], strict=True):
        for column, value in zip(result["columns"], values, strict=True):
            if value is not None:
                yield f"{row}->{column}", int(value)
