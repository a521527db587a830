"""Stored results (reports, records, the index, flagged components), and the execution of ReFrame."""
