#!/bin/bash
# Runs a foreign program and reports how it ended, so that its output cannot be mistaken for more:
#
#   peer.sh [--beside DIR] [--timeout SECONDS] [--topology] PROGRAM [OPTION…]
#
#   rank 0 on n1
#   program /usr/bin/nvbandwidth
#   topology
#   | what nvidia-smi topo -m printed, with --topology
#   output
#   | what the program printed
#   ended code=0
#   Result: PASS
#
# PROGRAM is searched in DIR first, then on PATH. A launcher may start several ranks: each prints its node, and the first
# rank prints the rest. Programs end after SECONDS (600) and with this script.
# Exit codes: 0 the program ended with 0, 1 it did not, 2 bad input, 5 it is not installed here.

set -u
beside='' limit=600 topology=''

# shellcheck disable=SC2086 # an unset variable is no word
first() { echo "${1:-0}"; }
# shellcheck disable=SC2086
rank=$(first ${PMIX_RANK:-} ${OMPI_COMM_WORLD_RANK:-} ${PMI_RANK:-} ${SLURM_PROCID:-})
node=$(uname -n)

tell() { # LINE, of the first rank
  [ "$rank" != 0 ] || echo "$1"
}

give_up() { # CODE SENTENCE
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
  echo "missing $name"  # of each rank: MPI ends the others with the first
  give_up 5 "$name is not on PATH"
fi
tell "program $program"

with_us=() # it ends when what started it does, however that ends
setpriv --pdeathsig TERM true 2>/dev/null && with_us=(setpriv --pdeathsig TERM)

if [ "$rank" != 0 ]; then # what it prints is no part of the first one's tables, who is to say that time is over
  "${with_us[@]}" timeout -k 5 $((limit + 10)) "${with_us[@]}" "$program" "$@" </dev/null >&2
  exit
fi

smi() { timeout -k 5 30 nvidia-smi "$@" 2>/dev/null; }

how_connected() { # as the program counts GPUs: only where it sees all of them in this order
  local count every
  count=$(smi -L | grep -c '^GPU')
  every=$(seq -s, 0 $((count - 1)))
  [ "$count" -gt 0 ] && [ "${CUDA_VISIBLE_DEVICES:-$every}" = "$every" ] || return
  echo topology
  smi topo -m | sed 's/\x1b\[[0-9;]*m//g; s/^/| /' # it underlines its head
}
[ -z "$topology" ] || how_connected

echo output
# a last line without its end takes the next one with it, which then does not say that it ended
"${with_us[@]}" timeout -k 5 "$limit" "${with_us[@]}" "$program" "$@" </dev/null | sed 's/^/| /'
code=${PIPESTATUS[0]}
echo "ended code=$code"
[ "$code" != 124 ] || give_up 1 "$name took more than $limit s"
[ "$code" = 0 ] || give_up 1 "$name ended with exit code $code"
echo "Result: PASS"
