#!/bin/sh
# nbody_scaling as a user calls it, on cores of one process and under mpirun: records, drills, bad input.
# usage: program.sh NBODY_SCALING [MPIRUN RANKS]
set -u
program=$1
mpirun=${2:-}
ranks=${3:-1}
test="nbody program.sh"
. "$(dirname "$0")/../helpers.sh"

# expect CODE 'what it protects' OPTION…
expect() {
  wanted=$1
  what=$2
  shift 2
  rm -f "$work/r.json"
  if [ -n "$mpirun" ]; then
    expect_of "$wanted" 100 "$what" "$mpirun" --oversubscribe -n "$ranks" "$program" --record "$work/r.json" --samples 1 \
      --steps 1 "$@"
  else
    expect_of "$wanted" 100 "$what" "$program" --backend host --record "$work/r.json" --samples 1 --steps 1 "$@"
  fi
}
count() { grep -o "$1" "$work/r.json" 2>/dev/null | wc -l; }

last=$((ranks - 1))
device=rank$last
if [ -z "$mpirun" ]; then
  device=cpu1
  expect_of 0 20 "help" "$program" --help && prints '--bodies'
  expect_of 0 20 "version" "$program" --version && prints '^linkmatrix nbody_scaling [0-9]'
  expect_of 0 20 "list" "$program" --list && prints '^nbody_double_weak$'
  for bad in "--bodies 0" "--bodies many" "--nonsense" "--precision half" "--scaling none" "--bodies 2048 --sweep 1:2" \
    "--backend rocm" "--testcase nbody"; do
    # shellcheck disable=SC2086
    expect_of 2 20 "bad input: $bad" "$program" $bad
    one_line
    says '^nbody_scaling: '
  done
fi

expect 0 "both precisions and scalings, forces and positions compared" --bodies 1000,2100 --precision float,double \
  --scaling strong,weak
prints '^Result: PASS$'
prints '^nbody_double_weak: efficiency (%), 32000 bytes, all devices, column = number of devices$'
prints '^# nbody_float_strong: efficiency (%): rate relative to the same number of times 1-device$'
[ "$(count '"testcase":')" -eq 8 ] || fail "two precisions, two scalings and two numbers of bodies are 8 results"
# the first look is at the run's beginning: what others did since the machine was started is no part of it
[ "$(count '"others":{"seconds":[0-9]\{1,2\}\.')" -eq 8 ] || fail "each result must say what others did meanwhile"
expect 0 "by name" --bodies 2100 --testcase nbody_float_weak
expect 0 "a single device" --bodies 2100 --counts 1
expect 0 "nothing compared" --bodies 2100 --no-verify
prints '^verified: no (--no-verify)$'

expect 0 "bodies that nobody asked for and that take too long are left out, and that is said" --max-time 0.001
prints '^note: nbody_float_strong: 32768 bodies were skipped, because a step would take more than 0.001 s'
[ "$(count 'bodies were skipped')" -ge 1 ] || fail "the record says what was left out"

expect 1 "wrong forces" --bodies 2100 --simulate-fault "corrupt:$device"
prints '^Result: FAIL$'
[ "$(count '"corrupt"')" -ge 1 ] || fail "the cell must be corrupt"
expect 3 "a device that fails" --bodies 2100,4200 --simulate-fault "error:$device"
prints '^Result: ERROR$'
prints ' 2100 *100.00 .*error$'
expect 4 "a device that hangs" --bodies 2100 --cell-timeout 2 --simulate-fault "hang:$device"
prints '^Result: TIMEOUT$'
expect 0 "a device that is slow" --bodies 2100 --simulate-fault "slow:$device"

while IFS='|' read -r options why; do
  # shellcheck disable=SC2086
  expect 2 "nothing to do for, or no such thing: $options" $options
  says "$why"
  [ ! -s "$work/out" ] || fail "$options: nothing is printed before it is refused"
done <<EOF
--bodies 100|--bodies 100 is too small for
--counts 999|use smaller numbers, or start the run with more
--simulate-fault shared:$device|does nothing in this run
--simulate-fault corrupt:$device --no-verify|does nothing in this run
--simulate-fault drop:$device|does nothing in this run
--simulate-fault flip:$device|does nothing in this run
--simulate-fault corrupt:nowhere|unknown endpoint 'nowhere'
--simulate-fault corrupt:$device --counts 1|no measured device can have this fault
--testcase nbody_float_weak --scaling weak|selected twice
EOF

if [ -z "$mpirun" ]; then
  finish
  exit
fi

# A rank that stops: what was measured before is kept, and nothing hangs.
if stop_a_rank --bodies 2100,4200 --samples 10000 --max-time 30 --cell-timeout 2 --timeout 20; then
  [ "$code" -ne 0 ] || fail "$what: it must not pass"
  [ "$code" -ne 124 ] || fail "$what: it hung"
fi

finish
