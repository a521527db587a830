"""Search of the component at fault: hypotheses that explain the slow cells, and sentences about them."""
