"""Readers for the output of other programs, which `linkmatrix import` converts into records.

FORMATS in scan.py has a row for each program: the header line of its tables, and a reader. A text may contain several
runs of several programs, with prose between them. Readers read tables and skip all other text.

Rules of all readers:

* The rows of a record are sources. Each reader cites the program's source code that defines which axis is the source.
  The header line of a table may be wrong.
* A row that may be shifted or cut is ignored. Such a row has a wrong number of cells, a wrong number of decimals, or
  the diagonal's mark in another column. The cells of ignored and missing rows become 'not-run'. The record then has
  the result ERROR. The error message contains the row and its line.
* 'N/A' and 'x' on the diagonal mean "does not apply". Other cells with these marks become 'no-peer-access': the two
  devices have no path to each other.
* An impossible number, such as 0.00 GB/s, becomes 'error'.
* If a printed sum differs from the sum of the numbers, a digit is wrong. The whole text is then refused.

Readers guess nothing. Sizes, dates, clocks and link classes that the text does not contain stay unknown in the record.
"""
