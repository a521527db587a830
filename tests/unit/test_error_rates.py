"""The error rates in the docs are those of the code."""

import math
import re
from pathlib import Path

import pytest

from linkmatrix.judge import intermittent
from linkmatrix.judge.rules import RULES
from tests.benchmarks import error_rates

TEXT = (Path(__file__).resolve().parents[2] / "docs" / "evidence.md").read_text(encoding="utf-8")
RUNS = 200


def documented():
    """{(rule, fault): (false alarms, power)} of the table, in %."""
    table = TEXT.split(error_rates.HEAD)[1].split("\n\n")[0]
    found = re.findall(r"^\| ([^|]+) \| ([^|]+) \| ([\d.]+) \| ([\d.]+) \|$", table, re.MULTILINE)
    return {(rule, fault): (float(alarms), float(power)) for rule, fault, alarms, power in found}


def test_computed_rates_are_those_of_the_docs():
    assert {row.text() for row in error_rates.computed()} <= set(TEXT.splitlines())


@pytest.mark.parametrize("rows", [error_rates.of_samples, error_rates.of_warnings])
def test_simulated_rates_are_those_of_the_docs(rows):
    known = documented()
    for row in rows(RUNS):
        for told, now in zip(known[row.rule, row.fault], (row.false_alarms, row.power), strict=True):
            assert is_near(now, told), row


def test_rates_with_other_noise_are_those_of_the_docs():
    table = TEXT.split(error_rates.OTHER_NOISE)[1].split("\n\n")[0]
    known = dict(re.findall(r"^\| ([^|]+) \| ([\d.]+) \|$", table, re.MULTILINE))
    for row in error_rates.of_other_noise(RUNS):
        assert is_near(row.false_alarms, float(known[row.fault])), row


def is_near(now, told):
    """Whether a simulated rate differs from that of the docs by chance only; both in %."""
    share = min(max(told / 100, 0.005), 0.995)
    return abs(now - told) <= 100 * 4 * math.sqrt(share * (1 - share) / RUNS)


def test_each_rule_has_a_row_or_compares_facts():
    rules = {rule for rule, _ in documented()}
    assert rules | error_rates.FACTS | {"as expected"} == {*RULES}
    assert not rules & error_rates.FACTS


def test_acceptance_meets_its_aims_between_gpus_and_has_few_false_alarms_everywhere():
    found = {fault: rates for (rule, fault), rates in documented().items() if rule == "intermittent"}
    assert all(alarms <= 0.1 for alarms, _ in found.values())
    powers = [power for fault, (_, power) in found.items() if fault.endswith("GPUs")]
    assert len(powers) == 4 and min(powers) >= 99


def test_priors_are_those_of_the_docs():
    for prior in (intermittent.GPU_MEMORY, intermittent.HOST_LINKS, intermittent.OTHER_PRIOR):
        assert re.search(rf"\| {100 * prior.rate:g} % \| {prior.samples:,} samples \|", TEXT)
