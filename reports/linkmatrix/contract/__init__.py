"""Contracts: what was sold, frozen before the run, held against what was measured, and proven to both parties."""
