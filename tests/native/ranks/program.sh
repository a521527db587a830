#!/bin/sh
# The program under mpirun, as a user calls it: every test case between ranks, and ranks that sleep, fail and die.
# usage: program.sh P2P_MATRIX MPIRUN RANKS
set -u
program=$1
mpirun=$2
ranks=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0

fail() {
  failures=$((failures + 1))
  echo "FAILED: $1"
  tail -n 12 "$work/out" | sed 's/^/  out: /'
  tail -n 5 "$work/err" | sed 's/^/  err: /'
}

# expect CODE 'what it protects' OPTION…
expect() {
  wanted=$1
  what=$2
  shift 2
  rm -f "$work/r.json"
  # shellcheck disable=SC2086
  timeout 100 "$mpirun" --oversubscribe ${launcher:-} -n "$ranks" "$program" --backend mpi --record "$work/r.json" --samples 3 "$@" \
    >"$work/out" 2>"$work/err"
  code=$?
  [ "$code" -eq "$wanted" ] || fail "$what: exit code $code, not $wanted"
}
prints() { grep -q -- "$1" "$work/out" || fail "standard output must say '$1'"; }
says() { grep -q -- "$1" "$work/err" || fail "standard error must say '$1'"; }
count() { grep -o "\"$1\"" "$work/r.json" 2>/dev/null | wc -l; }

all=$((ranks * (ranks - 1)))
expect 0 "the suite quick" --size 64KiB
prints "^verified: $all of $all cells$"
prints '^Result: PASS$'
[ "$(grep -c '^verified: ' "$work/out")" -eq 3 ] || fail "on one node three test cases can run"

if [ "$ranks" -le 3 ]; then
  expect 0 "a sweep of latencies from empty messages on" --testcase rank_to_rank_latency_mpi --sweep 0:1KiB:32
  [ "$(grep -o '"testcase":' "$work/r.json" | wc -l)" -eq 4 ] || fail "0, 1, 32 and 1024 bytes are four results"
fi
expect 0 "isolated pairs" --testcase rank_to_rank_bandwidth_mpi --size 100003 --offset 3 --concurrency isolated
prints ', 1 pair at once; '
expect 0 "rounds, and what they lose against isolated pairs" --testcase rank_to_rank_bandwidth_mpi --size 4KiB \
  --concurrency rounds --window 8
[ "$ranks" -lt 4 ] || prints 'loss against isolated'

puts=rank_to_rank_put_bandwidth_mpi,rank_to_rank_put_bidirectional_mpi,rank_to_rank_put_latency_mpi
expect 0 "one-sided puts" --testcase $puts --size 16,20KiB
[ "$(grep -c "^verified: $all of $all cells$" "$work/out")" -eq 6 ] || fail "six matrices of puts must be verified"
! grep -q 'failed at first' "$work/out" || fail "puts must find the other rank's memory, however often it was made anew"
expect 1 "wrong data of puts both ways" --testcase rank_to_rank_put_bidirectional_mpi --simulate-fault corrupt:rank0

# what is refused is refused by any number of ranks
if [ "$ranks" -le 3 ]; then
  expect 2 "no test case of GPUs" --testcase device_to_device_memcpy_write_ce
  says 'rank_to_rank'
  expect 2 "no matrix of one node" --testcase node_to_node_bandwidth_mpi
  says 'on one node'
  expect 2 "no bandwidth of nothing" --testcase rank_to_rank_bandwidth_mpi --size 0
  expect 2 "no drill for nobody" --testcase rank_to_rank_latency_mpi --simulate-fault hang:rank77
  says 'rank77'
fi

one=rank_to_rank_latency_mpi
expect 1 "wrong data" --testcase $one --simulate-fault corrupt:rank1
prints '^Result: FAIL$'
expect 0 "a slow rank" --testcase $one --simulate-fault slow:rank1
grep -q '"remeasured":\[\]' "$work/r.json" || grep -q '"controls":\[{' "$work/r.json" ||
  fail "what is measured again must have healthy pairs beside it"
expect 3 "a rank that fails" --testcase $one --simulate-fault error:rank1
prints '^Result: ERROR$'
prints 'simulated fault: the device failed'
[ "$(count error)" -ge $((2 * (ranks - 1))) ] || fail "all cells of the rank that failed must say so"

expect 0 "what a device counts, asked of its rank" --testcase $one --simulate-fault counter:rank1
prints '^counter rose: .*:rank1 nvlink_replay 0 -> 5$'
expect 0 "what a device counts, at rank 0" --testcase $one --simulate-fault counter:rank0
prints '^counter rose: .*:rank0 nvlink_replay 0 -> 5$'

# A rank that sleeps: its row and column are marked, everything else is measured.
expect 4 "a rank that sleeps" --testcase $one --simulate-fault hang:rank1 --pair-timeout 1
prints '^Result: TIMEOUT$'
[ "$(count timeout)" -eq $((2 * (ranks - 1))) ] || fail "$(count timeout) cells marked, not those of one rank"
[ "$(count ok)" -eq $((all - 2 * (ranks - 1))) ] || fail "$(count ok) cells measured, not all others"

# A rank that is killed in the middle: the record is kept, whatever the launcher does about it.
killed() {
  rm -f "$work/r.json"
  # shellcheck disable=SC2086
  timeout 100 "$mpirun" --oversubscribe ${launcher:-} -n "$ranks" "$program" --record "$work/r.json" --samples 60 \
    --target-ci 0.001 --testcase rank_to_rank_bandwidth_mpi --concurrency isolated --pair-timeout 8 --max-time 20 \
    >"$work/out" 2>"$work/err" &
  mpirun_pid=$!
  victim=
  for _ in $(seq 200); do
    grep -q '^Link class' "$work/out" && victim=$(pgrep -f "^$program --record $work/r.json" | sort -n | tail -n 1) && break
    sleep 0.1
  done
  sleep 0.5
  [ -n "$victim" ] && kill -KILL "$victim"
  wait $mpirun_pid
  code=$?
  [ "$code" -ne 0 ] || fail "a rank was killed and the run ended with 0"
  grep -q '"result":"TIMEOUT"\|"result":"ERROR"' "$work/r.json" || fail "the record must be kept and say how it ended"
}
if [ "$ranks" -eq 3 ]; then
  killed
  # Open MPI 5 and later go on without the rank, if they are told so.
  if "$mpirun" --with-ft ulfm --version >/dev/null 2>&1; then
    launcher="--with-ft ulfm" killed
    [ "$(count ok)" -ge $((all - 2 * (ranks - 1))) ] || fail "$(count ok) cells measured beside those of the dead rank"
  fi
fi

echo "program.sh: $failures failed"
[ "$failures" -eq 0 ]
