"""The sizes of a measurement: parsing of a user's text, and comparison with a record. Imports no ReFrame."""

from linkmatrix.judge.verdicts import missing
from linkmatrix.record.names import parse_size

PART = 16  # bytes: src/collective/layout.cpp rounds each rank's part of a buffer down to a multiple


def sizes_of(text):
    """The sizes of "4KiB,1MiB", as for --size, or of "1KiB:1GiB:4", as for --sweep. Raises BadInput."""

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
    """The sizes of `text` that leave each rank a part, as a text for --size."""
    sizes = sizes_of(text)
    fitting = [size for size in sizes if size >= PART * ranks]
    return text if fitting == sizes else ",".join(map(str, fitting))


def size_faults(name, found, wanted, unit="bytes", slack=0):
    """The reason if the found sizes are not the wanted ones, in their order.

    slack: the number of bytes that a size may lack, because a program rounds it down.
    """

    def fits(size, there):
        return size - slack <= there <= size

    if len(found) == len(wanted) and all(map(fits, wanted, found)):
        return []
    lacking = [str(size) for size in wanted if not any(fits(size, there) for there in found)]
    without = f", without {', '.join(lacking)} {unit}" if lacking else ""
    return missing(f"{name}: {len(wanted)} sizes were requested, the record has {len(found)}{without}")
