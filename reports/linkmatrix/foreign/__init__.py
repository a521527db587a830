"""Readers for the output of other programs, which `linkmatrix import` converts into records.

Each program has a row in FORMATS in scan.py: the head line of its tables, and a reader. A text may contain several runs
of several programs, with prose between them. Readers take their tables and skip everything else.

Rules that all readers follow:

* The rows of a record are sources. The reader of a program knows which axis of its table is the source, and cites the
  place in the program's source code. The head line of a table is not always right about it.
* A row is ignored if it can be shifted or cut: a wrong number of cells, a wrong number of decimals, or a mark for
  "itself" away from the diagonal. Its cells become 'not-run', as do the cells of a missing row. The record then ends
  with ERROR and names the row and its line.
* 'N/A' and 'x' on the diagonal mean "does not apply". Elsewhere the program had no path between the two devices:
  'no-peer-access'.
* An impossible number, such as 0.00 GB/s, becomes 'error'.
* A printed sum that differs from the sum of the numbers means that a digit changed: the whole text is refused.

Nothing is guessed. Sizes, dates, clocks and link classes that the text does not contain stay unknown in the record.
"""
