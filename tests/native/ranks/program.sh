#!/bin/sh
# The program under mpirun, as a user calls it: every test case between ranks, and ranks that stop, fail and die.
# usage: program.sh P2P_MATRIX MPIRUN RANKS REFUSING_SYSTEM
set -u
program=$1
mpirun=$2
ranks=$3
refusing_system=$4
test="program.sh with $ranks ranks"
. "$(dirname "$0")/../helpers.sh"

# expect CODE 'what it protects' OPTION…
expect() {
  wanted=$1
  what=$2
  shift 2
  rm -f "$work/r.json"
  # shellcheck disable=SC2086
  expect_of "$wanted" 100 "$what" "$mpirun" --oversubscribe ${launcher:-} -n "$ranks" "$program" --backend mpi \
    --record "$work/r.json" --samples 3 "$@"
}
# record_names FILE: whether the record has one of the processes in $work/FILE among others
record_names() {
  [ -s "$work/$1" ] && grep -qsF "$(sed 's/.*/"pid":&,/' "$work/$1")" "$work/r.json"
}
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
expect 0 "short samples" --testcase rank_to_rank_bandwidth_mpi,rank_to_rank_latency_mpi --size 4KiB --short-samples 12
[ "$(grep -o '"asked":12,"fewest":12,' "$work/r.json" | wc -l)" -eq 2 ] || fail "each cell of both must have 12 short samples"
expect 0 "isolated pairs" --testcase rank_to_rank_bandwidth_mpi --size 100003 --offset 3 --concurrency isolated
prints ', 1 pair measured concurrently; '
expect 0 "rounds, and what they lose against isolated pairs" --testcase rank_to_rank_bandwidth_mpi --size 4KiB \
  --concurrency rounds --window 8
[ "$ranks" -lt 4 ] || prints 'loss compared with isolated'

puts=rank_to_rank_put_bandwidth_mpi,rank_to_rank_put_bidirectional_mpi,rank_to_rank_put_latency_mpi
expect 0 "one-sided puts" --testcase $puts --size 16,20KiB
[ "$(grep -c "^verified: $all of $all cells$" "$work/out")" -eq 6 ] || fail "six matrices of puts must be verified"
! grep -q 'failed at first' "$work/out" || fail "puts must find the other rank's memory, however often it was made anew"
expect 1 "wrong data of puts both ways" --testcase rank_to_rank_put_bidirectional_mpi --simulate-fault corrupt:rank0

# an MPI without its components for them: Open MPI 4.1 over TCP is one
export OMPI_MCA_osc='^rdma,sm,pt2pt,ucx,monitoring'
expect 2 "puts by name, where the MPI has none, before anything is measured" \
  --testcase rank_to_rank_latency_mpi,rank_to_rank_put_latency_mpi
says 'rank_to_rank_put_latency_mpi cannot run here: .*this MPI cannot create a window'
! grep -q '^verified:' "$work/out" || fail "nothing is measured that ends in a refusal"
expect 0 "a suite without its puts, where the MPI has none" --suite full --size 1KiB
[ "$(grep -c '^verified: ' "$work/out")" -eq 3 ] || fail "the other three test cases of one node can run"
unset OMPI_MCA_osc

one=rank_to_rank_latency_mpi
# Other processes on the node: the record names them and has the processor time of each rank, and --refuse-busy refuses.
if [ "$ranks" -eq 2 ]; then
  begin_hogs
  attempt=0
  code=0
  until [ "$attempt" -eq 20 ] || grep -qs 'uses the node: pid' "$work/err"; do
    attempt=$((attempt + 1))
    expect 0 "latencies beside others" --testcase $one
    [ "$(grep -o '"of":"cpu"' "$work/r.json" | wc -l)" -eq 2 ] || fail "the record must have the processor time of each rank"
    timeout 100 "$mpirun" --oversubscribe -n 2 "$program" --testcase $one --refuse-busy --wait-idle 0.1 \
      </dev/null >"$work/out" 2>"$work/err"
    code=$?
  done
  what="ranks where others use the node (try $attempt)"
  code 3
  says '^p2p_matrix: another process uses the node: pid [0-9].*: wait longer with --wait-idle SECONDS'
  end_hogs

  # What started the ranks is the run's own, however much it computes; what that started beside them is another's.
  attempt=0
  until [ "$attempt" -eq 20 ] || record_names beside; do
    attempt=$((attempt + 1))
    rm -f "$work/above" "$work/beside"
    expect_of 0 100 "ranks that a script starts (try $attempt)" "$mpirun" --oversubscribe -n 2 \
      "$(dirname "$0")/started_by.sh" "$work" "$program" --record "$work/r.json" --samples 3 --testcase $one
    ! record_names above || fail "what started the ranks must not be among others"
  done
  record_names beside || fail "a process that computes beside the ranks must be among others"
fi

# what is refused is refused by any number of ranks
if [ "$ranks" -le 3 ]; then
  expect 2 "no test case of GPUs" --testcase device_to_device_memcpy_write_ce
  says 'rank_to_rank'
  expect 2 "no matrix of one node" --testcase node_to_node_bandwidth_mpi
  says 'on one node'
  expect 2 "no few matchings of one node" --testcase rank_to_rank_bandwidth_mpi --concurrency matchings
  says 'needs several nodes, and all ranks are on one'
  expect 2 "no bandwidth of nothing" --testcase rank_to_rank_bandwidth_mpi --size 0
  expect 2 "no drill for nobody" --testcase rank_to_rank_latency_mpi --simulate-fault hang:rank77
  says 'rank77'
  expect 2 "no drill on a way that is not measured" --testcase $one --simulate-fault 'error:rank0->rank0'
  says 'name another endpoint'
fi

# Each direction of a pair has half of the bytes and no more than all of the time.
if [ "$ranks" -eq 2 ]; then
  expect 0 "both directions" --testcase rank_to_rank_bidirectional_mpi --size 1MiB
  matrix() { sed -n "s/.*\"$1\":\({[^{}]*\"values\":\)*\[\[null,\([0-9.e+-]*\)\],\[\([0-9.e+-]*\),null\]\].*/\2 \3/p" "$work/r.json"; }
  echo "$(matrix values | cut -d' ' -f1) $(matrix one_direction)" |
    awk 'NF == 3 && $2 + $3 >= 0.999 * $1 && $1 > 0 { fine = 1 } END { exit !fine }' ||
    fail "the sum is no more than what its two directions carry: $(matrix values), $(matrix one_direction)"
fi

# Several processes without messages would write one record.
if [ "$ranks" -le 3 ]; then
  timeout 100 "$mpirun" --oversubscribe -n "$ranks" "$program" --backend host --record "$work/r.json" >"$work/out" 2>"$work/err"
  code=$?
  [ "$code" -eq 2 ] || fail "copies of a run without messages: exit code $code, not 2"
  [ "$(grep -c '^p2p_matrix: ' "$work/err")" -eq 1 ] || fail "one of the copies says why"
  says 'each would measure the same'
fi

# A system that gives no further thread but MPI's own: what only watches is done without.
if [ "$ranks" -eq 2 ] && ! grep -q __asan_init "$program"; then
  for first in 4 5 6; do
    what="no thread from number $first on"
    timeout 100 "$mpirun" --oversubscribe -n "$ranks" env LD_PRELOAD="$refusing_system" REFUSE_THREAD=$first "$program" \
      --testcase rank_to_rank_latency_mpi --samples 3 >"$work/out" 2>"$work/err"
    code=$?
    code 0
    prints '^Result: PASS$'
  done
fi

# Only the node of rank 0 needs the record's folder.
if [ "$ranks" -eq 2 ]; then
  mkdir -p "$work/here/folder" "$work/elsewhere"
  cat >"$work/start" <<END
#!/bin/sh
[ "\${OMPI_COMM_WORLD_RANK:-\${PMI_RANK:-0}}" -eq 0 ] && cd "$work/here" || cd "$work/elsewhere"
exec "$program" "\$@"
END
  chmod +x "$work/start"
  timeout 100 "$mpirun" --oversubscribe -n "$ranks" "$work/start" --testcase rank_to_rank_latency_mpi --samples 3 \
    --record folder/r.json >"$work/out" 2>"$work/err"
  code=$?
  [ "$code" -eq 0 ] && [ -s "$work/here/folder/r.json" ] || fail "a folder at rank 0 alone: exit code $code"
fi

expect 1 "wrong data" --testcase $one --simulate-fault corrupt:rank1
prints '^Result: FAIL$'
expect 0 "a slow rank" --testcase $one --simulate-fault slow:rank1
grep -q '"remeasured":\[\]' "$work/r.json" || grep -q '"controls":\[{' "$work/r.json" ||
  fail "what is measured again must have healthy pairs beside it"
expect 3 "a rank that fails" --testcase $one --simulate-fault error:rank1
prints '^Result: ERROR$'
grep -q '"label":"rank1","why":"simulated fault: the endpoint failed"' "$work/r.json" || fail "the record must say who failed"

expect 0 "what a device counts, asked of its rank" --testcase $one --simulate-fault counter:rank1
prints '^counter increased: .*:rank1 nvlink_replay 0 -> 5$'
expect 0 "what a device counts, at rank 0" --testcase $one --simulate-fault counter:rank0
prints '^counter increased: .*:rank0 nvlink_replay 0 -> 5$'

# Starts a long run in the background, and waits until it measures; sets mpirun_pid and victim, the last rank.
start() {
  rm -f "$work/r.json"
  : >"$work/out"
  # shellcheck disable=SC2086
  timeout 100 "$mpirun" --oversubscribe ${launcher:-} -n "$ranks" "$program" --record "$work/r.json" --samples "${samples:-60}" \
    --target-ci 0.001 --testcase rank_to_rank_bandwidth_mpi "$@" >"$work/out" 2>"$work/err" &
  mpirun_pid=$!
  victim=
  for _ in $(seq 200); do
    grep -q '^Link class' "$work/out" && victim=$(ranks_there | tail -n 1) && break
    sleep 0.1
  done
}
is_over() { grep -q '^Result: ' "$work/out"; }

# When to stop a rank: after so many seconds of measuring, or "look": when every cell has been measured once, and
# outliers and controls are measured again.
wait_until() {
  if [ "$1" != look ]; then
    sleep "$1"
    return
  fi
  for _ in $(seq 600); do
    [ "$(count ok)" -eq $all ] || is_over && break
    sleep 0.1
  done
}

# A rank that stops, for real: its row and column may be lost, everything else is measured, in bounded time.
# stopped WHEN OPTION…: a machine so fast that the run is over by then measures more.
stopped() {
  after=$1
  shift
  patience=2
  [ "$after" != look ] || patience=15  # on a busy machine no cell may time out but those of the rank that stops
  for samples in 60 400 2500; do
    start --pair-timeout $patience --max-time 90 "$@"
    wait_until "$after"
    [ -n "$victim" ] && kill -STOP "$victim"
    is_over || break
    [ -n "$victim" ] && kill -CONT "$victim"
    wait $mpirun_pid
  done
  samples=
  stopped_at=$(date +%s)
  wait $mpirun_pid
  code=$?
  [ -n "$victim" ] && kill -KILL "$victim" 2>/dev/null
  [ "$code" -eq 4 ] || [ "$code" -eq 3 ] || fail "a rank stopped ($after, $*): exit code $code, not 3 or 4"
  [ $(($(date +%s) - stopped_at)) -le 60 ] || fail "a rank stopped ($after, $*): the run must end in time"
  prints '^Result: TIMEOUT$\|^Result: ERROR$'
  grep -q 'does not answer' "$work/r.json" || fail "the record must say which rank is lost"
  [ "$(count ok)" -ge $((all - 2 * (ranks - 1))) ] || fail "$(count ok) cells measured, not all others ($after, $*)"
}
if [ "$ranks" -le 3 ]; then
  stopped 0.5 --concurrency isolated
fi
if [ "$ranks" -eq 3 ]; then
  stopped 2 --concurrency rounds
  stopped look --concurrency rounds
  [ "$(count ok)" -eq $all ] || fail "$(count ok) of $all cells: a rank that stops in the second look costs no result"
fi

# A rank that pauses for longer than a pair may take, and goes on: its pairs are measured when they are tried once more,
# but what was given up stays with MPI. Result and exit code agree, whatever the launcher thinks of such an end.
paused() {
  what="a rank that pauses and goes on"
  start --pair-timeout 1 --max-time 4 --concurrency isolated
  sleep 0.5
  [ -n "$victim" ] && kill -STOP "$victim"
  sleep 2
  [ -n "$victim" ] && kill -CONT "$victim"
  wait $mpirun_pid
  code=$?
  ! grep -q 'failed at first' "$work/r.json" || ! grep -q '"result":"PASS"' "$work/r.json" ||
    fail "$what: messages were given up, and it is a PASS"
  case $(sed -n 's/^Result: //p' "$work/out") in
    PASS) code 0 ;;
    ERROR) code 3 ;;
    TIMEOUT) code 4 ;;
    *) fail "$what: it must be a PASS, an ERROR or a TIMEOUT" ;;
  esac
}
if [ "$ranks" -eq 3 ]; then
  paused
fi

# A rank that is killed in the middle: the record is kept, whatever the launcher does about it.
killed() {
  start --concurrency isolated --pair-timeout 8 --max-time 20
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

# Rank 0 is killed, and the launcher leaves the others to themselves: they end without it.
orphaned() {
  what="rank 0 is killed under mpirun $launcher"
  start --concurrency isolated --pair-timeout 8 --max-time 90
  for pid in $(ranks_there 0); do
    kill -KILL "$pid"
  done
  for left in $(seq 60 -1 0); do
    [ -n "$(ranks_there)" ] || break
    sleep 1
  done
  [ "$left" -gt 0 ] || fail "$what: the other ranks must end within a minute"
  for pid in $(ranks_there); do
    kill -KILL "$pid"
  done
  wait $mpirun_pid
}
if [ "$ranks" -eq 3 ]; then
  for launcher in "--enable-recovery" "--with-ft ulfm"; do
    # shellcheck disable=SC2086
    ! "$mpirun" $launcher --version >/dev/null 2>&1 || orphaned
  done
fi

finish
