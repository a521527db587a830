"""`python -m linkmatrix`, where the command itself is not on PATH."""

import sys

from .cli import main

sys.exit(main())
