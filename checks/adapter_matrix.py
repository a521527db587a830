"""The check of messages between the network adapters of several nodes."""

import re
from collections import defaultdict
from dataclasses import replace

import reframe as rfm
from reframe.core.builtins import parameter

from linkmatrix.judge.verdicts import failed, missing

from .crossnode import crossnode_matrix
from .expect import rank_faults
from .rdma import adapter_groups

SCRIPT = "adapter_rank.sh"  # the build copies this script next to the programs
#: A line of the script about the bytes that an adapter moved.
REPORT = re.compile(
    r"\badapter host=(\S+) rank=(\d+) name=(\S+) sent=(\d+|unknown) received=(\d+|unknown)\s*$", re.MULTILINE
)


@rfm.simple_test
class adapter_matrix(crossnode_matrix):
    """Measures messages between the network adapters of nodes. Each adapter has its own rank.

    Each rank is bound to its adapter before MPI starts. The ``names`` in the partition's extras['adapters'] specify the
    adapters. The partition has the feature ``rdma`` or ``tcp``. The byte counters of each adapter must show the traffic
    of the adapter's rank. The name of the table of references ends with ``@adapters``.
    """

    testcase = parameter(
        ["rank_to_rank_bandwidth_mpi", "rank_to_rank_bidirectional_mpi", "rank_to_rank_latency_mpi"], loggable=True
    )

    descr = "messages between the network adapters of nodes"
    valid_systems = ["+rdma +mpi +crossnode", "+tcp +mpi +crossnode"]

    tags = {"crossnode", "rdma", "full"}
    quick_case = ""

    def adapter_names(self):
        """The names of a node's adapters, in the order of its ranks. Raises ReframeError for malformed extras."""
        return [name for group in adapter_groups(self.current_partition) for name in group.names]

    def prepare(self):
        named = len(self.adapter_names())
        self.skip_partition(named == 0, "does not name its adapters: set names in extras['adapters']")
        self.ranks = named
        super().prepare()
        self.add_variant("adapters")

    def job_request(self):
        return replace(super().job_request(), starter=(SCRIPT, "--adapters", ",".join(self.adapter_names())))

    def machine_faults(self):
        return rank_faults(self.record, self.nodes, self.num_tasks_per_node) + self.traffic_faults()

    def traffic_faults(self):
        """Reasons against PASS: a rank used an unexpected adapter, or an adapter moved fewer bytes than its rank."""
        reported = {int(rank): rest for host, rank, *rest in REPORT.findall(self.outputs()[1])}
        names, reasons = self.adapter_names(), []
        for rank, (sent, received) in enumerate(self.required_bytes()):
            label = self.record["devices"][rank]["label"]
            if rank not in reported:
                reasons += missing(f"{label} did not report the bytes of its adapter")
                continue
            name, *carried = reported[rank]
            wanted = names[rank % self.num_tasks_per_node]
            if name != wanted:
                reasons += missing(f"{label} used {name} instead of {wanted}")
            for direction, least, counted in zip(("sent", "received"), (sent, received), carried, strict=True):
                if counted == "unknown":
                    reasons += missing(f"{label}: the kernel does not count the bytes that {name} {direction}")
                elif int(counted) < least:
                    reasons += failed(
                        f"{label}: {name} {direction} {counted} bytes, but its rank {direction} at least {least} bytes:"
                        " the data used another path"
                    )
        return reasons

    def required_bytes(self):
        """[(bytes sent, bytes received)]: the minimum that the adapter of each rank must have moved.

        The minimum is the total size of the rank's messages between nodes, if each sample has a single message.
        """
        devices = self.record["devices"]
        nodes = {device["label"]: device["node"] for device in devices}
        sent, received = defaultdict(int), defaultdict(int)
        for result in self.record["results"]:
            both = result["metric"] == "bidirectional"
            for row, line in zip(result["rows"], result["samples"], strict=True):
                for column, samples in zip(result["columns"], line, strict=True):
                    if not samples or nodes[row] == nodes[column]:
                        continue
                    for one, other in [(row, column), *([(column, row)] if both else [])]:
                        sent[one] += samples * result["size_bytes"]
                        received[other] += samples * result["size_bytes"]
        return [(sent[device["label"]], received[device["label"]]) for device in devices]
