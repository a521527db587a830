import base64
import hashlib
import re
from html.parser import HTMLParser

import pytest

from linkmatrix.show import page

PICTURE = b"\x89PNG"


def rendered(run_and_judged):
    return page.render(*run_and_judged, lambda *_: PICTURE)


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


def attack(make_record):
    evil = "<img src=x onerror=alert(1)>\"'</title><script>alert(2)</script>{{ 7 * 7 }}"
    record = make_record(host=evil, cpu=evil, off={(0, 1): "error"}, result="ERROR", error=evil)
    record["software"]["driver"] = evil
    record["command"] = [evil]
    for device in record["devices"]:
        device["name"] = device["uuid"] = evil
    record["results"][0].update(notes=[evil], quantity=evil)
    return record


def test_markup_from_a_machine_stays_text(judged_run, make_record):
    text = rendered(judged_run(attack(make_record), reason="<script>alert(3)</script>"))
    tags = Tags(text)
    assert "script" not in tags.tags
    assert not [name for name, _ in tags.attributes if name.startswith("on")]
    assert {value for name, value in tags.attributes if name == "src"} == {
        "data:image/png;base64," + base64.b64encode(PICTURE).decode()
    }
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
    assert len(names) == len(set(names)) == 2
    assert {value[1:] for name, value in tags.attributes if name == "href"} == set(names)


def test_the_verdict_is_on_top(judged_run, make_record):
    text = rendered(judged_run(make_record(off={(0, 1): 300.0}), reference="hgx"))
    assert re.search(r"<title>FAIL: node001: 4 × NVIDIA H200</title>", text)
    assert text.index('class="word"') < text.index("<main>")


def test_every_cell_has_its_verdict_and_says_what_is_known(judged_run, make_record):
    text = rendered(judged_run(make_record(off={(0, 1): 300.0, (2, 3): "timeout"}), reference="hgx"))
    cells = re.findall(r'<td class="(pass|fail|no-verdict|na)"(?: title="([^"]*)")?>', text)
    assert [name for name, _ in cells].count("pass") == 10
    assert [name for name, _ in cells].count("na") == 4
    titles = dict((name, title) for name, title in cells)
    assert "24.2 % under its reference 396.00" in titles["fail"] and "7 samples" in titles["fail"]
    assert "was not measured: timeout" in titles["no-verdict"]


def test_a_test_case_without_record_is_listed_with_its_reason(judged_run):
    text = rendered(judged_run(None, result="fail", reason="build error: no compiler"))
    assert "build error: no compiler" in text and "FAIL" in text
    assert "There is no record" in text


def test_a_run_of_nothing_is_a_page_with_no_verdict(judged_run):
    assert "NO VERDICT" in rendered(judged_run())


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
    assert 'class="cells"' not in text and "data:image/png" in text
    assert len(text) < 100_000


def test_what_was_measured_again_is_on_the_page_with_its_controls(judged_run, make_record):
    record = make_record(off={(2, 3): 350.0})
    result = record["results"][0]
    result["remeasured"] = [{"row": "gpu2", "column": "gpu3", "before": 349.0, "after": 350.0}]
    result["controls"] = [{"row": "gpu0", "column": "gpu1", "before": 396.0, "after": 397.0}]
    text = rendered(judged_run(record, reference="hgx"))
    assert "beside them 1 control cell: gpu0-&gt;gpu1 +0.3 %: as before" in text


@pytest.mark.parametrize(
    ("backend", "said"), [("cuda", "cpu, 8 cores, 1 NUMA node"), ("mpi", "cpu, 8 cores for rank 0, 1 NUMA node")]
)
def test_the_cores_of_a_rank_are_not_said_to_be_those_of_its_host(judged_run, make_record, backend, said):
    """It may be bound to one of 64."""
    assert said in rendered(judged_run(make_record() | {"backend": backend}))
