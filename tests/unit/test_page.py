import base64
import hashlib
import re
from html.parser import HTMLParser

import pytest

from linkmatrix.locate.next_steps import TOPICS
from linkmatrix.show import html, page
from linkmatrix.show.analysis import Analysis

PICTURE = b"\x89PNG"


def rendered(run_and_judged):
    return page.render(Analysis(*run_and_judged), lambda *_: PICTURE)


class Tags(HTMLParser):
    """All tags and attributes, as a browser sees them, and whether every tag is closed."""

    VOID = ("meta", "img", "br")

    def __init__(self, text):
        super().__init__()
        self.tags, self.attributes, self.open = [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def attack(make_record, count=4):
    evil = "<img src=x onerror=alert(1)>\"'</title><script>alert(2)</script>{{ 7 * 7 }}"
    record = make_record(count=count, host=evil, cpu=evil, off={(0, 1): "error"}, result="ERROR", error=evil)
    record["software"]["driver"] = evil
    record["command"] = [evil]
    for device in record["devices"]:
        device["name"] = device["uuid"] = evil
    record["results"][0].update(notes=[evil], quantity=evil)
    return record


@pytest.mark.parametrize("count", [4, 20])
def test_markup_from_a_machine_stays_text(judged_run, make_record, count):
    text = rendered(judged_run(attack(make_record, count), reason="<script>alert(3)</script>"))
    tags = Tags(text)
    assert "script" not in tags.tags
    assert not [name for name, _ in tags.attributes if name.startswith("on")]
    picture = "data:image/png;base64," + base64.b64encode(PICTURE).decode()
    assert {value for name, value in tags.attributes if name == "src"} == ({picture} if count > 16 else set())
    assert "&lt;img src=x onerror=alert(1)&gt;" in text and "{{ 7 * 7 }}" in text


def test_nothing_is_loaded_or_run(judged_run, make_record):
    text = rendered(judged_run(make_record()))
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', text)[1]
    assert "default-src 'none'" in policy and "unsafe" not in policy and "script-src" not in policy
    style = re.search(r"<style>(.*?)</style>", text, re.DOTALL)[1]
    assert base64.b64encode(hashlib.sha256(style.encode()).digest()).decode() in policy
    tags = Tags(text)
    assert not {"script", "link", "iframe", "object"} & set(tags.tags)
    assert "style" not in [name for name, _ in tags.attributes]
    assert "http://" not in text and "https://" not in text


def test_the_page_is_well_formed(judged_run, make_record):
    tags = Tags(rendered(judged_run(make_record(), make_record(off={(0, 1): 300.0}), reference="hgx")))
    assert tags.open == []
    names = [value for name, value in tags.attributes if name == "id"]
    assert len(names) == len(set(names)) and {"m0", "m1"} <= set(names)
    assert {"m0", "m1"} <= {value[1:] for name, value in tags.attributes if name == "href"} <= set(names)
    assert {value for name, value in tags.attributes if name == "aria-labelledby"} <= set(names)


def test_the_verdict_is_on_top(judged_run, make_record):
    text = rendered(judged_run(make_record(off={(0, 1): 300.0}), reference="hgx"))
    assert re.search(r"<title>FAIL: node001: 4 × NVIDIA H200</title>", text)
    assert text.index('class="word"') < text.index("<main>")


def test_every_cell_has_its_verdict_and_says_what_is_known(judged_run, make_record):
    text = rendered(judged_run(make_record(off={(0, 1): 300.0, (2, 3): "timeout"}), reference="hgx"))
    measured = text[text.index("<caption>Measured, GB/s") :]
    cells = re.findall(r'<td class="(pass|fail|incomplete|na)(?: a\d| gone)?"(?: title="([^"]*)")?>', measured)
    assert [name for name, _ in cells].count("pass") == 10
    assert [name for name, _ in cells].count("na") == 4
    titles = dict((name, title) for name, title in cells)
    assert "24.2 % under its reference 396.00" in titles["fail"] and "7 samples" in titles["fail"]
    assert "was not measured: timeout" in titles["incomplete"]


def test_a_cell_deviates_from_its_reference_and_else_from_its_class(judged_run, make_record):
    record = make_record(off={(0, 1): 356.4, (1, 0): 400.0})
    for reference, than in (("hgx", "their references"), (None, "the median of their link class")):
        text = rendered(judged_run(record, reference=reference))
        deviating = text[text.index(f"<caption>Deviation from {than}, %") : text.index("<caption>Measured")]
        assert re.search(r'<td class="(fail|not-judged) d0">-10\.0', deviating)
        assert re.search(r'<td class="(pass|not-judged) d3">\+1\.0', deviating)
        assert deviating.count(">0.0") >= 10 and "within 2 %" in deviating


def test_a_latency_that_is_longer_is_worse(judged_run, make_record):
    record = make_record(value=2.0, off={(0, 1): 2.6})
    record["results"][0].update(unit="us", metric="latency", quantity="copy latency")
    assert re.search(r'<td class="not-judged d0">\+30\.0', rendered(judged_run(record)))


def test_what_has_no_value_is_no_figure_in_either_map(judged_run, make_record):
    text = rendered(judged_run(make_record(off={(2, 3): "timeout"}), reference="hgx"))
    assert re.search(r'<td class="incomplete gone"[^>]*>timeout', text)
    assert re.search(r'<td class="incomplete gone">no value', text)


def test_a_test_case_without_record_is_listed_with_its_reason(judged_run):
    text = rendered(judged_run(None, result="fail", reason="build error: no compiler"))
    assert "build error: no compiler" in text and "FAIL" in text
    assert "There is no record" in text


def test_a_run_of_nothing_is_a_page_with_incomplete(judged_run):
    assert "INCOMPLETE" in rendered(judged_run())


def test_what_was_measured_and_with_what_is_said(judged_run, make_record):
    text = rendered(judged_run(make_record(), reference="hgx"))
    for fact in (
        "580.159.04",
        "cuda: copies",
        "2026-11-21 01:50:22 UTC",
        "data verified",
        "interference 0.05 %",
        "hgx",
    ):
        assert fact in text


@pytest.mark.parametrize(
    ("backend", "said"),
    [("host", "host memory of this machine, no GPU"), ("mpi", "4 MPI ranks on one node")],
)
def test_without_gpus_it_is_said_that_there_were_none(judged_run, make_record, backend, said):
    record = make_record()
    record["backend"] = backend
    assert f"<h1>node001: {said}</h1>" in rendered(judged_run(record))


def test_control_characters_are_not_in_the_page(judged_run, make_record):
    assert not re.search(
        r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", rendered(judged_run(make_record(host="a\x1b[1m\x00\u202eb")))
    )


def test_a_large_matrix_has_its_heat_map_and_no_table(judged_run, make_record):
    text = rendered(judged_run(make_record(count=64)))
    assert 'class="cells"' not in text and text.count("data:image/png") == 2  # deviations, and what was measured
    assert len(text) < 100_000


def test_what_was_measured_again_is_on_the_page_with_its_controls(judged_run, make_record):
    record = make_record(off={(2, 3): 350.0})
    result = record["results"][0]
    result["remeasured"] = [{"row": "gpu2", "column": "gpu3", "before": 349.0, "after": 350.0, "outcome": "reproduced"}]
    result["controls"] = [{"row": "gpu0", "column": "gpu1", "before": 396.0, "after": 397.0}]
    text = rendered(judged_run(record, reference="hgx"))
    assert "1 control cell: gpu0-&gt;gpu1 +0.3 %: unchanged" in text


@pytest.mark.parametrize(
    ("backend", "said"), [("cuda", "cpu, 8 cores, 1 NUMA node"), ("mpi", "cpu, 8 cores for rank 0, 1 NUMA node")]
)
def test_the_cores_of_a_rank_are_not_said_to_be_those_of_its_host(judged_run, make_record, backend, said):
    """It may be bound to one of 64."""
    assert said in rendered(judged_run(make_record() | {"backend": backend}))


def wrong(text):
    """The section "Findings and notes"."""
    return text[text.index('id="problems"') : text.index("</section>", text.index('id="problems"'))]


def test_a_finding_of_several_test_cases_is_listed_once_with_the_test_cases(judged_run, make_record):
    record = make_record(off={(0, 1): 300.0})
    other = make_record()["results"][0]
    record["results"] += [{**other, "testcase": f"other_{number}"} for number in range(6)]
    for result in record["results"][1:]:
        result["throttled"] = ["gpu0: power cap"]
    listed = wrong(rendered(judged_run(record)))
    assert listed.count("a device was throttled") == 1
    assert "test cases: other_0, other_1, other_2, other_3, other_4, other_5" in listed


def test_matrices_of_several_sizes_have_names_of_their_own(judged_run, make_record):
    record = make_record()
    record["results"].append({**record["results"][0], "size_bytes": 1 << 20})
    names = re.findall(r"<h2><span class=.badge[^\n]*</span> ([^<]*)</h2>", rendered(judged_run(record)))
    assert [name.rpartition(", ")[2] for name in names] == ["512 MiB", "1 MiB"]


def test_too_few_samples_in_several_test_cases_are_one_finding(judged_run, make_record):
    """A busy machine had twenty such sentences, one for each test, above what a verdict lacks."""
    runs = []
    for cells in (1, 3, 2):
        record = make_record()
        record["results"][0]["testcase"] = f"device_local_copy{cells}"
        for column in range(1, 1 + cells):
            record["results"][0]["samples"][0][column] = 3
        runs.append(judged_run(record))
    listed = wrong(page.render(Analysis(runs[0][0], [one for _, found in runs for one in found]), lambda *_: PICTURE))
    assert listed.count("<li>") == listed.count("too few samples") == 1
    assert all(f"device_local_copy{cells}" in listed for cells in (1, 2, 3))


def test_what_is_missing_stands_above_what_is_less_sure(judged_run, make_record):
    record = make_record(off={(0, 1): "timeout"})
    record["results"][0]["samples"][2][3] = 3
    record["results"][0]["throttled"] = ["gpu0: power cap"]
    listed = wrong(rendered(judged_run(record)))
    places = [listed.index(said) for said in ("was not measured", "was throttled", "too few samples")]
    assert places == sorted(places)


def of_many(make_record, count=20):
    """A record of many devices, one of which sends slowly; another one has other firmware."""
    record = make_record(count=count, off={(3, column): 352.4 for column in range(count) if column != 3})
    for device in record["devices"]:
        device["part"]["vbios"] = "96.00.61" if device["label"] == "gpu7" else "96.00.74"
    return record


def test_of_many_devices_the_odd_ones_stand_there_and_the_others_are_folded(judged_run, make_record):
    text = rendered(judged_run(of_many(make_record)))
    folded = text.index("<details><summary>All 20 devices</summary>")
    odd = text[text.index("<caption>Devices that differ</caption>") : folded]
    assert re.findall(r'<th scope="row">(.*?)</th><td>(.*?)</td>', odd) == [
        ("gpu3", "gpu3: slow out"),
        ("gpu7", "vbios is 96.00.61, most have 96.00.74"),
    ]
    assert text.count('<th scope="row">gpu19</th><td>', folded) == 1
    few = rendered(judged_run(of_many(make_record, count=8)))
    assert "<summary>All" not in few and "Devices that differ" not in few


def test_an_option_in_a_sentence_is_not_parted_at_the_end_of_a_line():
    text = html.whole_options(TOPICS["samples"][0])
    assert 'linkmatrix measure <span class="option">--samples</span> 31' in text
    assert html.whole_options("<b>--x</b> and a--b") == '&lt;b&gt;<span class="option">--x</span>&lt;/b&gt; and a--b'
    assert html.whole_options("say -S a=b") == 'say <span class="option">-S</span> a=b'


def test_rows_that_are_as_they_should_be_are_none_of_the_worst(judged_run, make_record):
    """Beside a row that lacks 8 % stood three that lack -0.0 %."""
    count = 20
    text = rendered(
        judged_run(make_record(count=count, off={(3, column): 364.3 for column in range(count) if column != 3}))
    )
    assert "worst rows (median of their cells, compared with the expected value): gpu3 -8.0 %</li>" in text
    assert re.search(r"worst columns .*: gpu\d+ with less than 0.1 %</li>", text) and "0.0 %</li>" not in text


def test_what_is_only_suspected_is_not_said_to_be_at_fault(judged_run, make_record):
    slow = make_record(count=8, off={(3, column): 352.4 for column in range(8) if column != 3})
    suspected, failed = rendered(judged_run(slow)), rendered(judged_run(slow, reference="hgx"))
    assert "<h2>What is suspect</h2>" in suspected and "What is at fault" not in suspected
    assert "<h2>What is at fault</h2>" in failed and "<h2>What was found</h2>" in rendered(
        judged_run(make_record(off={(0, 1): "timeout"}))
    )


def test_an_option_of_a_command_is_not_parted_at_the_end_of_a_line(judged_run, make_record):
    text = rendered(judged_run(make_record()))
    again = text[text.index("<summary>Run it again</summary>") :]
    assert 'p2p_matrix <span class="option">--testcase</span> device' in again[: again.index("</pre>")]
    assert text.count('p2p_matrix <span class="option">--testcase</span>') == 1, "the whole run has the same command"


def test_of_test_cases_without_a_verdict_those_that_lack_a_value_stand_first(judged_run, make_record):
    record = make_record()
    record["results"].append({**make_record(off={(0, 1): "timeout"})["results"][0], "testcase": "lacks_a_value"})
    record["result"] = "ERROR"
    text = rendered(judged_run(record))
    listed = text[text.index('id="cases"') : text.index('id="problems"')]
    assert listed.index("lacks_a_value") < listed.index("device_to_device_memcpy_write_ce")
