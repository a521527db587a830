"""The progress that a run prints while the programs compile."""

import os

from linkmatrix.runs.reframe_output import compiled


def test_the_newest_build_counts_its_steps(tmp_path):
    assert compiled(tmp_path, 0) == ""
    for at, text in ((100, "[9/9] Linking\n"), (200, "-- Configuring done\n[1/19] Building a\n[7/19] Building b\n")):
        folder = tmp_path / "stage" / str(at) / "generic" / "default" / "builtin" / "build_linkmatrix_1a2b3c4d"
        folder.mkdir(parents=True)
        (folder / "rfm_build.out").write_text(text)
        os.utime(folder / "rfm_build.out", (at, at))
    assert compiled(tmp_path, 150) == ", 7 of 19"
    assert compiled(tmp_path, 250) == ""


def test_a_build_by_make_counts_no_steps(tmp_path):
    folder = tmp_path / "stage" / "1" / "generic" / "default" / "builtin" / "build_linkmatrix"
    folder.mkdir(parents=True)
    (folder / "rfm_build.out").write_text("[ 12%] Building CXX object a.o\n")
    assert compiled(tmp_path, 0) == ""
