"""Detects the devices, the scheduler and the Spack of a machine, and reads system files."""
