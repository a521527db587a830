"""The verdicts of lost endpoints and of the way in which a program ended.

A lost device is FAIL. A lost process is INCOMPLETE. A device whose memory another process holds is DISTURBED.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from ..errors import BadInput
from ..record.matrix import from_result
from . import soak
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
    """The best verdict that the result of a program (PASS, FAIL, ERROR, TIMEOUT or INCOMPLETE) allows.

    DISTURBED if memory that other processes hold is the only cause in the record.
    """
    if record["result"] == "FAIL" and only_soak_failed(record):
        return soak.verdict_of_cells(record)
    if record["result"] in ("PASS", "FAIL"):
        return Verdict[record["result"]]
    kinds = {one.get("kind") for one in record.get("lost", ())}
    if "device" in kinds:
        return Verdict.FAIL
    held = kinds == {MEMORY} or (not kinds and memory_is_held(record))
    return Verdict.DISTURBED if held and record["result"] == "ERROR" else Verdict.INCOMPLETE


def only_soak_failed(record: Mapping[str, Any]) -> bool:
    """Whether cells that failed in the soak are the only cause of the program's FAIL."""
    soaked = record.get("soak")
    is_good = all(one["complete"] and one.get("verified") is not False for one in record["results"])
    return soaked is not None and soaked["failures"] > 0 and is_good and not soak.computes_wrong(soaked)


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
