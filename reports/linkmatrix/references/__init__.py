"""Expected values of cells: tables of references, measured noise, tolerances, typical values, and published systems."""
