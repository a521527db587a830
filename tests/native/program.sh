#!/bin/sh
# The program as a user calls it, on the host back end: exit codes, one-sentence complaints, records that are whole.
# usage: program.sh P2P_MATRIX
set -u
program=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0

fail() {
  failures=$((failures + 1))
  echo "FAILED: $1"
  sed 's/^/  out: /' "$work/out" | tail -n 5
  sed 's/^/  err: /' "$work/err"
}

# expect CODE 'what it protects' OPTION…
expect() {
  wanted=$1
  what=$2
  shift 2
  timeout 60 "$program" "$@" >"$work/out" 2>"$work/err"
  code=$?
  [ "$code" -eq "$wanted" ] || fail "$what: exit code $code, not $wanted"
}

says() { grep -q -- "$1" "$work/err" || fail "standard error must say '$1'"; }
prints() { grep -q -- "$1" "$work/out" || fail "standard output must say '$1'"; }
one_line() { [ "$(wc -l <"$work/err")" -eq 1 ] || fail "a complaint is one line"; }

small="--backend host --size 4MiB --samples 3"

expect 0 "help" --help && prints '--simulate-fault'
expect 0 "list" --list && prints '^device_to_device_memcpy_write_ce '
expect 0 "limits" --limits && prints 'NVLink 4'
expect 0 "version" --version && prints '^linkmatrix p2p_matrix [0-9]'

for bad in "--testcase nonsense" "--suite nonsense" "--size 0" "--size 4MB" "--devices 99" "--devices x" \
  "--nonsense" "--record /no/such/folder/r.json" "--simulate-fault slow" "--simulate-fault slow:gpu77" \
  "--testcase rank_to_rank_latency_mpi" "--backend nonsense" "--size 1024GiB" "--size 1KiB --sweep 1KiB:2KiB" \
  "--sweep 2KiB:1KiB" "--random-sizes 2" "--blocks 0" "--threads 33" "--limit NV18" "--host-memory some" \
  "--testcase device_local_copy,device_local_copy" "--suite quick --engine ce"; do
  # shellcheck disable=SC2086
  expect 2 "bad input: $bad" $small $bad
  one_line
  says '^p2p_matrix: '
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
try 1 $one --triangle && prints '^verified: 1 of 1 cells$'
try 1 $one --local-copy && prints '^verified: 4 of 4 cells$'
try 1 $one --utilisation --limit CORE=100,SYS=100 && prints 'utilisation (%)'
try 1 $one --huge-pages off --warmup 3 --concurrency serial --verify
try 3 --devices 0,1 --testcase device_to_device_memcpy_write_sm --size 1MiB --blocks 1,2,4 --threads 64
prints ', 4 blocks, 64 threads, row'
try 2 --metric latency --engine sm --direction write --kernel cached && prints '^device_to_device_copy_latency_write_sm:'
try 1 $one --simulate-fault counter:cpu1 && prints '^counter rose: cpu1 nvlink_replay 0 -> 5$'
try 1 $one --simulate-fault throttle:cpu1 && prints '^throttled: cpu1: '
try 1 $one --simulate-fault shared:cpu1
# What is slow is measured again alone, and a healthy cell beside it. Others use the machine too: one of some tries.
attempt=0
rm -f "$work/r.json"
until [ "$attempt" -eq 20 ] || grep -q '"remeasured":\[{"row":"cpu0","column":"cpu1"' "$work/r.json" 2>/dev/null; do
  attempt=$((attempt + 1))
  try 1 ${one% --size*} --size 64KiB --samples 60 --target-ci 50 --simulate-fault 'slow:cpu0->cpu1'
done
grep -q '"remeasured":\[{"row":"cpu0","column":"cpu1","before":[^[]*"controls":\[{"row":"cpu1","column":"cpu0"' \
  "$work/r.json" || fail "a slow cell must be measured again, beside a healthy one (try $attempt)"

expect 1 "wrong data" $small --testcase device_to_device_memcpy_write_ce --simulate-fault corrupt:cpu1 --record "$work/r.json"
prints '^Result: FAIL$'
prints 'wrong bytes arrived'
grep -q '"corrupt"' "$work/r.json" || fail "the record must mark the corrupt cell"

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
[ "$code" -eq 4 ] || fail "a cancelled run: exit code $code, not 4"
one_line
says 'Terminated'
prints '^Result: TIMEOUT$'
grep -q '"complete":true' "$work/r.json" || fail "the record must hold what was measured before the end"

[ -z "$(find "$work" -name '*.partial')" ] || fail "no half-written record may be left"

echo "program.sh: $failures failed"
[ "$failures" -eq 0 ]
