"""A draft of a contract, and the limits that it names: `linkmatrix contract freeze --example`."""

EXAMPLE = """\
title: Lot 1, one node of 4 GPUs
buyer: University of Example
seller: Example Systems
source: quote 4711 of 2026-10-01, table 3
document: quote.pdf            # its SHA-256 is kept; may be left out
system: cluster:gpu            # for linkmatrix run; may be left out
mode: acceptance
retries: 0                     # of a test that failed; each is shown
table: sold                    # of the file of limits
limits: limits.yaml            # as config/references: at least 380 GB/s is [380, 0, null, GB/s]
parts:                         # a line each; serial (or UUID) and slot may be left out
  - {node: n12, slot: "0", serial: "1650324000101"}
  - {node: n12, slot: "1", serial: "1650324000102"}
testcases:                     # cells of a record; left out where each ordered pair has one. nodes: each, or all
  device_to_device_memcpy_write_ce: {size: 512MiB}   # and classes: {NV18: 1, PIX: 1} where limits differ by link class
  host_to_device_memcpy_ce: {cells: 2, size: 512MiB}
#
# limits.yaml, a file of its own: check, table, test case, cell: value, allowed under and over it as fractions, unit
# intranode_p2p:
#   sold:                        # sold@all: limits of a check between all nodes, where there are more than two
#     device_to_device_memcpy_write_ce:
#       'cell[NV18]': [380, 0, null, GB/s]          # of each cell of the link class; at least 380 GB/s
#     host_to_device_memcpy_ce:
#       'numa0->gpu0': [50, 0, null, GB/s]          # of one cell
#       'numa0->gpu1': [50, 0, null, GB/s]
"""
