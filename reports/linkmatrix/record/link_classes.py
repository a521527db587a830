"""The link classes between two endpoints: names, meanings, and their order from the best to the worst."""

import re

UNKNOWN = "unknown"  # the class of a pair whose path is unknown
NO_CLASS = ""  # the class of a pair without an adopted class
BETWEEN_NODES = "NET"
#: {class inside a node, named as in nvidia-smi: its path}, from the best to the worst.
PCI_MEANINGS = {
    "PIX": "over one PCIe bridge at most",
    "PXB": "over several PCIe bridges, and no host bridge",
    "PHB": "over a PCIe host bridge, which is a part of the processor",
    "NODE": "inside a node",
    "SYS": "between NUMA nodes, over the link of the processors",
}
PCI_CLASSES = tuple(PCI_MEANINGS)
ONE_SWITCH = ("PIX", "PXB")  # paths without a host bridge
#: Classes without direct links, from the best to the worst. Direct links are better than all of them.
LINK_ORDER = (*PCI_CLASSES, BETWEEN_NODES)
MEANINGS = {
    **PCI_MEANINGS,
    BETWEEN_NODES: "between nodes, over the network",
    "CORE": "between cores of one NUMA node",
}
#: Types of direct links. A class is a type and a number of links, such as "NV18".
DIRECT_TYPES = ("NV", "ICN")
DIRECT = re.compile(rf"({'|'.join(DIRECT_TYPES)})(\d{{1,4}})")
