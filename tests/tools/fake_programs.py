"""Shell scripts in the place of programs."""


def fake_program(path, *lines, shell="#!/bin/sh"):
    """Write an executable script of these lines, and return its path. Missing folders are created."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join([shell, *lines, ""]))
    path.chmod(0o755)
    return path
