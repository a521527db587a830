"""The search for the faulty component: hypotheses that explain the slow cells, and sentences about the hypotheses."""
