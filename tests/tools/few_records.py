"""Simulated records of sampled matchings, as p2p_matrix --concurrency matchings writes them."""

import random

from linkmatrix.judge.evaluate import judge_matrix
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


def few_record(content, drawn, slow=None, controls=()):
    """Change a record to a matrix of nodes with the cells of `drawn`.

    slow(row, column, number of the matching): the speed of a cell, as a fraction.
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
    result["matchings"] = {"seed": 1, "pause": 10.0, "open": [], "drawn": drawn}
    result["controls"] = list(controls)
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
    return judge_matrix(result, References({}), None)
