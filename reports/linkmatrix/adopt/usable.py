"""Selects the stored results that are usable for references, and explains why the other results are refused."""

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


def select_usable(tests: Iterable[Test], with_failed: bool) -> tuple[list[Sample], list[str]]:
    """Returns (usable results, one sentence "source: reason" per refused result).

    A result is refused if its test failed for another reason than missed references. A result is also refused if it is
    incomplete, unverified or disturbed. A result that only misses its references is usable, because the references may
    be wrong.

    with_failed: whether only the results of simulated faults are refused.
    """
    samples, refused = [], []
    for test in tests:
        source = str(test.path or test.name)
        if test.record is None:
            if test.result not in ("skip", ""):
                refused.append(f"{source}: {test.reason or 'the test has no record'}")
            continue
        simulated = simulated_fault(test.record)
        reason = f"simulated fault: {simulated}" if simulated else ""
        if not (reason or with_failed):
            reason = next(test_reasons(test), "")
        if reason:
            refused.append(f"{source}: {reason}")
            continue
        for number, result in enumerate(test.record["results"]):
            reason = "" if with_failed else next(result_reasons(test, test.record, number), "")
            if reason:
                refused.append(f"{source}, {result['testcase']}: {reason}")
            else:
                samples.append(Sample(source, test.record, result, test.reference, test.variant))
    return samples, refused


def test_reasons(test: Test) -> Iterator[str]:
    """Yields the reasons why all results of a test are unusable. Missed references are no reason."""
    assert test.record is not None
    if test.stored is None and test.result not in ("", "pass") and test.phase != "performance":
        yield f"ReFrame ended the test with '{test.result}'" + (f" ({test.reason[:120]})" if test.reason else "")
    reasons: list[Reason] = [*test.check.reasons, *record_reasons(test.record, test.check.testcase)]
    yield from (one.sentence for one in reasons if one.verdict > Verdict.NOT_JUDGED)
    yield from test.doubts
    for result in test.record["results"]:
        yield from (f"devices were throttled: {reason}" for reason in result.get("throttled", []))


def result_reasons(test: Test, record: Mapping[str, Any], number: int) -> Iterator[str]:
    """Yields the reasons why one result of a test is unusable. Missed references are no reason.

    number: the index of the result in the record.
    """
    result = record["results"][number]
    for fact in facts(record, test.check.tolerated_counters):
        if fact.verdict > Verdict.NOT_JUDGED and fact.result in (None, number):
            yield fact.sentence
    if not is_known(result["testcase"]):
        yield "the measured quantity is unknown: the result cannot be compared"
    # an empty message has no data to compare
    if not result["complete"] or (result["verified"] is not True and result["size_bytes"] != 0):
        yield "the result is incomplete, or its data was not verified"
    for node, names in disturbed_nodes(record, result).items():
        yield f"{' and '.join(names)} used {node} during the measurement: stop other work, and measure again"
