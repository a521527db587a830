"""Records of sweeps between ranks that measured what a benchmark of OSU published."""

import copy

import published_references

from linkmatrix.references import published

OWN = {"latency": "node_to_node_latency_mpi", "multi_lat": "node_to_node_latency_mpi"}
OWN |= {"bw": "node_to_node_bandwidth_mpi", "mbw_mr": "node_to_node_bandwidth_mpi"}


def published_sizes(system, osu):
    """{bytes: value} of a published benchmark of OSU."""
    tables = [one for one in published.load(system).tables if one.testcase == osu]
    return {one.size_bytes: value for one in tables for value in one.cells.values()}


def sweep(make_record, osu="osu_bw_hh", system="abci:anode", ranks=8, times=1.0, asked_by=None):
    """A record of two nodes of `ranks` that measured what OSU's benchmark published there, `times` as much."""
    content = make_record(count=2, value=1.0)
    (first,) = content["results"]
    match = published_references.NAME.fullmatch(osu)
    pairs, latency = int(match["pairs"] or 1), "lat" in match["test"]
    nodes = ["n1", "n2"]
    device = content["devices"][0]
    content["devices"] = [
        {**device, "index": at, "label": f"{node}:rank{at}", "node": node, "place": {"node": node}, "part": {}}
        for at, node in enumerate(node for node in nodes for _ in range(ranks))
    ]
    labels = [one["label"] for one in content["devices"]]
    square = [[None] * len(labels) for _ in labels]
    content["topology"] = {
        "labels": labels,
        "link_class": [["" if one else "" for one in row] for row in square],
        "links": square,
        "peer_access": square,
        "min_path": square,
    }
    classes = [["X", "NET"], ["NET", "X"]]
    first |= {"testcase": OWN[match["test"]], "engine": "mpi", "transport": "mpi", "peer_access": None}
    first |= {"rows": nodes, "columns": nodes, "link_class": classes, "limit": [[None] * 2] * 2}
    first |= {"memory": "device" if match["buffers"] == "dd" else "host"}
    if latency:
        first |= {"unit": "us", "metric": "latency", "quantity": "copy latency"}
    if pairs < ranks:
        first["pairs"] = pairs
    content |= {"backend": "mpi", "expected": [first["testcase"]], "asked_by": asked_by, "results": []}
    content["software"] = {"MPI": "Open MPI v4.1.4"}
    for size, value in published_sizes(system, osu).items():
        result = copy.deepcopy(first)
        cells = [[None, value * times], [value * times, None]]
        result |= {"size_bytes": size, "values": cells, "low": cells, "high": cells, "verified": size > 0 or None}
        result["sampled"] = [[[], [value * times] * 7], [[value * times] * 7, []]]
        content["results"].append(result)
    return content


def asked(pairs, testcase="node_to_node_bandwidth_mpi", more="", check="crossnode_pairs"):
    """The name of a test."""
    return f"{check} %testcase={testcase} %pairs={pairs}{more}"
