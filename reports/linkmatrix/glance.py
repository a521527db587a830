"""What the slow cells of a matrix have in common, for the terminal and the page: `linkmatrix diagnose` at a glance."""

from .evaluate import MatrixVerdict, Verdict
from .explain import Judged, Result


def suspects(one: Judged, result: Result, matrix: MatrixVerdict) -> list[str]:
    """A sentence for each suspect; none where nothing failed and nothing lacks a verdict.

    Without references they are seen from inside the matrix, and say so. Where numpy is not installed there are none:
    `linkmatrix diagnose` says what it lacks.
    """
    if one.of_matrix(matrix) not in (Verdict.FAIL, Verdict.NO_VERDICT):
        return []
    try:
        from . import diagnose
    except ImportError:
        return []
    found = diagnose.diagnose(one.test.record or {}, result, matrix)
    seen = "seen from inside, without references: " if found.from_inside else ""
    return [f"{seen}{sentence}" for sentence in found.sentences]
