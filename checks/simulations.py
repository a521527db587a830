"""Of simulations on several numbers of devices: is each there, whole and compared? Plain Python, as `expect` is."""

from linkmatrix.record.collective import bodies_of

from .expect import cell_faults, table_faults
from .reasons import missing, too_slow


def columns_of(devices):
    """The columns of so many devices, by powers of two and all: "1-device", "2-devices" …"""
    counts = [1 << power for power in range(devices.bit_length()) if 1 << power < devices] + [devices]
    return [f"{count}-device{'' if count == 1 else 's'}" for count in counts]


def every_number_there(results, wanted, what):
    """Is each of the wanted numbers of bodies, "65536,1048576", among the results of a test case, and no other?"""
    numbers = sorted(int(word) for word in wanted.split(",") if word.strip().isdigit())
    found = sorted(bodies_of(result) or 0 for result in results)
    if found == numbers:
        return []
    lacking = [str(number) for number in numbers if number not in found]
    said = f", without {', '.join(lacking)} bodies" if lacking else ""
    return missing(f"{what}: {len(numbers)} numbers of bodies were to be measured, there are {len(found)}{said}")


def simulation_faults(results, tables, wanted, columns):
    """Has each result every number of devices, in each of the wanted tables, and was it compared?"""
    reasons = []
    for result in results:
        testcase, size = result["testcase"], result["size_bytes"]
        name = f"{testcase} of {bodies_of(result)} bodies"
        own = [table for table in tables if (table.testcase, table.size_bytes) == (testcase, size)]
        found = table_faults(own, wanted, testcase)
        found += [fault for table in own for fault in cell_faults(table, [("all", column) for column in columns])]
        if list(result["columns"]) != columns:
            said = " and ".join(result["columns"])
            found += missing(f"{testcase}: it should be on {' and '.join(columns)}, it is on {said}")
        if not found and not (result["verified"] is True and result["complete"] is True):
            found = missing(f"{testcase}: it is not complete, or its forces and positions were not compared")
        reasons += [one._replace(sentence=one.sentence.replace(testcase, name, 1)) for one in found]
    return list(dict.fromkeys(reasons))


def efficiency_faults(results, percent):
    """Are the most bodies as efficient on every number of devices as the partition promises?"""
    if percent is None or not results:
        return []
    most = max(results, key=lambda result: result["size_bytes"])
    name = f"{most['testcase']} of {bodies_of(most)} bodies"
    known = most["parts"].get("efficiency", {}).get("values") or [[None] * len(most["columns"])]
    reasons = []
    for column, value in zip(most["columns"], known[0], strict=True):
        promised = f"the partition promises {percent:g} %"
        if value is None:
            reasons += missing(f"{name}, {column}: its efficiency is not known, {promised}")
        elif not value >= percent:
            reasons += too_slow(most, f"{name}, {column}: an efficiency of {value:.1f} %, {promised}")
    return reasons
