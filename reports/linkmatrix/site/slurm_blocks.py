"""Slurm's block topology: the blocks of nodes in `scontrol show topology` or topology.conf.

A block of a GB200 or GB300 NVL72 system is an NVLink domain: https://slurm.schedmd.com/topology.html.
"""

import re

from .cluster import Answer

TOPOLOGY = ["scontrol", "show", "topology"]
BLOCK_LINES = ("BlockName=", "AggregatedBlock=", "BlockSizes=")
# Slurm prints groups of blocks too, in lines that begin with AggregatedBlock=
BLOCK = re.compile(r"^\s*BlockName=(\S+)\s(?:.*?\s)?Nodes=(\S+)", re.MULTILINE)


def blocks_in(text: str) -> dict[str, str]:
    """Returns {block: its nodes in Slurm's format}. Groups of blocks are left out."""
    return {name: listed for name, listed in BLOCK.findall(text) if listed != "(null)"}


def block_notes(answer: Answer) -> list[str]:
    """A note about the blocks of a cluster, in a list; [] for a cluster without blocks."""
    try:
        blocks = blocks_in(answer(TOPOLOGY))
    except OSError:
        return []
    if not blocks:
        return []
    listed = "; ".join(f"{name}: {its_nodes}" for name, its_nodes in blocks.items())
    return [
        f"Slurm reports {len(blocks)} block{'s' if len(blocks) > 1 else ''} of nodes, which are usually NVLink domains:"
        f" {listed}. To locate faults by domain, give --groups a file with the output of {' '.join(TOPOLOGY)}"
    ]
