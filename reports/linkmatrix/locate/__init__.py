"""Which part is at fault: hypotheses over the slow cells, and sentences about them."""
