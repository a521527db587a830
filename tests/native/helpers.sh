# What the tests of the program share; to be sourced with the test's name in $test. Everything of a test is in $work,
# which is removed at its end: the program's output in $work/out, its complaints in $work/err.
# shellcheck shell=sh disable=SC2034,SC2154
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0
what=

fail() {
  failures=$((failures + 1))
  echo "FAILED: $1"
  for from in out err; do
    [ ! -f "$work/$from" ] || tail -n 12 "$work/$from" | sed "s/^/  $from: /"
  done
}
# Of the run in $what, which ended with $code:
says() { grep -q -- "$1" "$work/err" || fail "$what: standard error must say '$1'"; }
prints() { grep -q -- "$1" "$work/out" || fail "$what: standard output must say '$1'"; }
one_line() { [ "$(wc -l <"$work/err")" -eq 1 ] || fail "$what: a complaint is one line"; }
code() { [ "$code" -eq "$1" ] || fail "$what: exit code $code, not $1"; }
no_leftover() { [ -z "$(find "$work" -name '*.partial')" ] || fail "$what: a half-written record is left"; }

# expect_of CODE SECONDS 'what it protects' COMMAND…: runs it, for so long at most, and with no input: mpirun would read
# the lines of the loop that calls this, which then ends with its first one
expect_of() {
  wanted=$1
  limit=$2
  what=$3
  shift 3
  timeout "$limit" "$@" </dev/null >"$work/out" 2>"$work/err"
  code=$?
  code "$wanted"
}

# ranks_there [RANK]: the processes of $program under mpirun that write $work/r.json, all or those of a rank, the oldest
# first. A bare system has no pgrep.
ranks_there() {
  grep -lszxF -- "$work/r.json" /proc/[0-9]*/cmdline | while IFS=/ read -r _ _ pid _; do
    [ "$(tr '\0' '\n' 2>/dev/null <"/proc/$pid/cmdline" | head -n 1)" = "$program" ] || continue
    rank=$(tr '\0' '\n' 2>/dev/null <"/proc/$pid/environ" | sed -n 's/^OMPI_COMM_WORLD_RANK=//p')
    [ "${1:-$rank}" != "$rank" ] || echo "$pid"
  done | sort -n
}

# stop_a_rank OPTION…: runs the program under mpirun, and stops rank 1 once the record exists. The exit code is in $code,
# and a record without PASS must be left. Fails without a rank to stop.
stop_a_rank() {
  what="a rank that stops"
  rm -f "$work/r.json"
  timeout 90 "$mpirun" --oversubscribe -n "$ranks" "$program" "$@" --record "$work/r.json" \
    >"$work/out" 2>"$work/err" &
  launcher=$!
  for _ in $(seq 100); do
    [ ! -s "$work/r.json" ] || break
    sleep 0.2
  done
  victim=$(ranks_there 1 | head -n 1)
  [ -z "$victim" ] || kill -STOP "$victim"
  wait "$launcher"
  code=$?
  if [ -z "$victim" ]; then
    fail "$what: no rank was found to stop"
    return 1
  fi
  kill -KILL "$victim" 2>/dev/null
  [ -s "$work/r.json" ] || fail "$what: no record is left"
  ! grep -q '"result":"PASS"' "$work/r.json" || fail "$what: the record says PASS"
}

# Processes that keep a quarter of all cores busy, one core at least.
begin_hogs() {
  hogs=
  for _ in $(seq $((1 + $(nproc) / 4))); do
    (ulimit -t 120 && while :; do :; done) &
    hogs="$hogs $!"
  done
}

end_hogs() {
  # shellcheck disable=SC2086
  kill $hogs
}

# The last line of a test.
finish() {
  echo "$test: $failures failed"
  [ "$failures" -eq 0 ]
}
