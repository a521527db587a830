"""Shares in percent that a partition expects of the largest size of a test case. Plain Python, as `expect` is."""

from typing import NamedTuple

from linkmatrix.judge.reasons import missing, too_slow

from .cells import name_of


class Share(NamedTuple):
    """A kind of share.

    extra: the key of the partition's extras with {test case: percent}. part: the name of the matrix with the shares.
    meaning: what a share is a share of. cases: the test cases that have such a share. most: a larger share has no known
    cause, and is not judged.
    """

    extra: str
    part: str
    meaning: str
    cases: tuple[str, ...]
    most: float = float("inf")


def largest_of(results):
    """The result of the most bytes."""
    return max(results, key=lambda result: result["size_bytes"])


def shares_of(result, share):
    """{column: percent}; None where the record does not contain the share."""
    known = result["parts"].get(share.part, {}).get("values") or [[None] * len(result["columns"])]
    return dict(zip(result["columns"], known[0], strict=True))


def share_faults(share, extras, testcase, results):
    """Reasons if the largest of the results misses the share that a partition's extras expect of a test case."""
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
            impossible = f"{name} {found:.1f} % {share.meaning} is more than they can carry: is a link missing?"
            reasons += missing(f"{impossible} The promised {percent:g} % cannot be judged")
        else:
            reasons += missed(largest, name, found, percent, share.meaning)
    return reasons


def missed(result, name, found, expected, meaning):
    """The reason if a share of a result is less than expected, in percent. name: begins the sentence."""
    promised = f"the partition promises {expected:g} %"
    if found is None:
        return missing(f"{name} an unknown share {meaning}, {promised}, which cannot be judged")
    return [] if found >= expected else too_slow(result, f"{name} {found:.1f} % {meaning}, {promised}")


def unclear_faults(share, expected):
    """The reason if expected shares cannot be judged. The share of an unknown test case would never be missed."""
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
