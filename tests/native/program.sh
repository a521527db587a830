#!/bin/sh
# The program as a user calls it, on the host back end: exit codes, one-sentence complaints, records that are whole.
# usage: program.sh P2P_MATRIX
set -u
program=$1
test=program.sh
. "$(dirname "$0")/helpers.sh"

# expect CODE 'what it protects' OPTION…
expect() {
  wanted=$1
  what=$2
  shift 2
  expect_of "$wanted" 60 "$what" "$program" "$@"
}

small="--backend host --size 4MiB --samples 3"

expect 0 "help" --help && prints '--simulate-fault'
expect 0 "list" --list && prints '^device_to_device_memcpy_write_ce '
expect 0 "limits" --limits && prints 'NVLink 4'
expect 0 "version" --version && prints '^linkmatrix p2p_matrix [0-9]'

for bad in "--testcase nonsense" "--suite nonsense" "--size 0" "--size 4MB" "--devices 99" "--devices x" \
  "--nonsense" "--record /no/such/folder/r.json" "--simulate-fault slow" "--simulate-fault slow:gpu77" \
  "--testcase rank_to_rank_latency_mpi" "--backend nonsense" "--size 1024GiB" "--size 1KiB --sweep 1KiB:2KiB" \
  "--sweep 2KiB:1KiB" "--random-sizes 2" "--random-sizes=" "--blocks 0" "--threads 33" "--limit NV18" "--host-memory some" \
  "--testcase device_local_copy,device_local_copy" "--suite quick --engine ce" "--wait-idle 0" "--wait-idle soon" \
  "--ignore-processes hog" "--ignore-processes :root" "--soak 0" "--soak soon" "--soak 1d" "--soak 1m --budget 5"; do
  # shellcheck disable=SC2086
  expect 2 "bad input: $bad" $small $bad
  one_line
  says '^p2p_matrix: '
done

# What does nothing in a run is refused before anything is measured, with the reason and the remedy (test_options.cpp has
# all options).
ce="--testcase device_to_device_memcpy_write_ce"
sm="--testcase device_to_device_memcpy_write_sm"
while IFS='|' read -r option run why; do
  # shellcheck disable=SC2086
  expect 2 "nothing to do for $option" $run $option
  one_line
  says "^p2p_matrix: ${option%% *} does nothing in this run: .*$why"
  ! grep -q '^verified' "$work/out" || fail "$option must be refused before anything is measured"
done <<EOF
--window 8|--backend host $ce|under mpirun
--blocks 1,2|--backend host $sm|only GPU kernels
--simulate-fault corrupt:cpu1|--backend host $ce --no-verify|without --no-verify
--simulate-fault error:numa0|--backend host $ce|no measured transfer can have the fault 'error:numa0'
--simulate-fault hang:cpu0->cpu1|--backend host --testcase host_to_device_memcpy_ce|name another endpoint
--simulate-fault corrupt:numa0|--backend host --testcase host_to_device_memcpy_ce|no measured transfer
--simulate-fault flip:cpu1|--backend host $ce|.flip.: with --soak
--simulate-fault reorder:cpu1|--backend host $ce|no measured transfer can have the fault .reorder:cpu1.
--record $work/r.json|--list|omit the option
EOF

# Copies of the program that mpirun started would all write one record: refused, and the first one says so.
for rank in 0 3; do
  # shellcheck disable=SC2086
  env OMPI_COMM_WORLD_SIZE=5 OMPI_COMM_WORLD_RANK=$rank "$program" $small >"$work/out" 2>"$work/err"
  code=$?
  what="copies that mpirun started, rank $rank"
  code 2
  [ "$rank" -ne 0 ] || says 'without mpirun'
  [ "$rank" -eq 0 ] || [ ! -s "$work/err" ] || fail "one of the copies says why"
done

# Without a GPU the back end cuda says what is missing: itself, where it was not built in, or else the driver.
if timeout 60 "$program" --backend cuda >"$work/out" 2>"$work/err"; then
  prints '^Result: PASS$'
else
  one_line
  grep -Eq 'LINKMATRIX_CUDA=ON|no NVIDIA (driver|GPU)' "$work/err" || fail "the back end cuda must say what is missing"
fi

expect 0 "a measured and verified matrix" $small --testcase device_to_device_memcpy_write_ce --record "$work/r.json"
prints '^device_to_device_memcpy_write_ce: bandwidth (GB/s), 4194304 bytes, row = source, column = destination$'
prints '^Result: PASS$'
grep -q '"result":"PASS"' "$work/r.json" || fail "the record must say PASS"

# A record is UTF-8, also where an argument is not.
latin1=$(printf 'caf\351')
expect 0 "an argument in Latin-1" $small --testcase device_to_device_memcpy_write_ce --devices 0,1 --record "$work/$latin1.json"
iconv -f UTF-8 -t UTF-8 "$work/$latin1.json" >/dev/null || fail "a record must be UTF-8"

# Every option does what it says, on the host back end; the record has each result.
one="--testcase device_to_device_memcpy_write_ce --devices 0,1"
results() { grep -o '"testcase":' "$work/r.json" | wc -l; }
try() {
  count=$1
  shift
  # shellcheck disable=SC2086
  expect 0 "options: $*" --backend host --samples 3 "$@" --record "$work/r.json"
  [ "$(results)" -eq "$count" ] || fail "$*: $(results) results in the record, not $count"
}
try 3 $one --size 1KiB,64KiB,1MiB
prints '^device_to_device_memcpy_write_ce: bandwidth (GB/s), 1024 bytes, row'
try 4 $one --sweep 1MiB:8MiB:2
try 5 $one --random-sizes 5:1KiB:64KiB --seed 3
cp "$work/out" "$work/first"
try 5 $one --seed 3 --random-sizes 5:1KiB:64KiB
[ "$(grep -o '[0-9]* bytes, row' "$work/first")" = "$(grep -o '[0-9]* bytes, row' "$work/out")" ] ||
  fail "the same seed must give the same sizes"
one="$one --size 4MiB"
try 1 $one --offset 4097 && prints '4194304 bytes, offset 4097, row'
try 1 $one --short-samples 66
grep -q '"short_samples":{"asked":66,"fewest":66,' "$work/r.json" || fail "each cell must have 66 short samples"
[ "$(grep -o '"began":[0-9.e-]*,"ended":[0-9.e-]*,"values"' "$work/r.json" | wc -l)" -eq 12 ] || fail "66 samples are 12 passes"
try 1 $one --triangle && prints '^verified: 1 of 1 cells (.*one transfer per sample)$'
try 1 $one --local-copy && prints '^verified: 4 of 4 cells (.*one transfer per sample)$'
try 1 $one --utilisation --limit CORE=100,SYS=100 && prints 'utilisation (%)'
try 1 $one --huge-pages off --warmup 3 --concurrency serial --verify
try 1 $one --asked-by 'a check %of=this'
grep -q '"asked_by":"a check %of=this"' "$work/r.json" || fail "the record must say which check asked"
try 2 --metric latency --engine sm --direction write --kernel cached && prints '^device_to_device_copy_latency_write_sm:'
try 1 $one --simulate-fault counter:cpu1 && prints '^counter increased: cpu1 nvlink_replay 0 -> 5$'
try 1 $one --simulate-fault throttle:cpu1 && prints '^throttled: cpu1: '
try 1 $one --simulate-fault shared:cpu1

# A budget: what is measured has a verdict, what is not is named, on the output and in the record.
try 1 --suite quick --size 1MiB --budget 0.001
prints '^not measured, because --budget is used up: host_to_device_memcpy_ce, device_to_host_memcpy_ce, '
grep -q '"results":\[{"testcase":"device_to_device_memcpy_write_ce"' "$work/r.json" || fail "every link is measured first"
grep -q '"expected":\["device_to_device_memcpy_write_ce"\],"left_out":\["host_to_device_memcpy_ce",' "$work/r.json" ||
  fail "the record must say what was left out"
try 4 --size 1MiB --testcase device_local_copy,device_to_device_memcpy_write_ce,device_to_device_memcpy_read_ce,device_to_device_latency_sm \
  --budget 500
grep -q '"left_out"' "$work/r.json" && fail "nothing was left out"
# What is slow is measured again alone, and a healthy cell beside it. Others use the machine too: one of some tries.
attempt=0
rm -f "$work/r.json"
until [ "$attempt" -eq 20 ] || grep -q '"remeasured":\[{"row":"cpu0","column":"cpu1"' "$work/r.json" 2>/dev/null; do
  attempt=$((attempt + 1))
  try 1 ${one% --size*} --size 64KiB --samples 60 --target-ci 50 --simulate-fault 'slow:cpu0->cpu1'
done
grep -q '"remeasured":\[{"row":"cpu0","column":"cpu1","before":[^[]*"controls":\[{"row":"cpu1","column":"cpu0"' \
  "$work/r.json" || fail "a slow cell must be measured again, beside a healthy one (try $attempt)"

# Other processes that disturb: the record names them, and nothing is measured where that was asked. A quarter of all
# cores is more than the limit.
begin_hogs
attempt=0
rm -f "$work/r.json"
until [ "$attempt" -eq 20 ] || grep -q '"other processes used the node: pid ' "$work/r.json" 2>/dev/null; do
  attempt=$((attempt + 1))
  try 1 $one --wait-idle 0.1
done
grep -q '"processes":\[{"where":"[^"]*","on":"[a-z]*","pid":' "$work/r.json" || fail "the record must say who else was there"
grep -q '"disturbances":\[{"node":"[^"]*","kind":"cpu","where":"[^"]*","share":0' "$work/r.json" ||
  fail "the record must say what they disturbed"
grep -q '"other processes used the node: pid ' "$work/r.json" || fail "the record must name the other processes"
# Of processes that cannot be listed, as those outside of a container, it knows only how much they use.
attempt=0
: >"$work/err"
until [ "$attempt" -eq 20 ] || grep -q 'measured: pid [0-9]' "$work/err"; do
  attempt=$((attempt + 1))
  timeout 60 "$program" --backend host --samples 3 $one --refuse-busy --wait-idle 0.1 </dev/null >"$work/out" 2>"$work/err"
  code=$?
done
what="a machine that others use (try $attempt)"
code 3
one_line
says '^p2p_matrix: another process uses the node: pid [0-9].*: wait longer with --wait-idle SECONDS'
attempt=0
rm -f "$work/r.json"
ignored='"ignored":\[{"where":"[^"]*","on":"node","pid":'
until [ "$attempt" -eq 20 ] || grep -q "$ignored" "$work/r.json" 2>/dev/null; do
  attempt=$((attempt + 1))
  expect 0 "processes that are ignored" --backend host --samples 3 $one --ignore-processes '*:*' --record "$work/r.json"
done
grep -q "$ignored" "$work/r.json" || fail "the record must list who is ignored"
end_hogs

expect 1 "wrong data" $small --testcase device_to_device_memcpy_write_ce --simulate-fault corrupt:cpu1 --record "$work/r.json"
prints '^Result: FAIL$'
prints 'wrong bytes arrived'
grep -q '"corrupt"' "$work/r.json" || fail "the record must mark the corrupt cell"

# Data, then a flag, checked while both sides run: all is well, and then what each drill does to one way.
handover="--backend host --devices 0,1 --testcase device_to_device_visibility_write_sm"
# shellcheck disable=SC2086
expect 0 "writes that keep their order" $handover,device_to_host_visibility_write_sm,host_to_device_visibility_read_sm \
  --record "$work/r.json"
prints '^device_to_host_visibility_write_sm: stale words after a visible flag (words), '
for drill in reorder drop drop-flag; do
  # shellcheck disable=SC2086
  expect 1 "writes of a drill: $drill" $handover --simulate-fault "$drill:cpu0->cpu1" --record "$work/r.json"
  prints '^Result: FAIL$'
  prints '^verified: 1 of 2 cells$'
  case $drill in
  drop-flag) prints '^note: cpu0->cpu1: flag never visible: cpu1 waited for the flag of cpu0' ;;
  *) prints '^note: cpu0->cpu1: [0-9]* stale words after a visible flag in [0-9]* rounds, the first in round 1$' ;;
  esac
done

# Again and again while the devices are heated: a series of each cell, and the results of the heating are right.
soak="--backend host --devices 0,1 --size 1MiB --samples 3 --testcase device_to_device_memcpy_write_ce --soak"
# shellcheck disable=SC2086
expect 0 "a soak" $soak 3s --record "$work/r.json"
prints '^cpu1: [0-9]* matrix products, 0 with wrong bits$'
grep -q '"soak":{"asked":3,' "$work/r.json" || fail "the record must have the soak"
grep -q '"events_left_out":0,"others":{"seconds":' "$work/r.json" || fail "the record must have what others did in the soak"
# shellcheck disable=SC2086
expect 1 "a device that computes a wrong bit" $soak 1s --simulate-fault flip:cpu1 --record "$work/r.json"
prints '^after [0-9.]* s: cpu1 computed wrong bits in 1 of [0-9]* products$'
prints '^Result: FAIL$'
# shellcheck disable=SC2086
expect 4 "a soak that is longer than its time" $soak 1h --timeout 10 --record "$work/r.json"
prints '^Result: TIMEOUT$'
grep -q '"soak":{"asked":3600,' "$work/r.json" || fail "the record must have what was seen of the soak"

expect 3 "a device that fails in the middle" $small --testcase device_to_device_memcpy_write_ce \
  --simulate-fault error:cpu1 --record "$work/r.json"
one_line
says 'cpu1'
prints '^Result: ERROR$'
grep -q '"complete":false' "$work/r.json" || fail "the record must be kept and marked incomplete"

expect 4 "a device that hangs" $small --testcase device_to_device_memcpy_write_ce --simulate-fault hang:cpu1 --timeout 1 \
  --record "$work/r.json"
one_line
prints '^Result: TIMEOUT$'
grep -q '"timeout"' "$work/r.json" || fail "the record must mark the cell that timed out"

expect 4 "a run longer than its time" --backend host --size 64MiB --suite full --timeout 0.3 --record "$work/r.json"
prints '^Result: TIMEOUT$'

# A scheduler cancels the job: after the first matrix of many, in the middle of another.
: >"$work/out"  # the child truncates it too, but perhaps after the first look
"$program" --backend host --size 64MiB --suite full --record "$work/r.json" >"$work/out" 2>"$work/err" &
pid=$!
for _ in $(seq 300); do
  grep -q '^verified' "$work/out" && break
  sleep 0.1
done
kill -TERM "$pid"
wait "$pid"
code=$?
what="a cancelled run"
code 4
one_line
says 'Terminated'
prints '^Result: TIMEOUT$'
grep -q '"complete":true' "$work/r.json" || fail "the record must hold what was measured before the end"

no_leftover

finish
