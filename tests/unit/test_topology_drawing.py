"""The drawing of a machine on the page: what its record says of how it is connected, and what is at fault."""

from html.parser import HTMLParser
from pathlib import Path

import pytest
from adapter_records import with_adapters

from linkmatrix.judge.verdicts import Verdict
from linkmatrix.record import reading
from linkmatrix.show import machine, machine_drawing, page
from linkmatrix.show.analysis import Analysis

DATA = Path(__file__).parents[1] / "data"
SLOW = 352.4


def with_classes(record, classes):
    """The record with {(a, b): link class} of pairs; others are NODE."""
    count = len(record["devices"])
    known = classes | {(b, a): name for (a, b), name in classes.items()}
    square = [["X" if a == b else known.get((a, b), "NODE") for b in range(count)] for a in range(count)]
    record["topology"]["link_class"] = record["results"][0]["link_class"] = square
    return record


class Drawn(HTMLParser):
    """Texts, marked parts and places of the shapes of a page's drawings."""

    def __init__(self, text):
        super().__init__()
        self.size, self.alt, self.texts, self.marked, self.boxes, self.inside = (0, 0), "", [], [], [], ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        classes = (attributes.get("class") or "").split()
        if tag == "svg" and "topology" in classes:
            self.size = (int(attributes["width"]), int(attributes["height"]))
            self.alt = attributes["aria-label"]
        elif self.size != (0, 0) and tag in ("rect", "path", "text"):
            self.inside = tag
            if "at-fault" in classes:
                self.marked.append(classes[0])
            if tag == "rect":
                x, y, width, height = (int(attributes[name]) for name in ("x", "y", "width", "height"))
                self.boxes.append((classes[0], x, y, x + width, y + height))

    def handle_endtag(self, tag):
        self.inside = "" if tag == "text" else self.inside

    def handle_data(self, data):
        if self.inside == "text":
            self.texts.append(data)


@pytest.fixture
def drawn(judged_run):
    """Draws a record on a page: (the page, what is drawn)."""

    def draw(record, reference=None):
        text = page.render(Analysis(*judged_run(record, reference=reference)), lambda *_: b"")
        return text, Drawn(text)

    return draw


@pytest.mark.parametrize("count", [2, 4, 8])
def test_every_device_and_adapter_is_named_and_nothing_is_cut_off(drawn, make_record, count):
    _, found = drawn(with_adapters(make_record(count=count)))
    names = [f"gpu{at}" for at in range(count)] + [f"mlx5_{at}" for at in range(count)]
    assert set(names) <= set(found.texts) and all(name in found.alt for name in names)
    assert found.texts.count("PCIe switch") == count
    assert {"NUMA node 0", "NUMA node 1"} <= set(found.texts)
    width, height = found.size
    assert all(0 <= x < right <= width and 0 <= y < bottom <= height for _, x, y, right, bottom in found.boxes)


@pytest.mark.parametrize(("count", "each"), [(8, 1), (8, 2), (16, 2), (16, 4)])
def test_no_two_parts_of_a_kind_overlap(drawn, make_record, count, each):
    _, found = drawn(with_adapters(make_record(count=count), each))
    for kind in ("device", "adapter", "switch", "socket"):
        boxes = sorted((x, right) for name, x, _, right, _ in found.boxes if name == kind)
        assert len(boxes) == {"device": count, "socket": 2}.get(kind, count // each)
        assert all(right <= x for (_, right), (x, _) in zip(boxes, boxes[1:], strict=False)), kind


def test_devices_of_one_class_with_all_others_are_a_mesh_and_others_pairs(make_record):
    found = machine.machine_from(make_record(count=4))
    assert [(one.link_class, len(one.labels)) for one in found.meshes] == [("NV18", 4)] and found.pairs == ()
    ring = with_classes(make_record(count=4), {(0, 1): "NV2", (1, 2): "NV2", (2, 3): "NV2", (0, 3): "NV2"})
    found = machine.machine_from(ring)
    assert found.meshes == () and len(found.pairs) == 4
    assert "NODE: 2 pairs, inside a node" in machine.class_lines(ring)


def test_devices_behind_one_switch_are_found_without_adapters(make_record):
    record = with_classes(make_record(count=4), {(0, 1): "PIX", (2, 3): "PXB"})
    (node,) = machine.machine_from(record).nodes
    groups = [group for socket in node.sockets for group in socket.groups if group.devices]
    assert [(group.devices, group.switch) for group in groups] == [(("gpu0", "gpu1"), True), (("gpu2", "gpu3"), True)]


def test_a_slow_device_is_marked_with_a_word_and_a_glyph(drawn, make_record):
    text, found = drawn(make_record(off={(3, column): SLOW for column in range(3)}), reference="hgx")
    assert found.marked == ["device"]
    assert "✗ gpu3" in found.texts and "slow out" in found.texts
    assert "marked: gpu3, slow out" in found.alt
    assert text.index('id="topology"') < text.index('id="cases"'), "what is at fault stands first"


def test_a_slow_link_is_marked_between_its_ends(drawn, make_record):
    _, found = drawn(make_record(off={(1, 2): SLOW, (2, 1): SLOW}), reference="hgx")
    assert found.marked == ["arc"]
    assert "✗ slow" in found.texts


def test_a_class_that_is_slow_as_a_whole_marks_what_connects_it(drawn, make_record):
    every = {(row, column): SLOW for row in range(4) for column in range(4) if row != column}
    _, found = drawn(make_record(off=every), reference="hgx")
    assert found.marked == ["bar"]
    assert "NV18: all pairs of 4 devices, ✗ slow" in found.texts and "no part of the drawing" not in found.alt


def test_a_healthy_machine_has_no_mark_and_stands_behind_its_test_cases(drawn, make_record):
    text, found = drawn(make_record(), reference="hgx")
    assert found.marked == [] and "gpu3" in found.texts
    assert text.index('id="topology"') > text.index('id="cases"')


def test_a_missing_cell_is_marked(drawn, make_record):
    _, found = drawn(make_record(off={(0, 1): "timeout"}), reference="hgx")
    assert found.marked == ["arc"] and any("no value" in text for text in found.texts)


def test_above_16_endpoints_a_sentence_stands_in_its_place(drawn, make_record):
    text, found = drawn(make_record(count=17))
    assert found.size == (0, 0)
    assert "no drawing, because 17 endpoints are more than 16" in text and "NV18: every pair" in text
    assert drawn(make_record(count=16))[1].size != (0, 0)


@pytest.mark.parametrize("count", [40, 300])
def test_the_sentence_stands_too_where_a_record_leaves_its_topology_out(judged_run, make_record, count):
    record = make_record(count=4)
    record["devices"] = [{**record["devices"][0], "label": f"gpu{at}", "index": at} for at in range(count)]
    record["topology"] = {"labels": [one["label"] for one in record["devices"]]} | dict.fromkeys(
        ("link_class", "links", "peer_access", "min_path"), []
    )
    (one,) = machine_drawing.drawings(Analysis(None, judged_run(record)[1]))
    assert (
        one["left_out"].startswith(f"no drawing, because {count} endpoints are more than 16") and one["classes"] == []
    )


def test_an_adapter_that_is_down_says_so_and_far_ones_of_many_are_left_out_in_words(drawn, make_record):
    record = with_adapters(make_record())
    record["adapters"][1]["state"] = "DOWN"
    far = [{**record["adapters"][0], "name": f"eth{at}", "gpus": []} for at in range(20)]
    record["adapters"] = [*far, *record["adapters"]]
    text, found = drawn(record)
    assert "down" in found.texts and {f"mlx5_{at}" for at in range(4)} <= set(found.texts)
    assert "8 adapters of node001 not drawn, because no device is near" in text


def test_hostile_names_stay_text(drawn, make_record):
    record = with_adapters(make_record())
    record["adapters"][0]["name"] = "<script>alert(1)</script>"
    text, _ = drawn(record)
    assert "<script" not in text and "&lt;script" in text


@pytest.mark.parametrize("name", ["h200x4_full", "h200x4_gate_failed", "hosts2_pairs", "slurm3_nodes", "cpu2_nbody"])
def test_records_of_real_runs_are_drawn(judged_run, name):
    record = reading.load(DATA / f"{name}.record.json")
    (one,) = machine_drawing.drawings(Analysis(None, judged_run(record)[1]))
    devices = [shape for shape in one["shapes"] if shape.style.split()[0] == "device"]
    assert len(devices) == len(record["devices"])
    nodes = [shape for shape in one["shapes"] if shape.style.split()[0] == "node"]
    assert len(nodes) == len({device["node"] for device in record["devices"]})


def test_a_record_that_says_nothing_of_links_is_not_drawn(judged_run, make_record):
    record = with_classes(make_record(), {})
    record["topology"]["link_class"] = [["X" if a == b else "" for b in range(4)] for a in range(4)]
    assert machine_drawing.drawings(Analysis(None, judged_run(record)[1])) == []


@pytest.mark.parametrize("name", ["mlx5_bond_{}", "rocep{:03}s0f1np1", "an_adapter_of_thirty_letters_{}"])
@pytest.mark.parametrize(("count", "each"), [(2, 1), (8, 1), (8, 2), (16, 1), (16, 4)])
def test_names_of_adapters_are_not_cut_and_have_room_in_their_boxes(drawn, make_record, name, count, each):
    record = with_adapters(make_record(count=count, off={(1, column): SLOW for column in range(count)}), each)
    names = [name.format(at) for at in range(len(record["adapters"]))]
    for port, called in zip(record["adapters"], names, strict=True):
        port["name"] = called
    _, found = drawn(record, reference="hgx")
    assert set(names) <= set(found.texts) and not [text for text in found.texts if "…" in text]
    widths = {right - x for kind, x, _, right, _ in found.boxes if kind == "adapter"}
    assert min(widths) >= 6 * max(map(len, names))
    for kind in ("device", "adapter", "switch", "socket"):
        boxes = sorted((x, right) for name, x, _, right, _ in found.boxes if name == kind)
        assert all(right <= x for (_, right), (x, _) in zip(boxes, boxes[1:], strict=False)), kind
    assert max(right for _, _, _, right, _ in found.boxes) <= found.size[0]


def test_a_name_of_a_hundred_letters_keeps_its_ends_and_is_written_out_below(drawn, make_record):
    record = with_adapters(make_record())
    record["adapters"][1]["name"] = name = "first" + "x" * 90 + "final"
    text, found = drawn(record)
    (cut,) = [text for text in found.texts if "…" in text]
    assert cut.startswith("first") and cut.endswith("final") and found.size[0] < 2000
    assert f"{cut} is {name}" in text


def test_the_name_of_a_node_has_room_in_its_box(drawn, make_record):
    record = make_record(count=4)
    for device, node in zip(record["devices"], ("gpu-n1.cluster.example", "gpu-n2.cluster.example") * 2, strict=True):
        device["node"] = node
    _, found = drawn(record)
    nodes = [(x, right) for kind, x, _, right, _ in found.boxes if kind == "node"]
    assert len(nodes) == 2 and min(right - x for x, right in nodes) >= 7 * len("gpu-n1.cluster.example")


def marks(judged_run, record, reference=None, **test):
    analysis = Analysis(*judged_run(record, reference=reference, **test))
    return machine.merged_marks(analysis, analysis.judged)


def test_a_suspect_is_not_drawn_as_failed_for_a_cell_that_failed_elsewhere(judged_run, make_record):
    off = {(3, column): SLOW for column in range(8) if column != 3}
    (alone,) = marks(judged_run, make_record(count=8, off=off))
    assert (alone.component, alone.verdict) == ("gpu3", Verdict.NOT_JUDGED)
    both = {mark.component: mark for mark in marks(judged_run, make_record(count=8, off=off | {(5, 6): 500.0}))}
    assert both["gpu3"].verdict is Verdict.NOT_JUDGED
    assert (both["gpu5->gpu6"].verdict, both["gpu5->gpu6"].word) == (Verdict.FAIL, "too fast")


def test_what_has_no_value_is_not_drawn_as_failed_for_what_is_slow_elsewhere(judged_run, make_record):
    off = {(2, column): SLOW for column in range(4)} | {(row, 1): "timeout" for row in range(4)}
    off |= {(1, column): "timeout" for column in range(4)}
    found = {mark.component: mark for mark in marks(judged_run, make_record(off=off), "hgx")}
    assert found["gpu2"].verdict is Verdict.FAIL and found["gpu2"].word == "slow out"
    assert found["gpu1"].verdict is Verdict.INCOMPLETE and found["gpu1"].word == "no value"


def test_a_test_that_failed_for_what_no_cell_says_makes_no_suspect_fail(judged_run, make_record):
    record = make_record(count=8, off={(3, column): SLOW for column in range(8) if column != 3})
    (mark,) = marks(judged_run, record, result="fail", reason="sanity error: gpu9 is gone")
    assert (mark.component, mark.verdict) == ("gpu3", Verdict.NOT_JUDGED)


def test_wrong_data_is_drawn_where_it_arrived_beside_what_is_slow(judged_run, make_record):
    off = {(3, column): SLOW for column in range(8) if column != 3} | {(5, 6): "corrupt"}
    found = {mark.component: mark for mark in marks(judged_run, make_record(count=8, off=off))}
    assert (found["gpu5->gpu6"].verdict, found["gpu5->gpu6"].word) == (Verdict.FAIL, "wrong data")
    assert found["gpu3"].verdict is Verdict.NOT_JUDGED


def test_a_cell_without_a_value_is_drawn_beside_what_is_slow(judged_run, make_record):
    found = {
        mark.component: mark for mark in marks(judged_run, make_record(off={(1, 2): SLOW, (0, 3): "timeout"}), "hgx")
    }
    assert (found["gpu0->gpu3"].verdict, found["gpu0->gpu3"].word) == (Verdict.INCOMPLETE, "no value")
    assert found["gpu1->gpu2"].verdict is Verdict.FAIL
