"""Comparison of shares in percent with the shares that a partition requires. This module imports no ReFrame.

Only the largest size of a test case is compared.
"""

from typing import NamedTuple

from linkmatrix.judge.disturbances import limit_missed
from linkmatrix.judge.verdicts import missing

from .cells import name_of


class Share(NamedTuple):
    """A type of share, such as the utilisation of links.

    extra: the key of the partition's extras with {test case: percent}.
    part: the name of the matrix with the shares.
    meaning: the total, such as "of the line rate".
    cases: the test cases with such a share.
    most: a larger share is implausible, and is not judged.
    """

    extra: str
    part: str
    meaning: str
    cases: tuple[str, ...]
    most: float = float("inf")


def largest_of(results):
    """The result with the largest size."""
    return max(results, key=lambda result: result["size_bytes"])


def shares_of(result, share):
    """{column: percent} of a result; the percentage is None if the record does not contain it."""
    known = result["parts"].get(share.part, {}).get("values") or [[None] * len(result["columns"])]
    return dict(zip(result["columns"], known[0], strict=True))


def share_faults(share, extras, testcase, results):
    """Reasons if the largest result has a smaller share than the partition's extras require of a test case."""
    if share is None:
        return []
    expected = extras.get(share.extra, {})
    if unclear := unclear_faults(share, expected):
        return unclear
    percent = expected.get(testcase)
    if percent is None or not results:
        return []
    largest, reasons = largest_of(results), []
    for column, found in shares_of(largest, share).items():
        name = f"{name_of(largest)}, {column}:"
        if found is not None and found > share.most:
            impossible = f"{name} {found:.1f} % {share.meaning} is impossible: the topology may lack a link."
            reasons += missing(f"{impossible} The specified {percent:g} % cannot be judged")
        else:
            reasons += missed(largest, name, found, percent, share.meaning)
    return reasons


def missed(result, name, found, expected, meaning):
    """The reason if a share is smaller than expected. found, expected: in percent. name: begins the sentence."""
    specified = f"the partition specifies {expected:g} %"
    if found is None:
        return missing(f"{name} an unknown share {meaning}, {specified}, which cannot be judged")
    return [] if found >= expected else limit_missed(result, f"{name} {found:.1f} % {meaning}, {specified}")


def unclear_faults(share, expected):
    """The reason if the expected shares are malformed, or name an unknown test case."""
    where = f"extras['{share.extra}'] of the partition"
    if not isinstance(expected, dict):
        return missing(f"{where}={expected!r}: give percent by test case, such as {{'{share.cases[0]}': 70}}")
    for name, percent in expected.items():
        if name not in share.cases:
            return missing(f"{where} has '{name}', which is none of the test cases {', '.join(share.cases)}")
        is_number = isinstance(percent, int | float) and not isinstance(percent, bool)
        if not (is_number and 0 < percent <= 100):
            return missing(f"{where} has {name}={percent!r}: give percent, more than 0 and at most 100")
    return []
