#!/bin/sh
# How a run ends: whatever ends it, the record is whole, the exit code is right, and it does not take long.
# usage: endings.sh P2P_MATRIX REFUSING_SYSTEM
set -u
program=$1
refusing_system=$2
test=endings.sh
. "$(dirname "$0")/helpers.sh"
small=
trap '[ -z "$small" ] || umount "$small"; rm -rf "$work"' EXIT

# whole WORD LEAST: the record is valid, ended so, and has at least so many finished matrices.
whole() {
  if command -v python3 >/dev/null; then
    python3 - "$record" "$1" "$2" <<'EOF' 2>"$work/python" || fail "$what: $(tail -n 1 "$work/python")"
import json, sys
record = json.load(open(sys.argv[1]))
assert record["result"] == sys.argv[2], f"the record says {record['result']}, not {sys.argv[2]}"
done = sum(result["complete"] for result in record["results"])
assert done >= int(sys.argv[3]), f"{done} finished matrices in the record"
EOF
  else
    grep -q "\"result\":\"$1\"" "$record" || fail "$what: the record must say $1"
    [ "$(grep -o '"complete":true' "$record" | wc -l)" -ge "$2" ] || fail "$what: finished matrices are lost"
  fi
}

record=$work/r.json
begin() {
  what=$1
  rm -f "$record"
  : >"$work/out"
  : >"$work/err"
}
# Some matrices of some tenths of a second each, and then no end: many sizes.
long="--backend host --devices 0,1 --testcase device_to_device_memcpy_write_ce --samples 40 --random-sizes 4000:1MiB:64MiB"
start() {
  # shellcheck disable=SC2086
  "$program" $long --record "$record" "$@" >"$work/out" 2>"$work/err" &
  pid=$!
}
# until N: N matrices are done; they are in the output before they are in a checkpoint.
until_done() {
  for _ in $(seq 1200); do
    [ "$(grep -c '^verified' "$work/out")" -ge "$1" ] && return
    sleep 0.05
  done
  fail "$what: nothing was measured"
}
# ended SECONDS: waits for the process; what takes longer is a failure, and is killed.
ended() {
  for _ in $(seq $(($1 * 10))); do
    kill -0 "$pid" 2>/dev/null || break
    sleep 0.1
  done
  kill -KILL "$pid" 2>/dev/null && fail "$what: the process did not end within $1 s"
  wait "$pid"
  code=$?
}

# Every signal that asks for the end, at some moment.
for signal in TERM INT QUIT HUP USR1 USR2 XCPU PWR ALRM VTALRM PROF IO; do
  begin "SIG$signal"
  start
  until_done 1
  sleep "0.$(($(od -An -N1 -tu1 /dev/urandom) % 10))"
  finished=$(grep -c '^verified' "$work/out")
  kill -"$signal" "$pid"
  ended 10
  code 4
  one_line
  says 'p2p_matrix: ended by signal'
  prints '^Result: TIMEOUT$'
  whole TIMEOUT "$finished"
done
no_leftover

begin "a signal before anything is measured"
start
kill -TERM "$pid"
ended 10
[ "$code" -eq 4 ] || [ "$code" -eq 143 ] || fail "$what: exit code $code"

# What was ignored stays ignored: nohup.
begin "SIGHUP under nohup"
(trap '' HUP && exec "$program" --backend host --devices 0,1 --testcase device_to_device_memcpy_write_ce --size 32MiB \
  --samples 100 --target-ci 0.001 --max-time 1 --record "$record" >"$work/out" 2>"$work/err") &
pid=$!
sleep 0.3
kill -HUP "$pid"
ended 30
code 0
prints '^Result: PASS$'

# A copy that does not come back.
begin "a hanging copy and SIGTERM"
"$program" --backend host --size 1MiB --testcase device_to_device_memcpy_write_ce,device_to_device_memcpy_read_ce \
  --simulate-fault hang:cpu1 --pair-timeout 60 --record "$record" >"$work/out" 2>"$work/err" &
pid=$!
sleep 1
kill -TERM "$pid"
ended 10
code 4
one_line
prints '^Result: TIMEOUT$'
whole TIMEOUT 0

# Nobody reads: the pipe is full, the run hangs in a print, and a signal or its time ends it.
ends_unread() { # COMMAND…, after which it gets SIGTERM
  # shellcheck disable=SC2086
  "$program" $long --record "$record" >"$work/pipe" 2>"$work/err" 3<&- &
  pid=$!
  "$@"
  kill -TERM "$pid"
  ended 10
  code 4
}
# A matrix is in the checkpoint, however long a busy machine takes for it.
until_kept() {
  for _ in $(seq 600); do
    grep -qs '"complete":true' "$record" && return
    sleep 0.05
  done
  fail "$what: nothing was kept"
}
begin "a pipe that nobody reads and SIGTERM"
mkfifo "$work/pipe"
exec 3<>"$work/pipe"
dd if=/dev/zero bs=65536 count=1 >&3 2>/dev/null
ends_unread sleep 1
one_line
begin "a pipe that is full after some matrices"
dd if="$work/pipe" bs=65536 count=1 of=/dev/null 2>/dev/null
dd if=/dev/zero bs=1024 count=55 >&3 2>/dev/null
ends_unread until_kept
whole TIMEOUT 1
exec 3<&-

once="--backend host --devices 0,1 --size 1MiB --samples 3 --testcase device_to_device_memcpy_write_ce"

begin "standard output on a full device"
# shellcheck disable=SC2086
timeout 60 "$program" $once --record "$record" >/dev/full 2>"$work/err"
code=$?
code 2
one_line
says 'standard output cannot be written'
whole ERROR 1

begin "a list on a full device"
timeout 60 "$program" --list >/dev/full 2>"$work/err"
code=$?
code 2
one_line

begin "standard output closed"
# shellcheck disable=SC2086
timeout 60 "$program" $once --record "$record" >&- 2>"$work/err"
code=$?
code 2
one_line
whole ERROR 1

begin "nobody at the other end of the pipe"
# shellcheck disable=SC2086
(timeout 60 "$program" $once --record "$record" 2>"$work/err"; echo $? >"$work/code") | :
code=$(cat "$work/code")
code 2
one_line
says 'Broken pipe'
whole ERROR 1

# No room for the record at the end: the last checkpoint stays.
begin "a record that is too large for ulimit -f"
# shellcheck disable=SC2086
(ulimit -f 2 && exec timeout 60 "$program" $once --record "$record" 2>&1) | cat >"$work/out"
prints '^Result: ERROR$'
prints "^p2p_matrix: --record .*r.json' cannot be written (File too large): the file contains nothing of this run$"

if [ "$(id -u)" -eq 0 ] && mkdir -p "$work/small" && mount -t tmpfs -o size=64k none "$work/small" 2>/dev/null; then
  small=$work/small
  begin "a full disk at the end"
  kept=$record
  record=$small/r.json
  start
  until_done 1
  sleep 2.5
  dd if=/dev/zero of="$small/filler" bs=1024 count=64 2>/dev/null
  kill -TERM "$pid"
  ended 10
  code 2
  one_line
  says 'No space left on device): the file contains the checkpoint '
  prints '^Result: ERROR$'
  whole INCOMPLETE 1

  # It is full in the middle, and nobody ends it: what would be measured could not be kept.
  rm -f "$small/filler"
  begin "a full disk in the middle"
  start
  until_done 1
  sleep 2.5
  dd if=/dev/zero of="$small/filler" bs=1024 count=64 2>/dev/null
  ended 60
  code 2
  one_line
  says "--record '$small/r.json' cannot be written (No space left on device): the file contains the checkpoint "
  prints '^Result: ERROR$'
  whole INCOMPLETE 1
  record=$kept

  rm -f "$small"/*
  begin "standard output on a disk that is full in the middle"
  # shellcheck disable=SC2086
  "$program" $long --record "$record" >"$small/out" 2>"$work/err" &
  pid=$!
  for _ in $(seq 1200); do
    grep -q '^verified' "$small/out" && break
    sleep 0.05
  done
  dd if=/dev/zero of="$small/filler" bs=1024 count=64 2>/dev/null
  ended 60
  code 2
  one_line
  says "standard output '$small/out' cannot be written (No space left on device)"
  whole ERROR 1
else
  echo "skipped: a full disk, which needs a mount"
fi

# SIGKILL loses no more than the last 2 s.
begin "SIGKILL"
start
until_done 1
finished=$(grep -c '^verified' "$work/out")
sleep 2.5
kill -KILL "$pid"
wait "$pid" 2>/dev/null
whole INCOMPLETE "$finished"
rm -f "$work"/*.partial

# Limits of the system.
begin "no further file"
if grep -q __asan_init "$program"; then
  echo "SKIPPED: no further file: the sanitizer of undefined behaviour looks at memory through pipes"
else
  # shellcheck disable=SC2086
  (ulimit -n 4 && exec "$program" $once --record "$record") >"$work/out" 2>"$work/err"
  code=$?
  [ "$code" -eq 2 ] || fail "$what: exit code $code"
  one_line
fi

begin "no memory"
if grep -q __asan_init "$program"; then
  echo "SKIPPED: no memory: the address sanitizer needs more than a process has"
else
  (ulimit -v 200000 && exec timeout 60 "$program" --backend host --devices 0,1 --testcase device_local_copy --size 1GiB \
    --record "$record" >"$work/out" 2>"$work/err")
  code=$?
  [ "$code" -eq 3 ] || [ "$code" -eq 2 ] || fail "$what: exit code $code"
  one_line
  says 'ulimit -v'
fi

# Wherever memory is refused, once, some times or from then on: an ending with its code and a line, and what was measured
# is in the record where the system gives any memory again.
refuse_memory() { # FROM COUNT
  begin "allocation $1 and $2 more fail"
  # shellcheck disable=SC2086
  env LD_PRELOAD="$refusing_system" REFUSE_ALLOCATION="$1" REFUSE_ALLOCATIONS="$2" timeout 60 \
    "$program" $once,device_local_copy --timeout 15 --record "$record" >"$work/out" 2>"$work/err"
  code=$?
  [ "$code" -eq 0 ] || [ "$code" -eq 3 ] || { [ "$2" -gt 1 ] && [ "$code" -eq 2 ]; } || fail "$what: exit code $code"
  [ "$code" -eq 0 ] || one_line
  [ "$code" -ne 0 ] || whole PASS 2
  if [ "$2" -eq 1 ] && grep -q '^Result: ERROR' "$work/out"; then
    whole ERROR "$(grep -c "^verified: 2 of 2" "$work/out")"
  fi
}
if grep -q __asan_init "$program"; then
  echo "SKIPPED: allocations that fail: the sanitizers have their own"
else
  for from in $(seq 400 149 6000); do refuse_memory "$from" 1; done
  for from in $(seq 400 697 6000); do
    refuse_memory "$from" 5
    refuse_memory "$from" 1000000000
  done
fi

finish
