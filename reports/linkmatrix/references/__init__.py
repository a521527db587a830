"""Expected values of cells: tables of references, measured noise, tolerances, and published systems."""
