"""linkmatrix reads records and ReFrame's results, and explains them. Only ReFrame runs jobs."""

__version__ = "0.2.0.dev0"
