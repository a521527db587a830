"""The programs that `build` makes."""

#: Those that measure. They have the same options of a process, and say what others did meanwhile.
BUILT = ("p2p_matrix", "collective_perf", "nbody_scaling")
