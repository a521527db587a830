"""Checks as ReFrame has them after a run, for tests of what they report about a record."""

import copy
import importlib
from types import SimpleNamespace

from reasons import said


def checks(name):
    """A module of checks/. tests/conftest.py defines the package."""
    return importlib.import_module(f"linkmatrix_checks.{name}")


def after_run(check, record, testcase, *methods, extras=None, features=(), **fields):
    """A stand-in for a test of a check that measured a record.

    methods: further methods of the check that the stand-in needs. fields: attributes, or replacements of methods.
    """
    run = SimpleNamespace(
        testcase=testcase,
        record=record,
        measured_pairs=check.measured_pairs,
        engine=check.engine,
        share=check.share,
        current_partition=SimpleNamespace(features=features, extras=extras or {}),
        **fields,
    )
    for method in ("machine_faults", "size_faults", "axes", *methods):
        if not hasattr(run, method):
            setattr(run, method, getattr(check, method).__get__(run))
    return run


def fault_sentences(check, record, testcase, *methods, change=None, **fields):
    """The sentences of a check about a copy of a record that change(record) has damaged. fields: as in `after_run`."""
    record = copy.deepcopy(record)
    if change:
        change(record)
    return said(check.faults(after_run(check, record, testcase, *methods, **fields)))
