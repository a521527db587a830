"""linkmatrix reads records and ReFrame's results, and explains them. It never runs a job."""

__version__ = "0.1.0"
