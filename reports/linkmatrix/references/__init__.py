"""What cells should be: tables of references, measured noise, tolerances, published systems."""
