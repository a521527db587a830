"""What a build may be used for again."""

import importlib

on_path = importlib.import_module("linkmatrix_checks.build").on_path


def tool(folder, text="#!/bin/sh\n"):
    folder.mkdir()
    path = folder / "mpicxx"
    path.write_text(text)
    path.chmod(0o755)
    return path


def test_a_build_is_of_the_mpi_that_path_gives_first(tmp_path, monkeypatch):
    one, other = tool(tmp_path / "one"), tool(tmp_path / "other")
    monkeypatch.setenv("PATH", f"{one.parent}:{other.parent}")
    first = on_path("mpicxx")
    assert [path for path, _ in first] == [str(one)]
    monkeypatch.setenv("PATH", f"{other.parent}:{one.parent}")
    assert on_path("mpicxx") != first


def test_a_build_is_not_of_an_mpi_that_was_replaced_in_its_place(tmp_path, monkeypatch):
    path = tool(tmp_path / "one")
    monkeypatch.setenv("PATH", str(path.parent))
    first = on_path("mpicxx")
    path.unlink()
    path.parent.rmdir()
    tool(path.parent, "#!/bin/bash\n")
    assert on_path("mpicxx") != first


def test_a_build_knows_an_mpi_by_the_file_that_a_link_leads_to(tmp_path, monkeypatch):
    real = tool(tmp_path / "openmpi-5")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "mpicxx").symlink_to(real)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    ((path, _),) = on_path("mpicxx", "", "no-such-compiler")
    assert path == str(real)
