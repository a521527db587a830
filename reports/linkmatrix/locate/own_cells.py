"""The verdict of what a finding is about, by its own cells: a matrix may have failed for others."""

import numpy as np

from ..judge.evaluate import MatrixVerdict
from ..judge.rules import ORDER
from ..judge.verdicts import Verdict
from .families import Layout, members, named_family
from .hypotheses import Finding

#: What makes a cell fail, and makes nothing slow.
OTHERWISE = ("corrupt", "impossible", "intermittent")


def verdict_of(finding: Finding, matrix: MatrixVerdict, layout: Layout) -> Verdict:
    """Of what a search found in a matrix that is held."""
    family, group = named_family(layout, finding.kind, finding.subject)
    return worst_of(finding, members(family, group).reshape(layout.classes.shape), matrix)


def verdict_of_endpoint(finding: Finding, matrix: MatrixVerdict) -> Verdict:
    """Of what a few matchings say of an endpoint: of the cells that it sends, that it receives, or both."""
    cells = np.zeros((len(matrix.matrix.rows), len(matrix.matrix.columns)), dtype=bool)
    if not finding.kind.endswith("ingress"):
        cells[finding.subject, :] = True
    if not finding.kind.endswith("egress"):
        cells[:, finding.subject] = True
    return worst_of(finding, cells, matrix)


def worst_of(finding: Finding, cells: np.ndarray, matrix: MatrixVerdict) -> Verdict:
    """The worst verdict of these cells, as far as they are what was found: slow, or without a value."""
    if finding.allowed:
        return Verdict.WARN
    whole = matrix.whole
    if whole is None:
        return matrix.verdict
    has_value = np.isfinite(whole.observed) & ~np.isin(whole.rules, [ORDER[rule] for rule in OTHERWISE])
    own = cells & (whole.block.applies & ~np.isfinite(whole.block.measured) if finding.missing else has_value)
    least = Verdict.WARN if matrix.held else Verdict.NOT_JUDGED
    return Verdict(int(whole.codes[own].max(initial=least)))
