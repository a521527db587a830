#!/bin/sh
# Two ranks of which one has a fault that only the other one can see: a wrong clock, or wrong data in one sample of many.
# usage: faults.sh P2P_MATRIX MPIRUN FAULTY_RANK_LIBRARY
set -u
program=$1
mpirun=$2
faulty_rank=$3
test="faults.sh"
. "$(dirname "$0")/../helpers.sh"

bandwidth=rank_to_rank_bandwidth_mpi
# run_ranks VARIABLE=VALUE OPTION…: two ranks with a fault
run_ranks() {
  fault=$1
  shift
  rm -f "$work/r.json"
  timeout 100 "$mpirun" --oversubscribe -n 2 env LD_PRELOAD="$faulty_rank" FAULTY_RANK="$rank" "$fault" \
    "$program" --record "$work/r.json" --samples 7 "$@" </dev/null
}

# measure CODE 'what it protects' VARIABLE=VALUE OPTION…: what these ranks must end with
measure() {
  wanted=$1
  what=$2
  shift 2
  run_ranks "$@" >"$work/out" 2>"$work/err"
  code=$?
  code "$wanted"
}

for rank in 0 1; do
  for testcase in $bandwidth rank_to_rank_bidirectional_mpi rank_to_rank_latency_mpi; do
    measure 3 "a clock at a tenth of its rate at rank$rank, $testcase" CLOCK_RATE=0.1 --testcase $testcase
    prints '^Result: ERROR$'
    says 'clocks disagree: rank'
    [ "$(grep -c 'rank[01]->.*rank[01]: clocks disagree: rank[01] measured [0-9.e-]* s, rank[01] [0-9.e-]* s' "$work/out")" -ge 1 ] ||
      fail "$what: a note must name both ranks and what they measured"
    grep -q '"values":\[\[null,null\],\[null,null\]\]' "$work/r.json" || fail "$what: no cell has a value"
  done
  # Load hides so small a disagreement from some samplings of a cell. One sampling that shows the disagreement decides.
  what="a clock that is 7 % slow at rank$rank"
  run_ranks CLOCK_RATE=0.93 --testcase rank_to_rank_put_bandwidth_mpi >"$work/out" 2>"$work/err"
  code=$?
  ! grep -q 'clocks disagree' "$work/r.json" || code 3
  measure 0 "a clock that is 4 % slow at rank$rank" CLOCK_RATE=0.96 \
    --testcase $bandwidth,rank_to_rank_latency_mpi,rank_to_rank_put_bandwidth_mpi

  # the first steps warm up, the seventh is a sample with others before and after it
  for step in 1 7; do
    measure 1 "wrong data of rank$rank in step $step" WRONG_STEP=$step --testcase $bandwidth --size 64KiB
    prints '^Result: FAIL$'
    [ "$(grep -o '"corrupt"' "$work/r.json" | wc -l)" -eq 1 ] || fail "$what: one cell is corrupt"
    measure 1 "puts of rank$rank that write nothing in step $step" WRONG_STEP=$step --size 64KiB \
      --testcase rank_to_rank_put_bandwidth_mpi
    [ "$(grep -o '"corrupt"' "$work/r.json" | wc -l)" -eq 1 ] || fail "$what: one cell is corrupt"
  done
done
measure 0 "wrong data that nobody is asked to find" WRONG_STEP=7 --testcase $bandwidth --size 64KiB --no-verify

finish
