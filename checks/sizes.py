"""Of what is measured with several sizes: which, and what is missing of each. Plain Python, as `expect` is."""

from linkmatrix.record.units import parse_size

from .expect import cell_faults, table_faults
from .reasons import missing, too_slow

UTILISATION = "extras['collective_utilisation']"
MOST = 101  # percent of what links allow: a figure that noise lifts above it has no cause in links that are known
PART = 16  # bytes that each rank's part of a buffer is a multiple of, as src/collective/layout.cpp rounds it down


def has_own_size(testcase):
    """Whether a test case of p2p_matrix has a size of its own, which the program would not let change."""
    return not testcase.endswith("_mpi") and ("latency" in testcase or "visibility" in testcase)


def sizes_of(text):
    """The sizes of "4KiB,1MiB", as of --size, and of "1KiB:1GiB:4", as of --sweep. Raises BadInput."""

    def size_of(word):
        return 0 if word.strip() == "0" else parse_size(word, "the size")

    if ":" not in text:
        return [size_of(word) for word in text.split(",")]
    low, high, *factor = text.split(":")
    least, most = size_of(low), size_of(high)
    size, times, found = float(max(least, 1)), float(factor[0]) if factor else 2.0, [0] if least == 0 else []
    while size < most and times > 1:
        found += [int(size + 0.5)] if not found or int(size + 0.5) > found[-1] else []
        size *= times
    return found if found and found[-1] >= most else [*found, most]


def at_least(text, ranks):
    """The sizes of `text` that leave each rank a part, as of --size."""
    sizes = sizes_of(text)
    fitting = [size for size in sizes if size >= PART * ranks]
    return text if fitting == sizes else ",".join(map(str, fitting))


def sizes_option(text):
    """The option of a program for such sizes."""
    return ["--sweep" if ":" in text else "--size", text]


def all_there(results, wanted, ranks, what):
    """Is each of the wanted sizes among the results of a test case, and no other? A size of a collective is rounded
    down to a part for each of its ranks; of what has no such parts, ranks is 0.
    """
    found = [result["size_bytes"] for result in results]

    def fits(size, there):
        return size - max(PART * ranks, 1) < there <= size

    if len(found) == len(wanted) and all(map(fits, wanted, found)):
        return []
    lacking = [size for size in wanted if not any(fits(size, there) for there in found)]
    said = f", without {', '.join(map(str, lacking))} bytes" if lacking else ""
    return missing(f"{what}: {len(wanted)} sizes were to be measured, there are {len(found)}{said}")


def collective_faults(results, tables, wanted, ways):
    """Has each result every way of `ways`, in each of the wanted tables, and was its data compared?"""
    reasons = []
    for result in results:
        testcase, size = result["testcase"], result["size_bytes"]
        name = f"{testcase} of {size} bytes"
        own = [table for table in tables if (table.testcase, table.size_bytes) == (testcase, size)]
        found = table_faults(own, wanted, testcase)
        found += [fault for table in own for fault in cell_faults(table, [("all", way) for way in ways])]
        if list(result["columns"]) != list(ways):
            there = " and ".join(result["columns"])
            found += missing(f"{testcase}: it should be {' and '.join(ways)}, it is {there}")
        if not found and not (result["verified"] is True and result["complete"] is True):
            found = missing(f"{testcase}: it is not complete, or its data was not compared")
        reasons += [one._replace(sentence=one.sentence.replace(testcase, name, 1)) for one in found]
    return list(dict.fromkeys(reasons))


def promise_faults(promised, known, extra=UTILISATION, what="collectives"):
    """Can each percentage of `extra`, one of the partition's extras, be judged? known: the test cases that there are,
    of `what`. A promise of what is never measured would never be broken.
    """
    where = f"{extra} of the partition"
    if not isinstance(promised, dict):
        return missing(f"{where}={promised!r}: give percent by test case, such as {{'{next(iter(known))}': 70}}")
    for name, percent in promised.items():
        if name not in known:
            return missing(f"{where} has '{name}', which is no test case of {what}: use {', '.join(known)}")
        is_number = isinstance(percent, int | float) and not isinstance(percent, bool)
        if not (is_number and 0 < percent <= 100):
            return missing(f"{where} has {name}={percent!r}: give percent, more than 0 and at most 100")
    return []


def largest_of(results):
    """That of the most bytes."""
    return max(results, key=lambda result: result["size_bytes"])


def utilisations(result):
    """{way: percent of what links allow}, None where that is not known."""
    shares = result["parts"].get("utilisation", {}).get("values") or [[None] * len(result["columns"])]
    return dict(zip(result["columns"], shares[0], strict=True))


def utilisation_faults(results, percent):
    """Does the largest size reach the promised share of the bus bandwidth that links allow, in each way that it has?"""
    if percent is None or not results:
        return []
    largest = largest_of(results)
    name = f"{largest['testcase']} of {largest['size_bytes']} bytes"
    reasons = []
    for way, share in utilisations(largest).items():
        if share is None:
            reasons += missing(
                f"{name}, {way}: what links allow is not known here, so {percent:g} % of it, as the partition promises,"
                f" cannot be judged: remove it from {UTILISATION}"
            )
        elif share > MOST:
            reasons += missing(
                f"{name}, {way}: {share:.1f} % of what links allow is more than they can carry, so the partition's"
                f" {percent:g} % cannot be judged: is a port or link missing in the record? else remove it from"
                f" {UTILISATION}"
            )
        elif not share >= percent:
            said = f"{name}, {way}: {share:.1f} % of what links allow, the partition promises {percent:g} %"
            reasons += too_slow(largest, said)
    return reasons
