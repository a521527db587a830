"""What a few matchings of many endpoints leave open: which endpoints have no value, and how many pairs were seen.

An endpoint is judged by the few cells that it has; a pair that nobody drew, and so a single path, by nothing.
"""

from collections.abc import Iterator, Mapping
from statistics import median
from typing import Any

import numpy as np

from ..record.apart import Apart
from ..record.checking import drawn_cells, is_of_matchings
from ..record.matrix import from_result
from ..record.units import first
from . import uplinks

LEAST_COST = 0.05  # of all at once, as a fraction: as the program does
SURE = 0.001  # chance that noise looks like a cost


def share_seen(result: Mapping[str, Any]) -> float:
    """Of the pairs of endpoints, how many were measured at least one way."""
    pairs = {
        (min(row, column), max(row, column))
        for rows, columns in drawn_cells(result)
        for row, column in zip(rows.tolist(), columns.tolist(), strict=True)
    }
    count = len(result["rows"])
    return len(pairs) / (count * (count - 1) / 2) if count > 1 else 0.0


def coverage(result: Mapping[str, Any]) -> str:
    """ "0.4 % of pairs seen: links not judged"; "" of a matrix that is no few matchings."""
    if not is_of_matchings(result):
        return ""
    share = 100 * share_seen(result)
    return f"{share:.2g} % of pairs seen: links not judged" if share < 100 else "all pairs seen"


def cost(result: Mapping[str, Any]) -> tuple[float, int, int]:
    """(by which fraction pairs are slower while all exchange data, how many are, of how many that were measured alone).

    The median of the control cells.
    """
    sign = 1 if result["unit"] == "us" else -1
    costs = [sign * (one["before"] / one["after"] - 1) for one in result.get("controls") or []]
    return (median(costs), sum(one > 0 for one in costs), len(costs)) if costs else (0.0, 0, 0)


def shared(result: Mapping[str, Any]) -> str:
    """That pairs are slower together than alone, in a sentence; "" where they are not, by chance at most."""
    if not is_of_matchings(result):
        return ""
    by, slower, count = cost(result)
    if by < LEAST_COST or by_coin(count, slower) > SURE:
        return ""
    ratio = 1 + by if result["unit"] == "us" else 1 / (1 - by)
    load = "all endpoints send" if result["metric"] == "bidirectional" else "half of the endpoints send to the others"
    return (
        f"pairs are {100 * by:.1f} % slower while {load} than alone ({slower} of {count}): a shared bottleneck,"
        f" {ratio:.2f}:1 oversubscribed by that, members uncertain; congestion is no fault, and no endpoint is judged"
    )


def by_coin(tosses: int, heads: int) -> float:
    """The chance of so many heads or more."""
    terms = [1.0]
    for k in range(tosses):
        terms.append(terms[-1] * (tosses - k) / (k + 1))
    return sum(terms[heads:]) / sum(terms)


def unjudged(result: Mapping[str, Any]) -> Iterator[str]:
    """What of the endpoints of a few matchings has no verdict, in sentences; nothing of other matrices."""
    if not is_of_matchings(result):
        return
    missing = without_cells(result)
    if missing:
        yield f"{', '.join(first(missing))}: no cell was measured, so nothing is known of them"
    still = result["matchings"]["open"]
    if still:
        said = ", ".join(first(still))
        yield f"{said}: slow in some cells, and whether it lasts was not settled; measure again, with more --max-time"
    bottleneck = shared(result)
    if bottleneck:
        yield bottleneck
    groups = uplinks.unknown(result)
    if groups:
        yield f"{', '.join(first(groups))}: not measured across, so nothing is known of their uplinks"


def without_cells(result: Mapping[str, Any]) -> list[str]:
    """The endpoints that neither sent nor received anything of which there is a value."""
    labels = result["rows"]
    apart = Apart.of(result)
    if apart is not None:
        medians = zip(labels, *apart.medians, strict=True)
        return [label for label, row, column in medians if not row > 0 and not column > 0]
    known = np.isfinite(from_result(result).whole.values)
    there = known.any(axis=1) | known.any(axis=0)
    return [label for label, has in zip(labels, there.tolist(), strict=True) if not has]
