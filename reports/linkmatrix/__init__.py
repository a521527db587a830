"""linkmatrix reads records and ReFrame's results, and explains them. It never runs a job."""

__version__ = "0.2.0.dev0"
