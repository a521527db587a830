#!/bin/sh
# slow.sh COMMAND…: runs it where LINKMATRIX_SLOW is set; elsewhere it is skipped, and says so as GoogleTest does.
[ -z "${LINKMATRIX_SLOW:-}" ] || exec "$@"
echo "$0:4: Skipped"
echo "it is slow: LINKMATRIX_SLOW=1 make test runs it too"
exit 77
