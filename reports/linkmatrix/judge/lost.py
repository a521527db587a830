"""Endpoints that a run lost, and what the way in which its program ended means for a verdict.

A lost device is a statement about the machine. A lost process is not: the run is incomplete. Memory that another
process holds is a disturbance.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from ..errors import BadInput
from ..record.matrix import from_result
from .disturbances import MEMORY, disturbances, polls
from .verdicts import Verdict

OF_KIND = {"device": Verdict.FAIL, MEMORY: Verdict.DISTURBED, "process": Verdict.INCOMPLETE}


def sentences(record: Mapping[str, Any]) -> Iterator[tuple[Verdict, str]]:
    """(verdict, sentence) of each lost endpoint."""
    for one in record.get("lost", ()):
        verdict = OF_KIND.get(one.get("kind"), Verdict.INCOMPLETE)
        more = ": measure again without that process" if verdict is Verdict.DISTURBED else ""
        yield verdict, f"{one['label']} was lost: {one['why']}{more}"


def ending(record: Mapping[str, Any]) -> Verdict:
    """The best verdict that the program's result word allows.

    DISTURBED: the memory that other processes hold is the only cause that the record contains.
    """
    if record["result"] in ("PASS", "FAIL"):
        return Verdict[record["result"]]
    kinds = {one.get("kind") for one in record.get("lost", ())}
    if "device" in kinds:
        return Verdict.FAIL
    held = kinds == {MEMORY} or (not kinds and memory_is_held(record))
    return Verdict.DISTURBED if held and record["result"] == "ERROR" else Verdict.INCOMPLETE


def memory_is_held(record: Mapping[str, Any]) -> bool:
    """Whether another process held the memory of a device, and the run could not measure a cell there, or nothing."""
    held = any(one["kind"] == MEMORY for others in polls(record) for one in others.get("disturbances") or ())
    return held and (not record["results"] or any(lacks_memory(record, result) for result in record["results"]))


def lacks_memory(record: Mapping[str, Any], result: Mapping[str, Any]) -> bool:
    """Whether a result lacks a cell at a device whose memory another process held."""
    others, matrix = disturbances(record, result), from_result(result)
    try:
        return any(
            bool((block.applies & ~block.is_status("ok") & others.without_memory(matrix, block)).any())
            for block in (matrix.blocks() if others.no_memory else ())
        )
    except BadInput:  # a file of cells that cannot be read is reported where it is judged
        return False
