"""Simulated records of sampled matchings, as p2p_matrix --concurrency matchings writes them."""

import random
import statistics

from linkmatrix.judge.evaluate import judge_result
from linkmatrix.references.tables import References

COUNT = 24
MAPS = ("values", "low", "high", "samples", "converged", "round", "began", "ended")


def drawn_for(count, suspects=(), confirms=True):
    """Matchings as the program draws them: two of all endpoints, two of suspects, and three that confirm.

    Only the second of the confirming matchings runs alone.
    """
    found = []
    for number in range(2 + (5 if confirms else 2) * bool(suspects)):
        ring = count - 1  # one stays, the others turn
        pairs = [(ring, number), *(((number + k) % ring, (number - k) % ring) for k in range(1, count // 2))]
        alone = number == 5
        if alone:
            pairs = sorted(pairs, key=lambda pair: not set(pair) & set(suspects))[: len(suspects) + 4]
        purpose = "random" if number < 2 else "suspects" if number < 4 else "confirm"
        rows, columns = zip(*pairs, *((b, a) for a, b in pairs), strict=True)
        found.append({"purpose": purpose, "alone": alone, "rows": list(rows), "columns": list(columns)})
    return found


def slow_endpoint(endpoint, direction, drawn, speed, limit):
    """A slow endpoint as the program describes it. speed: {cell: speed as a fraction}; slow is below `limit`."""
    counts = {"slow": 0, "cells": 0, "slow_again": 0, "confirmed": 0}
    seen, shifts = set(), []
    for one in drawn:
        names = ("slow_again", "confirmed") if one["purpose"] == "confirm" else ("slow", "cells")
        for cell in zip(one["rows"], one["columns"], strict=True):
            is_of_it = (cell[0] == endpoint and "sends" in direction) or (
                cell[1] == endpoint and "receives" in direction
            )
            if is_of_it and cell not in seen:
                seen.add(cell)
                counts[names[1]] += 1
                counts[names[0]] += speed[cell] < limit
                shifts += [speed[cell] - 1] * (speed[cell] < limit)
    for name in ("slow_again", "confirmed"):
        counts[name] //= 2 if direction == "sends and receives" else 1
    found = {"endpoint": f"n{endpoint}", "direction": direction, "shift": statistics.median(shifts), **counts}
    return found | {"reproduced": counts["slow_again"] >= min(2, counts["confirmed"])}


def few_record(content, drawn, slow=None, bottleneck=None, faults=None, limit=0.975):
    """Change a record to a matrix of nodes with the cells of `drawn`.

    slow(row, column, number of the matching): the speed of a cell, as a fraction. faults: {endpoint: direction} that
    the program found. bottleneck: the shared bottleneck that the program found, as in the record. limit: the program
    found the cells slow that are slower than this fraction.
    """
    (result,) = content["results"]
    count = len(result["rows"])
    names = [f"n{number}" for number in range(count)]
    content["backend"] = "mpi"
    for device, node in zip(content["devices"], names, strict=True):
        device |= {"label": f"{node}:rank{device['index']}", "node": node}
    content["topology"]["labels"] = [device["label"] for device in content["devices"]]
    chance = random.Random(7)
    speed = {}
    for number, one in enumerate(drawn):
        for cell in zip(one["rows"], one["columns"], strict=True):
            speed.setdefault(cell, 48.0 * (slow(*cell, number) if slow else 1.0) * (1 + chance.gauss(0, 0.001)))
    result |= {"testcase": "node_to_node_bandwidth_mpi", "engine": "mpi", "memory": "host", "transport": "mpi"}
    result |= {"peer_access": None, "rows": names, "columns": names, "timing": "messages", "sampled": None}
    result["schedule"] |= {"mode": "matchings", "rounds": 2 * len(drawn), "pairs_at_once": count // 2}
    shares = {cell: value / 48.0 for cell, value in speed.items()}
    cells = [cell for cell, share in shares.items() if share < limit]
    result["matchings"] = {
        "seed": 1,
        "pause": 10.0,
        "open": [],
        "drawn": drawn,
        "slow_endpoints": [slow_endpoint(at, how, drawn, shares, limit) for at, how in (faults or {}).items()],
        "slow_cells": {"rows": [row for row, _ in cells], "columns": [column for _, column in cells]},
    }
    if bottleneck:
        result["matchings"]["shared_bottleneck"] = bottleneck
    for r in range(count):
        for c in range(count):
            value = speed.get((r, c))
            result["link_class"][r][c] = "X" if r == c else "NET"
            result["limit"][r][c] = None
            result["status"][r][c] = "not-applicable" if value is None else "ok"
            for name in MAPS:
                result[name][r][c] = None
            if value is not None:
                result["values"][r][c] = result["low"][r][c] = result["high"][r][c] = value
                result["samples"][r][c], result["converged"][r][c], result["round"][r][c] = 7, True, 0
                result["began"][r][c], result["ended"][r][c] = 0.0, 0.1
    content["expected"] = ["node_to_node_bandwidth_mpi"]
    return content


def held_against_nothing(result):
    """The verdict on such a matrix without references."""
    return judge_result(result, References({}), None)
