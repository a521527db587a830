"""Many nodes in a few lines, each by the worst that was found on it: by its own references, without the others."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from ..errors import clean
from ..judge.verdicts import Verdict
from ..record.units import counted
from ..runs.judging import Judged
from . import words

MOST_LINES, MOST_CHARACTERS = 20, 300


class Found(NamedTuple):
    """What was found on a node. worse: by how much the cell is worse than expected, as a fraction."""

    verdict: Verdict
    worse: float
    node: str
    text: str


def node_of(one: Judged) -> str:
    """The node that a test ran on, or was for; "" where it ran on several, or nobody knows."""
    record = one.test.record
    if record is None:
        return one.test.node
    nodes = {device["node"] for device in record["devices"]} or {record["host"]["name"]}
    return one.test.node or (nodes.pop() if len(nodes) == 1 else "")


def several_nodes(judged: Iterable[Judged]) -> bool:
    """Whether tests ran on more than one node, or on several at once; one that left no record is of none."""
    return len({node_of(one) for one in judged if one.test.record or one.test.node}) > 1


def found_on(node: str, one: Judged) -> Iterator[Found]:
    """What a test found on its node: of each matrix the worst cell, or why there is none."""
    for result, matrix in one.matrices:
        marked, _ = matrix.marked(1)
        worse = max((matrix.worse(pair) or 0.0 for pair, _ in marked), default=0.0)
        facts = [fact.sentence for fact in one.facts if fact.verdict is not Verdict.PASS]
        said = [cell.reason for _, cell in marked] or list(one.reasons) or facts
        said = said or ([f"{matrix.unjudged} cells have no reference"] if matrix.unjudged else [])
        yield Found(one.of_matrix(matrix), worse, node, ": ".join([result["testcase"], *said[:1]]))
    if one.beyond_cells is not None:
        yield Found(one.verdict, 0.0, node, "; ".join(one.reasons) or one.test.name)


def lines(judged: list[Judged]) -> list[str]:
    """How many nodes have which verdict, and those that are not PASS, the worst first; nothing of a single node."""
    worst: dict[str, Found] = {}
    for one in judged:
        if node := node_of(one):
            worst[node] = max([*([worst[node]] if node in worst else []), *found_on(node, one)])
    if len(worst) < 2:
        return []
    verdicts = [one.verdict for one in worst.values()]
    said = ", ".join(f"{verdicts.count(one)} {words.WORDS[one]}" for one in reversed(words.ORDER) if one in verdicts)
    bad = [one for one in sorted(worst.values(), reverse=True) if one.verdict is not Verdict.PASS]
    listed = [f"  {words.WORDS[one.verdict]:<10} {clean(f'{one.node}: {one.text}')}" for one in bad[:MOST_LINES]]
    listed = [line[:MOST_CHARACTERS] for line in listed]
    more = [f"  and {len(bad) - MOST_LINES} more: linkmatrix report"] if len(bad) > MOST_LINES else []
    return [f"{counted(len(worst), 'node')}: {said}", *listed, *more]
