"""Shares in percent that a partition expects of the largest size of a test case. Plain Python, as `expect` is."""

from typing import NamedTuple

from .expect import name_of
from .reasons import missing, too_slow


class Share(NamedTuple):
    """A kind of share.

    extra: the key of the partition's extras with {test case: percent}. part: the name of the matrix with the shares.
    meaning: what a share is a share of. most: a larger share has no known cause, and is not judged.
    """

    extra: str
    part: str
    meaning: str
    most: float = float("inf")


UTILISATION = Share("collective_utilisation", "utilisation", "of what links allow", most=101)
EFFICIENCY = Share("scaling_efficiency", "efficiency", "efficiency")


def largest_of(results):
    """The result of the most bytes."""
    return max(results, key=lambda result: result["size_bytes"])


def shares_of(result, share):
    """{column: percent}; None where the record does not contain the share."""
    known = result["parts"].get(share.part, {}).get("values") or [[None] * len(result["columns"])]
    return dict(zip(result["columns"], known[0], strict=True))


def share_faults(share, extras, testcase, cases, results):
    """Reasons if the largest of the results misses the share that a partition's extras expect of a test case.

    cases: the test cases that can have such a share.
    """
    expected = extras.get(share.extra, {})
    if unclear := unclear_faults(share, expected, cases):
        return unclear
    percent = expected.get(testcase)
    if percent is None or not results:
        return []
    largest, reasons = largest_of(results), []
    remedy = f"cannot be judged: remove it from extras['{share.extra}']"
    for column, found in shares_of(largest, share).items():
        name, promised = f"{name_of(largest)}, {column}", f"the partition promises {percent:g} %"
        if found is None:
            reasons += missing(f"{name}: the share {share.meaning} is unknown here, {promised}, which {remedy}")
        elif found > share.most:
            impossible = f"{found:.1f} % {share.meaning} is more than they can carry"
            reasons += missing(f"{name}: {impossible}: is a link missing in the record? {promised}, which {remedy}")
        elif not found >= percent:
            reasons += too_slow(largest, f"{name}: {found:.1f} % {share.meaning}, {promised}")
    return reasons


def unclear_faults(share, expected, cases):
    """The reason if expected shares cannot be judged. The share of an unknown test case would never be missed."""
    where = f"extras['{share.extra}'] of the partition"
    if not isinstance(expected, dict):
        return missing(f"{where}={expected!r}: give percent by test case, such as {{'{next(iter(cases))}': 70}}")
    for name, percent in expected.items():
        if name not in cases:
            return missing(f"{where} has '{name}', which is none of the test cases {', '.join(cases)}")
        is_number = isinstance(percent, int | float) and not isinstance(percent, bool)
        if not (is_number and 0 < percent <= 100):
            return missing(f"{where} has {name}={percent!r}: give percent, more than 0 and at most 100")
    return []
