"""The ReFrame checks: one module per type of link or property of a machine, and modules that the checks share."""
