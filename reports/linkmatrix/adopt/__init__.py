"""Proposes references from stored runs, and writes adopted references to a file."""
