"""A record of one matrix between the GPUs of a node, for tests that change it."""

TESTCASE = "device_to_device_memcpy_write_ce"


def one_record(count=4, value=396.0, off=None, host="node001", cpu="cpu", result=None, error=None):
    """A record with one matrix of `count` × `count` cells.

    value: GB/s of each cell. off: {(row, column): number, or a status word}. result: the program's result; by default
    it follows from the statuses: FAIL for corrupt data, ERROR for missing cells, else PASS.
    """
    labels = [f"gpu{index}" for index in range(count)]
    off = off or {}

    def square(diagonal, cell):
        return [[diagonal if r == c else cell(r, c) for c in range(count)] for r in range(count)]

    def status(r, c):
        return off[r, c] if isinstance(off.get((r, c)), str) else "ok"

    def number(r, c):
        return {"ok": off.get((r, c), value), "corrupt": value, "partial": value / 2}.get(status(r, c))

    words = {word for word in off.values() if isinstance(word, str)}
    complete = words <= {"no-peer-access"}
    classes = square("X", lambda r, c: "NV18")
    matrix = {
        "testcase": TESTCASE,
        "metric": "bandwidth",
        "quantity": "bandwidth",
        "direction": "write",
        "engine": "ce",
        "kernel": None,
        "memory": "device",
        "transport": "direct",
        "peer_access": "on",
        "unit": "GB/s",
        "size_bytes": 1 << 29,
        "rows": labels,
        "columns": labels,
        "values": square(None, number),
        "status": square("not-applicable", status),
        "low": square(None, number),
        "high": square(None, number),
        "samples": square(None, lambda r, c: 7 if number(r, c) else 0),
        "converged": square(None, lambda r, c: True if number(r, c) else None),
        "round": square(None, lambda r, c: (r + c) % 6 if number(r, c) else None),
        "began": square(None, lambda r, c: 0.05 * r if number(r, c) else None),
        "ended": square(None, lambda r, c: 0.05 * r + 0.05 if number(r, c) else None),
        "sampled": square([], lambda r, c: [number(r, c)] * 7 if number(r, c) else []) if count <= 64 else None,
        "link_class": classes,
        "limit": square(None, lambda r, c: 450),
        "parts": {},
        "verified": "corrupt" not in words,
        "timing": "gate",
        "clock_uncertainty_us": 1.5,
        "schedule": {"mode": "rounds", "rounds": 6, "pairs_at_once": 2, "interference": 0.0005, "witnessed": 6},
        "remeasured": [],
        "seconds": 0.4,
        "complete": complete,
        "notes": [],
    }
    devices = [
        {"index": i, "label": name, "name": "NVIDIA H200", "uuid": None, "pci": None, "node": "node001"}
        | {"numa": 0, "nics": [], "part": {"serial": f"165{i}"}, "place": {"node": "node001", "slot": str(i)}}
        for i, name in enumerate(labels)
    ]
    return {
        "schema": "linkmatrix.record/2",
        "program": "p2p_matrix",
        "version": "0.1.0",
        "started": "2026-11-21T01:50:22Z",
        "seconds": 1.5,
        "phases": [],
        "command": ["p2p_matrix", "--testcase", TESTCASE],
        "backend": "cuda",
        "host": {"name": host, "cpu": cpu, "cores": 8, "numa": 1},
        "nodes": [
            {"name": host, "machine": "a1b2", "serial": None, "product": "HGX", "kernel": "6.1.0", "boot": "c3d4"}
        ],
        "adapters": [
            {"name": "mlx5_0", "state": "ACTIVE", "rate": "400 Gb/sec (4X NDR)", "link_layer": "InfiniBand", "numa": 0}
            | {"part": {"guid": "b8ce:f603:0012:3456"}, "place": {"node": host, "pci": "0000:18:00.0", "port": "1"}}
        ],
        "devices": devices,
        "topology": {
            "labels": labels,
            "link_class": classes,
            "links": square(0, lambda r, c: 18),
            "peer_access": square(True, lambda r, c: True),
            "min_path": square(0, lambda r, c: 1),
        },
        "software": {"driver": "580.159.04", "CUDA": "13.0"},
        "asked_by": None,
        "expected": [],
        "lost": [],
        "results": [matrix],
        "result": result or ("PASS" if complete else "FAIL" if "corrupt" in words else "ERROR"),
        "error": error,
        "notes": [],
    }
