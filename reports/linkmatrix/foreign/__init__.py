"""What other programs print, as records: `linkmatrix import`.

Each program is a row of FORMATS in scan.py: the head line that its tables have, and a reader. A text may hold several
runs of several programs with prose between them; readers take their tables and leave the rest. What is defined:

* Rows are sources. Which axis a foreign table has as its source stands in the reader, with the place in the program's
  own source code that says so; what its head line says is not always true.
* A row with another number of cells than the table has columns, with a number of other decimals than its program
  prints, or whose mark for "itself" is not on the diagonal, is shifted or cut: none of its cells is believed. They are
  'not-run', as are the cells of a row that is not there; the record ends with ERROR and says which, in which line.
* 'N/A' and 'x' on the diagonal do not apply; elsewhere the program had no path between the two: 'no-peer-access'.
* A number that nothing can measure, such as 0.00 GB/s, is 'error'.
* A sum under a table that its numbers do not have means that a digit changed: the whole text is refused.

Nothing is guessed: sizes, dates, clocks and link classes that a text does not say stay unknown in the record.
"""
