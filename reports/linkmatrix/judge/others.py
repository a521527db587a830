"""What others did beside a run, as its record's `others` has it: in numbers, and in sentences.

A device, a core or an adapter counts what went through it, whoever sent it, and the program knows what of that was its
own. What is left over is of others.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from ..record.units import figure
from .turns import Others, node_of, quota_of, turns_of_others
from .who import Who

LEAST = 0.015  # share of others, below which nothing is said of them
# of the run's own bytes, what a counter may have more: heads of packets, acknowledgements, what was refreshed late
OVERHEAD = {"nvlink": 0.05, "pcie": 0.15, "net": 0.10}
# bytes that an adapter counts of each message beside its data, whatever its size: Ethernet, IP, TCP and MPI have 14,
# 20, 32 and up to 64, there and once more for the acknowledgement
MESSAGE_HEADS = 256.0
PROMISED = 0.02  # share of the time that a rank of nodes which are promised to be ours may lose; 1.6 % was seen alone
LEAST_SECONDS = 0.02  # of a core that was wanted: less is one tick of a clock
BACK = {"out": "in", "in": "out"}
# of what comes the other way: reads are asked for, and writes are acknowledged; every other packet of TCP is
REQUESTS = {"pcie": 0.15, "net": 0.05}
LEAST_RATE = 1e8  # bytes a second: less comes from looking
LEAST_BESIDE_WORDS = 1e10  # beside loads and words of ours that are not counted as ours: 1.9 GB/s of them were seen
UNTOLD = "whether others used its devices cannot be told"
SAID = {
    "cpu": "had {share:.0f} % of the time that {label} wanted its cores",
    "sm": "kept the processors of {label} busy for {share:.0f} % of the time",
    "memory": "kept the memory of {label} busy for {share:.0f} % of the time",
}


def foreign(others: Others, message: int = 0) -> tuple[dict[str, dict[str, float]], dict[str, dict[str, float]]]:
    """({kind of bytes: {endpoint: a second, by others}}, {kind of share: {endpoint: of others}}), as far as it is told.

    message: bytes of each that went over a network, which has heads; 0: they are not known, or it had none
    Where a device's driver lists nobody else, nobody else has sent anything, whatever a late counter says.
    """
    rates: dict[str, dict[str, float]] = {}
    shares: dict[str, dict[str, float]] = {}
    own_bytes = {(use["label"], use["of"]): use["own"] for use in others["uses"]}
    again = sent_again(others)
    turns = turns_of_others(others)
    for use in others["uses"]:
        counted, own, kind = use["counted"], use["own"], use["of"]
        if (
            counted is None
            or own is None
            or kind.startswith("tcp_")
            or (others["shared"] is False and kind != "cpu" and "net" not in kind)
        ):
            continue
        if kind == "cpu":
            amount = turns[use["label"]][0] / counted if counted >= LEAST_SECONDS else 0.0
        elif kind in SAID:
            amount = counted / others["seconds"]
        else:
            path, _, way = kind.partition("_")
            back = own_bytes.get((use["label"], f"{path}_{BACK[way]}")) or 0.0
            heads = MESSAGE_HEADS / message if path == "net" and message else 0.0
            twice = again.get(use["label"], 0.0) if kind == "net_out" else 0.0
            ours = (1 + OVERHEAD[path] + heads + twice) * own + (REQUESTS.get(path, 0.0) + heads) * back
            amount = (counted - ours) / others["seconds"]
        (shares if kind in SAID else rates).setdefault(kind, {})[use["label"]] = max(0.0, amount)
    return rates, shares


def sent_again(others: Others) -> dict[str, float]:
    """{node: TCP segments that it had to send once more, for each that it sent}: its adapters count both."""
    return {label: again / sent for label, (sent, again) in segments(others).items()}


def segments(others: Others) -> dict[str, tuple[float, float]]:
    """{node: TCP segments that it sent, and that it sent again}, of those that sent any."""
    counted = {(use["label"], use["of"]): use["counted"] for use in others["uses"]}
    sent = {label: count for (label, kind), count in counted.items() if kind == "tcp_sent" and count}
    return {label: (count, counted.get((label, "tcp_again")) or 0.0) for label, count in sent.items()}


def disturbances(record: Mapping[str, Any]) -> Iterator[str]:
    """Who used what was measured, in sentences: for a partition whose nodes are promised to a job alone."""
    soak = [record["soak"]] if record.get("soak", {}).get("others") else []
    for result in (record["results"] or [record]) + soak:
        others = result.get("others")
        if others is None:
            yield "the node was not seen to be ours: the record does not say what others did"
            return
        where = " during the soak" if result in soak else ""
        where = f" during {result['testcase']}" if "testcase" in result else where
        yield from (f"the node was not ours: {one}{where}" for one in used_by_others(others, result))


def used_by_others(others: Others, result: Mapping[str, Any]) -> Iterator[str]:
    """What others used of endpoints, and who has a context on a device."""
    who = Who(others)
    held, endpoints = who.on_devices, who.devices | who.on_devices.keys()
    yield from (f"{label} was used by others{who.used(label)}" for label in held)
    if others["shared"] and not held:
        why = [one for one in others["untold"] if any(one.startswith(f"{label}: ") for label in endpoints)]
        yield UNTOLD + "".join(f"; {one}" for one in (why or others["untold"])[:1])
    shares, turns = (foreign(others)[1], turns_of_others(others)) if others["seconds"] else ({}, {})
    for label, share in shares.get("cpu", {}).items():
        # a rank that mostly naps wants a processor so seldom that any daemon has a share of that
        if node_of(label) is not None and turns[label][0] <= PROMISED * others["seconds"]:
            continue
        if share > LEAST and label not in held and not quota_of(others, label):
            yield f"others {SAID['cpu'].format(share=100 * share, label=label)}{who.used(label)}"
    yield from (said for label, said in devices_used(result) if label in endpoints and label not in held)


def devices_used(result: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """(device, what others did there, in a sentence) where they moved bytes or computed, beside a result."""
    others = result.get("others")
    if not others or not others["seconds"]:
        return
    rates, shares = foreign(others, result.get("size_bytes") or 0)
    who = Who(others)
    for kind in ("sm", "memory"):
        for label, share in shares.get(kind, {}).items():
            if share > LEAST:
                yield label, f"others {SAID[kind].format(share=100 * share, label=label)}{who.used(label)}"
    least = LEAST_BESIDE_WORDS if result.get("metric") == "latency" else LEAST_RATE
    for kind, of in rates.items():
        for label, rate in of.items():
            if rate > least:
                moved = gigabytes(rate * others["seconds"])
                yield label, f"{moved} of {kind} at {label} were not of linkmatrix{who.used(label)}"


def gigabytes(amount: float) -> str:
    """ "1,370 GB" of bytes."""
    amount *= 1e-9
    return f"{amount:,.0f} GB" if amount >= 100 else f"{figure(amount, 1)} GB"
