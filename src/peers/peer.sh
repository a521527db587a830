#!/bin/bash
# Runs a foreign program, quotes its output, and reports how it ended. Readers can therefore detect incomplete output:
#
#   peer.sh [--beside DIR] [--timeout SECONDS] [--topology] PROGRAM [OPTION…]
#
#   rank 0 on n1
#   program /usr/bin/nvbandwidth
#   topology
#   | output of nvidia-smi topo -m, with --topology
#   output
#   | output of the program
#   ended code=0
#   Result: PASS
#
# PROGRAM is searched in DIR first, then on PATH. A launcher may start several ranks: each prints its node, and rank 0
# prints the rest. The program ends after SECONDS (600), and when this script ends.
# Exit codes: 0 the program succeeded, 1 the program failed, 2 bad input, 5 the program is not installed.

set -u
beside='' limit=600 topology=''

# shellcheck disable=SC2086 # unset variables must disappear
first() { echo "${1:-0}"; }
# shellcheck disable=SC2086
rank=$(first ${PMIX_RANK:-} ${OMPI_COMM_WORLD_RANK:-} ${PMI_RANK:-} ${SLURM_PROCID:-})
node=$(uname -n)

tell() { # LINE: prints a line, on rank 0 only
  [ "$rank" != 0 ] || echo "$1"
}

give_up() { # CODE SENTENCE: reports an error and exits
  echo "peer: $node: $2" >&2
  tell "Result: FAIL"
  exit "$1"
}

while [ $# -gt 0 ]; do
  case $1 in
    --topology) topology=yes && shift && continue ;;
    --beside | --timeout) [ $# -ge 2 ] || give_up 2 "$1 needs a value" ;;&
    --beside) beside=$2 ;;
    --timeout) limit=$2 ;;
    --*) give_up 2 "unknown option $1" ;;
    *) break ;;
  esac
  shift 2
done
[ $# -gt 0 ] || give_up 2 "no program: name one, such as nvbandwidth"
case $limit in '' | 0* | *[!0-9]*) give_up 2 "--timeout $limit: use 1 or more seconds" ;; esac

name=$1
shift
program=$(PATH=${beside:+$beside:}$PATH command -v "$name")
echo "rank $rank on $node"
if [ -z "$program" ]; then
  echo "missing $name"  # on every rank, because MPI ends all ranks with the first
  give_up 5 "$name is not on PATH"
fi
tell "program $program"

with_us=() # command prefix: the program gets SIGTERM when its parent process ends
setpriv --pdeathsig TERM true 2>/dev/null && with_us=(setpriv --pdeathsig TERM)

if [ "$rank" != 0 ]; then # output goes to standard error; the longer limit lets rank 0 report the timeout
  "${with_us[@]}" timeout -k 5 $((limit + 10)) "${with_us[@]}" "$program" "$@" </dev/null >&2
  exit
fi

smi() { timeout -k 5 30 nvidia-smi "$@" 2>/dev/null; }

print_topology() { # only if the program sees all GPUs in the order of nvidia-smi
  local count every
  count=$(smi -L | grep -c '^GPU')
  every=$(seq -s, 0 $((count - 1)))
  [ "$count" -gt 0 ] && [ "${CUDA_VISIBLE_DEVICES:-$every}" = "$every" ] || return
  echo topology
  smi topo -m | sed 's/\x1b\[[0-9;]*m//g; s/^/| /' # removes escape codes
}
[ -z "$topology" ] || print_topology

echo output
# If the last line has no newline, "ended" is appended to it and does not count as a report.
"${with_us[@]}" timeout -k 5 "$limit" "${with_us[@]}" "$program" "$@" </dev/null | sed 's/^/| /'
code=${PIPESTATUS[0]}
echo "ended code=$code"
[ "$code" != 124 ] || give_up 1 "$name took more than $limit s"
[ "$code" = 0 ] || give_up 1 "$name ended with exit code $code"
echo "Result: PASS"
