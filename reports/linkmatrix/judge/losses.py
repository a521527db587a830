"""What the TCP of nodes had to send again while a matrix was measured: lost on the way, or in a queue that was full.

Between four hosts of 100 Mbit/s at most 4 of 20,124 segments were sent again, 0.02 %, and beside a stream of others as
few; where the link to one of three others lost 1 % it was 217 of 33,937, 0.64 %.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from .others import segments

LEAST_SHARE = 0.001  # of the segments that were sent
LEAST_COUNT = 10
MOST_NAMED = 4


def sentences(result: Mapping[str, Any]) -> Iterator[str]:
    """A sentence for each node whose TCP sent much again, the worst first; nothing where nobody counted."""
    found = [
        (again / sent, label, again, sent)
        for label, (sent, again) in segments(result.get("others") or {"uses": []}).items()
        if again >= max(LEAST_COUNT, LEAST_SHARE * sent)
    ]
    for share, label, again, sent in sorted(found, reverse=True)[:MOST_NAMED]:
        yield (
            f"{label} sent {100 * share:.2g} % of its TCP segments again ({again:,.0f} of {sent:,.0f}):"
            " they were lost on the way from it, or in a queue that was full"
        )
    if len(found) > MOST_NAMED:
        yield f"and {len(found) - MOST_NAMED} more nodes sent TCP segments again"
