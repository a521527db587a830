"""The table of metrics and the dashboard in docs/ contain the names, labels and numbers that the export writes."""

import json
import re
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from linkmatrix.judge.verdicts import Verdict
from linkmatrix.runs.judging import Judged
from linkmatrix.runs.testcases import Test
from linkmatrix.show import prometheus, words
from linkmatrix.show.analysis import Analysis

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGE = (DOCS / "monitoring.md").read_text(encoding="utf-8")
DASHBOARD = json.loads((DOCS / "grafana-dashboard.json").read_text(encoding="utf-8"))
NAME = re.compile(r"linkmatrix_\w+")
#: Metrics that every test case of a unit has.
UNITS = {
    "bandwidth_bytes_per_second": "bytes/s",
    "latency_seconds": "s",
    "compute_operations_per_second": "operations/s",
}


def documented():
    """{metric: its labels} in the table of the page."""
    rows = [line.split("|")[1:-1] for line in PAGE.splitlines() if line.startswith("| `linkmatrix_")]
    case = set(re.findall(r"`(\w+)`", re.search(r'^"case" stands for (.*?)\.', PAGE, re.MULTILINE)[1]))
    return {
        name.strip(" `"): set(re.findall(r"`(\w+)`", labels)) | (case if "case" in labels else set())
        for name, _, labels, _ in rows
    }


def unit_of(metric):
    """The unit of a metric in the table of the page."""
    return re.search(rf"^\| `linkmatrix_{metric}` \| ([^|]+) \|", PAGE, re.MULTILINE)[1]


def expressions():
    """The queries of the dashboard."""
    targets = [target["expr"] for panel in DASHBOARD["panels"] for target in panel["targets"]]
    return [*targets, *(one["query"] for one in DASHBOARD["templating"]["list"] if one["type"] == "query")]


def test_the_table_contains_every_metric_and_no_other():
    assert set(documented()) == {f"{prometheus.PREFIX}{metric}" for metric in prometheus.METRICS}


def test_units_are_those_of_the_names():
    assert {metric: unit_of(metric) for metric in UNITS} == UNITS
    assert {metric for metric, _ in prometheus.QUANTITIES.values()} == set(UNITS)


def test_exported_labels_are_documented(judged_run, make_record):
    record = make_record()
    record["partition"] = "hgx:gpu"
    text = prometheus.text(Analysis(*judged_run(record, reference="hgx")), [])
    labels = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            labels.setdefault(sample.name, set()).update(sample.labels)
    assert labels
    table = documented()
    assert {name: found - table[name] for name, found in labels.items()} == dict.fromkeys(labels, set())


def test_a_message_without_data_has_the_size_0(judged_run, make_record):
    record = make_record()
    for result in record["results"]:
        result["size_bytes"] = 0
    text = prometheus.text(Analysis(*judged_run(record)), [])
    cases = [sample for family in text_string_to_metric_families(text) for sample in family.samples]
    assert {sample.labels["size_bytes"] for sample in cases if "testcase" in sample.labels} == {"0"}


def test_a_node_without_a_record_is_the_host():
    """Otherwise all such nodes of a sweep share one series."""
    lost = [Judged(Test(name="a", testcase="x", node=node), Verdict.INCOMPLETE) for node in ("n1", "n2")]
    text = prometheus.text(Analysis(None, lost), [])
    assert [f'linkmatrix_verdict{{host="{node}",testcase="x"}} 4' in text for node in ("n1", "n2")] == [True, True]


def test_the_numbers_of_verdicts_are_documented():
    assert f"| {prometheus.NUMBERS} |" in PAGE


def test_every_panel_has_queries():
    assert all(panel["targets"] and all(one["expr"] for one in panel["targets"]) for panel in DASHBOARD["panels"])
    places = [(panel["gridPos"]["x"], panel["gridPos"]["y"]) for panel in DASHBOARD["panels"]]
    assert len(set(places)) == len(places) == len({panel["id"] for panel in DASHBOARD["panels"]})


@pytest.mark.parametrize("expression", expressions())
def test_a_query_contains_exported_names_and_labels_only(expression):
    names = set(NAME.findall(expression))
    assert names and names <= set(documented())
    labels = {label for name in names for label in documented()[name]}
    used = {name for part in re.findall(r"by \(([^)]*)\)", expression) for name in re.split(r",\s*", part)}
    used |= set(re.findall(r"[{,]\s*(\w+)\s*[=!]", expression))
    assert used <= labels


def test_legends_contain_labels_of_their_metric():
    for panel in DASHBOARD["panels"]:
        for target in panel["targets"]:
            (name,) = set(NAME.findall(target["expr"]))
            assert set(re.findall(r"\{\{(\w+)\}\}", target["legendFormat"])) <= documented()[name]


def test_every_metric_is_in_a_panel():
    shown = {name for panel in DASHBOARD["panels"] for one in panel["targets"] for name in NAME.findall(one["expr"])}
    assert shown == set(documented())


def test_numbers_are_mapped_to_their_verdicts():
    mappings = [panel["fieldConfig"]["defaults"].get("mappings", []) for panel in DASHBOARD["panels"]]
    found = [{int(key): one["text"] for key, one in mapping[0]["options"].items()} for mapping in mappings if mapping]
    assert len(found) == 2
    assert all(one == {int(verdict): words.WORDS[verdict] for verdict in words.ORDER} for one in found)


def test_alarms_contain_exported_names():
    assert set(NAME.findall(PAGE)) == set(documented())
