"""Simulated records of machines with network adapters."""

from linkmatrix.record import reading


def with_adapters(record, each=1):
    """The record with one adapter per `each` devices, behind the same switch; half of them per NUMA node."""
    devices = record["devices"]
    for at, device in enumerate(devices):
        device |= {"pci": f"0000:{at:02x}:00.0", "numa": 2 * at // len(devices)}
    ports = []
    for first in range(0, len(devices), each):
        near = [device["pci"] for device in devices[first : first + each]]
        gpus = [
            {"pci": device["pci"], "link_class": "PXB" if device["pci"] in near else "SYS", "bridges": 1}
            | {"nearest": device["pci"] in near}
            for device in devices
        ]
        place = {"node": "node001", "pci": f"0000:{first:02x}:01.0", "port": "1"}
        port = {"name": f"mlx5_{first // each}", "state": "ACTIVE", "rate": "400 Gb/sec (4X NDR)", "gpus": gpus}
        port |= {"link_layer": "InfiniBand", "numa": devices[first]["numa"], "part": {}, "place": place}
        ports.append(port)
    record["adapters"] = ports
    reading.check(record)
    return record
