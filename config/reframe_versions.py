"""The versions of ReFrame that linkmatrix is tested with: schedulers.py and others change its inside."""

import re

TESTED = (4, 10)  # and all of its patch releases


def fault(version):
    """Why linkmatrix does not go with this version of ReFrame, in a sentence; "" if it does."""
    match = re.match(r"(\d+)\.(\d+)", version)
    if match and (int(match[1]), int(match[2])) == TESTED:
        return ""
    tested = ".".join(map(str, TESTED))
    return (
        f"linkmatrix is tested with ReFrame {tested}, and changes what is inside of it; this is ReFrame {version}:"
        f" pip install 'reframe-hpc=={tested}.*', or a newer linkmatrix"
    )
