"""`python -m linkmatrix`, for a shell without the command `linkmatrix` on PATH."""

import sys

from .cli import main

sys.exit(main())
