"""Records: what a program measured. Facts only; nothing here judges."""
