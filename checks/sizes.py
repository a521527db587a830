"""The sizes of a measurement: parses requested sizes, and compares them with the sizes in a record."""

from linkmatrix.judge.verdicts import missing
from linkmatrix.record.names import parse_size
from linkmatrix.record.units import counted

PART = 16  # bytes; src/collective/layout.cpp rounds each rank's part of a buffer down to a multiple of PART


def parse_sizes(text):
    """Parses sizes to a list of bytes. Raises BadInput.

    text: a list such as "4KiB,1MiB", or MIN:MAX:FACTOR such as "1KiB:1GiB:4".
    """

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


def sizes_for_ranks(text, ranks):
    """The sizes that are large enough to give each rank at least PART bytes, as text.

    text: the requested sizes.
    """
    sizes = parse_sizes(text)
    fitting = [size for size in sizes if size >= PART * ranks]
    return text if fitting == sizes else ",".join(map(str, fitting))


def size_faults(name, found, wanted, unit="bytes", slack=0):
    """The reason against PASS, if the sizes `found` or their order differ from the sizes `wanted`.

    name: the name of the test case.
    slack: the number of bytes by which a program may round a size down.
    """

    def fits(size, measured):
        return size - slack <= measured <= size

    if len(found) == len(wanted) and all(map(fits, wanted, found)):
        return []
    lacking = [str(size) for size in wanted if not any(fits(size, measured) for measured in found)]
    without = f", without {', '.join(lacking)} {unit}" if lacking else ""
    return missing(
        f"{name}: {counted(len(wanted), 'size')} should be measured, but the record has {len(found)}{without}"
    )
