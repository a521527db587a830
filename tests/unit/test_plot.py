import xml.etree.ElementTree as ElementTree

import pytest

from linkmatrix.judge.verdicts import Verdict
from linkmatrix.record.matrix import from_result
from linkmatrix.show import matrix_text, plot

PNG = b"\x89PNG\r\n\x1a\n"


@pytest.fixture
def parts(judged_run):
    """(result, its verdicts) of a record held against 'hgx'."""

    def judge(record):
        _, judged = judged_run(record, reference="hgx")
        return judged[0].matrices[0]

    return judge


def drawn(result, matrix):
    return plot.draw(result, matrix, matrix_text.common_scale([matrix.matrix]) or (0.0, 1.0)).axes[0]


def words(axes):
    return [text.get_text() for text in axes.texts]


def test_both_formats_are_whole_files(parts, make_record):
    record = make_record()
    pictures = plot.heat_map(record, *parts(record))
    assert pictures["png"].startswith(PNG) and pictures["png"].rstrip().endswith(b"IEND\xaeB`\x82")
    assert ElementTree.fromstring(pictures["svg"]).tag.endswith("svg")


@pytest.mark.parametrize("name", ["$_%", "$\\frac{1$", "a_b^{c", "\\", "Ω 節點 \U0001f600", "$$", "%d\x1b[0m\x00"])
def test_no_name_breaks_a_picture(parts, make_record, name):
    record = make_record(host=name, cpu=name)
    record["devices"][0]["name"] = name
    result, matrix = parts(record)
    result["quantity"] = name
    assert plot.heat_map(record, result, matrix)["png"].startswith(PNG)


def test_every_value_stands_in_its_cell_up_to_16_endpoints(parts, make_record):
    assert words(drawn(*parts(make_record(count=16)))).count("396.00") == 16 * 15
    assert "396.00" not in words(drawn(*parts(make_record(count=17))))


def test_what_is_missing_is_hatched_and_named(parts, make_record):
    axes = drawn(*parts(make_record(off={(0, 1): "timeout", (1, 0): "corrupt"})))
    assert len([patch for patch in axes.patches if patch.get_hatch()]) == 2
    assert "timeout" in words(axes) and "corrupt ✗" in words(axes)


def test_the_diagonal_is_grey_and_empty(parts, make_record):
    axes = drawn(*parts(make_record(count=3)))
    grey = plot.matplotlib.colors.to_rgba(plot.GREY)
    (picture,) = axes.images
    assert [tuple(picture.get_array()[at, at]) for at in range(3)] == [grey] * 3
    assert len(words(axes)) == 6


def test_a_failed_cell_has_a_frame_and_a_glyph(parts, make_record):
    axes = drawn(*parts(make_record(off={(0, 1): 300.0})))
    frames = [patch for patch in axes.patches if not patch.get_fill()]
    assert [frame.get_x() for frame in frames] == [pytest.approx(1.04)]
    assert "300.00 ✗" in words(axes)


def test_a_matrix_without_any_value_is_drawn(parts, make_record):
    pairs = {(row, column): "not-run" for row in range(4) for column in range(4) if row != column}
    record = make_record(off=pairs)
    assert matrix_text.common_scale(map(from_result, record["results"])) is None
    assert plot.heat_map(record, *parts(record))["png"].startswith(PNG)


def test_noise_does_not_fill_the_scale(make_record):
    low, high = matrix_text.common_scale(map(from_result, make_record(off={(0, 1): 395.9})["results"]))
    assert low < 360 and high > 430


def test_a_scale_reaches_every_value_of_the_matrices_that_share_it(make_record):
    results = [*make_record(off={(0, 1): 10.0})["results"], *make_record(value=440.0)["results"]]
    low, high = matrix_text.common_scale(map(from_result, results))
    assert low <= 10 and high >= 440


@pytest.mark.parametrize("position", [0.0, 0.25, 0.5, 0.75, 1.0])
def test_text_has_enough_contrast_on_every_colour(position):
    face = plot.matplotlib.colormaps["viridis"](position)
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in face[:3]]
    luminance = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    contrast = (luminance + 0.05) / 0.05 if plot.ink(face) == "black" else 1.05 / (luminance + 0.05)
    assert contrast >= 4.5  # WCAG 2, level AA


def test_the_same_matrix_gives_the_same_file(parts, make_record):
    record = make_record()
    assert plot.heat_map(record, *parts(record)) == plot.heat_map(record, *parts(record))


def test_the_title_says_what_where_and_how_it_ended(parts, make_record):
    record = make_record()
    result, matrix = parts(record)
    figure = plot.draw(result, matrix, (0.0, 400.0))
    plot.draw_title(figure, record, result, Verdict.FAIL)
    said = "\n".join(text.get_text() for text in figure.texts)
    for part in (
        "device_to_device_memcpy_write_ce",
        "✗ FAIL",
        "GB/s",
        "512 MiB",
        "row = source",
        "node001",
        "2026-11-21",
    ):
        assert part in said


def face_of(matrix, at):
    """The colour of a cell in the map of deviations."""
    (picture,) = plot.draw_deviations(matrix).axes[0].images
    return tuple(round(part, 3) for part in picture.get_array()[at][:3])


def test_a_deviation_has_the_same_colour_in_every_picture(parts, make_record):
    of_slow = parts(make_record(count=20, off={(0, 1): 356.4}))[1]
    of_slower = parts(make_record(count=20, off={(0, 1): 356.4, (2, 3): 100.0}))[1]
    assert face_of(of_slow, (0, 1)) == face_of(of_slower, (0, 1))
    assert face_of(of_slow, (5, 6)) == face_of(of_slower, (5, 6)) != face_of(of_slow, (0, 1))


def test_what_has_no_value_is_white_in_the_map_of_deviations_and_what_does_not_apply_grey(parts, make_record):
    matrix = parts(make_record(count=20, off={(0, 1): "timeout"}))[1]
    assert face_of(matrix, (0, 1)) == (1.0, 1.0, 1.0)
    assert face_of(matrix, (4, 4)) == tuple(round(one, 3) for one in plot.matplotlib.colors.to_rgb(plot.GREY))


def test_a_single_bad_cell_of_a_large_map_is_ringed(parts, make_record):
    axes = plot.draw_deviations(parts(make_record(count=130, off={(7, 9): 100.0}))[1]).axes[0]
    (rings,) = axes.collections
    assert rings.get_offsets().tolist() == [[9.5, 7.5]]
    assert not plot.draw_deviations(parts(make_record(count=130))[1]).axes[0].collections


def test_the_map_of_deviations_is_a_whole_file_in_both_formats(parts, make_record):
    record = make_record(count=20, off={(0, 1): 300.0})
    pictures = plot.deviation_map(record, *parts(record))
    assert pictures["png"].startswith(PNG) and ElementTree.fromstring(pictures["svg"]).tag.endswith("svg")
    assert pictures == plot.deviation_map(record, *parts(record))
