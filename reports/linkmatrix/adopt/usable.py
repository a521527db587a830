"""Selects the stored results that are usable for references, and gives reasons for the refused results."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ..judge.run_findings import facts
from ..judge.test_verdict import record_reasons
from ..judge.verdicts import Reason, Verdict
from ..record.names import simulated_fault
from ..references.keys import is_known
from ..runs.scopes import disturbed_nodes
from ..runs.testcases import Test
from .proposal import Sample


def usable(tests: Iterable[Test], with_failed: bool) -> tuple[list[Sample], list[str]]:
    """Select the usable results. Returns them, and one sentence for each refused result.

    Refused are results that failed sanity, are incomplete, are not verified or were disturbed. A result that only
    misses its references is used, because the references may be wrong. with_failed: refuse only simulated faults.
    """
    samples, refused = [], []
    for test in tests:
        source = str(test.path or test.name)
        if test.record is None:
            if test.result not in ("skip", ""):
                refused.append(f"{source}: {test.reason or 'the test has no record'}")
            continue
        simulated = simulated_fault(test.record)
        why = f"simulated fault: {simulated}" if simulated else "" if with_failed else next(test_reasons(test), "")
        if why:
            refused.append(f"{source}: {why}")
            continue
        for place, result in enumerate(test.record["results"]):
            why = "" if with_failed else next(result_reasons(test, test.record, place), "")
            if why:
                refused.append(f"{source}: {result['testcase']}: {why}")
            else:
                samples.append(Sample(source, test.record, result, test.reference, test.variant))
    return samples, refused


def test_reasons(test: Test) -> Iterator[str]:
    """Yield reasons that make all results of a test unusable, independent of references."""
    assert test.record is not None
    if test.stored is None and test.result not in ("", "pass") and test.phase != "performance":
        yield f"ReFrame ended the test with '{test.result}'" + (f" ({test.reason[:120]})" if test.reason else "")
    reasons: list[Reason] = [*test.check.reasons, *record_reasons(test.record, test.check.testcase)]
    yield from (one.sentence for one in reasons if one.verdict > Verdict.NOT_JUDGED)
    yield from test.doubts
    for result in test.record["results"]:
        yield from (f"devices were throttled: {reason}" for reason in result.get("throttled", []))


def result_reasons(test: Test, record: Mapping[str, Any], place: int) -> Iterator[str]:
    """Yield reasons that make a result unusable, independent of references. place: its index in the record."""
    result = record["results"][place]
    for fact in facts(record, test.check.tolerated_counters):
        if fact.verdict > Verdict.NOT_JUDGED and fact.result in (None, place):
            yield fact.sentence
    if not is_known(result["testcase"]):
        yield "the measured quantity is unknown: the result cannot be compared"
    # an empty message has no data to compare
    if not result["complete"] or (result["verified"] is not True and result["size_bytes"] != 0):
        yield "the result is incomplete, or its data was not verified"
    for node, names in disturbed_nodes(record, result).items():
        yield f"{' and '.join(names)} used {node} during the measurement: stop other work, and measure again"
