"""A matrix of so many endpoints that its cells are in a file beside the record: what is wrong with it, and its figures.

No table is printed of it, and no variable is published for each pair. The record's own summaries are judged: cells of
each status, link classes, and the medians of rows and columns. Plain Python, as `expect` is; the file is not read here:
`linkmatrix show` and `linkmatrix run` judge each of its cells.
"""

import re

import linkmatrix.record.printed
from linkmatrix.record.apart import Apart

from .reasons import missing

CELL_BYTES, MOST_HEAD = 16, 65536 + 10  # of a cell, and at most of numpy's head
MOST_NAMED = 4


def result_of(record, testcase):
    """The entry of the record's results whose cells are in a file; None where there is none of this test case."""
    return next((one for one in record["results"] if one["testcase"] == testcase and Apart.of(one)), None)


def matrix_faults(result, text, table, endpoints, folder, needed):
    """What a matrix between `endpoints` lacks; [] for nothing.

    table: (title, unit) that the program must have printed. folder: where the record is. needed: cells that must have
    a value.
    """
    name, cells, size = result["testcase"], result["cells"], len(endpoints)
    faults = []
    found = [one for one in linkmatrix.record.printed.p2p_matrix_large(text) if one.testcase == name]
    wanted = (*table, size, cells["file"])
    if [(one.title, one.unit, one.endpoints, one.file) for one in found] != [wanted]:
        faults.append(f"{name} did not print once that its '{table[0]} ({table[1]})' is in {cells['file']}")
    lacking = sorted(set(endpoints) ^ set(result["rows"]))
    if list(result["rows"]) != list(endpoints):
        said = f": {named(lacking)}" if lacking else ", in another order"
        faults.append(f"{name}: the matrix should be of {size} endpoints, it is of {len(result['rows'])}{said}")
    counts = dict(zip(cells["statuses"], cells["counts"], strict=True))
    bad = any(count for word, count in counts.items() if word not in ("ok", "not-applicable"))  # the judge knows them
    if counts.get("ok", 0) != needed and not bad:
        faults.append(f"{name}: {counts.get('ok', 0)} cells were measured, not {needed}")
    for axis, labels in (("row", result["rows"]), ("column", result["columns"])):
        empty = [label for label, middle in zip(labels, cells[f"{axis}_medians"], strict=True) if not middle > 0]
        faults += [f"{name}: nothing was measured in the {axis} of {named(empty)}"] if empty else []
    verified = re.findall(r"^verified: (\d+) of (\d+) cells$", text, re.MULTILINE)
    if verified != [(str(needed), str(needed))] or result["verified"] is not True:
        said = " and ".join(f"{done} of {all_} cells" for done, all_ in verified) or "nothing"
        faults.append(f"{name}: {needed} cells must be verified, the program says {said}")
    return missing(*faults, *file_faults(folder / cells["file"], size))


def file_faults(path, size):
    """Sentences if the file of the cells is missing or incomplete."""
    try:
        there = path.stat().st_size
    except OSError as error:
        return [f"{path.name}, which has the cells, is not beside the record: {error.strerror}"]
    least = size * size * CELL_BYTES
    whole = least < there <= least + MOST_HEAD
    return [] if whole else [f"{path.name} has {there} bytes, which are not {size} × {size} cells"]


def named(labels):
    """The first few."""
    more = len(labels) - MOST_NAMED
    return ", ".join(labels[:MOST_NAMED]) + (f" and {more} more" if more > 0 else "")


def variables(result):
    """{name: value}: minimum, median and maximum of each link class, and the least and largest median of a row and of
    a column: "min[NET]", "max[columns]".
    """
    cells = result["cells"]
    found = {f"{name}[{one['link_class']}]": one[name] for one in cells["classes"] for name in ("min", "median", "max")}
    for axis in ("row", "column"):
        medians = cells[f"{axis}_medians"]
        found |= {f"min[{axis}s]": min(medians), f"max[{axis}s]": max(medians)}
    return found
