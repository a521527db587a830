#!/bin/sh
# collective_perf as a user calls it, with MPI between host memory: every collective, drills, ranks that stop and die.
# usage: program.sh COLLECTIVE_PERF MPIRUN RANKS
set -u
program=$1
mpirun=$2
ranks=$3
test="collective program.sh with $ranks ranks"
. "$(dirname "$0")/../helpers.sh"

# expect CODE 'what it protects' OPTION…
expect() {
  wanted=$1
  what=$2
  shift 2
  rm -f "$work/r.json"
  expect_of "$wanted" 100 "$what" "$mpirun" --oversubscribe -n "$ranks" "$program" --record "$work/r.json" --samples 2 \
    "$@"
}
count() { grep -o "$1" "$work/r.json" 2>/dev/null | wc -l; }

expect_of 0 20 "help" "$program" --help && prints '--testcase'
expect_of 0 20 "list" "$program" --list && prints '^all_reduce_perf_ring '
expect_of 0 20 "version" "$program" --version && prints '^linkmatrix collective_perf [0-9]'
for bad in "--testcase all_reduce" "--size 0" "--nonsense" "--size 1KiB --sweep 1KiB:2KiB" "--type nonsense" \
  "--suite full --testcase reduce_perf"; do
  # shellcheck disable=SC2086
  expect_of 2 20 "bad input: $bad" "$program" $bad
  one_line
  says '^collective_perf: '
done

expect 0 "every collective, every element compared" --suite full --size 4KiB,100003
prints '^Result: PASS$'
results=18
[ "$ranks" -gt 2 ] && results=20
[ "$(count '"testcase":')" -eq "$results" ] || fail "nine collectives of two sizes, and one without each rank, are $results"
! grep -q '"wrong' "$work/out" || fail "nothing is wrong"
prints ' N/A  *N/A'

# the first look is at the run's beginning: what others did since the machine was started is no part of it
[ "$(count '"others":{"seconds":[0-9]\{1,2\}\.')" -eq "$results" ] || fail "each result must say what others did meanwhile"

for type in double int8 uint64; do
  expect 0 "elements of type $type" --type $type --size 4KiB --testcase all_reduce_perf,alltoall_perf
done
for reduction in prod min max; do
  expect 0 "reduction $reduction" --reduction $reduction --size 4KiB --testcase all_reduce_perf,reduce_scatter_perf
done
expect 0 "small pages" --huge-pages off --size 100003
expect 0 "another root" --root 1 --size 4KiB --testcase broadcast_perf,reduce_perf,gather_perf,scatter_perf

if [ "$ranks" -gt 2 ]; then
  expect 0 "all ranks but one, without each in turn" --size 4KiB,100003 --testcase all_reduce_perf_without
  prints 'without-.*rank0 .*without-.*rank2'
  [ "$(count '"verified": *true')" -eq 2 ] || fail "what fewer ranks reduce is compared too"
  expect 1 "a rank that spoils what it takes part in" --size 4KiB --testcase all_reduce_perf_without \
    --simulate-fault corrupt:rank1
  [ "$(count '"ok"')" -eq 1 ] || fail "without rank1 all is as it should be"
fi

expect_of 0 100 "halves of four ranks" "$mpirun" --oversubscribe -n 4 "$program" --record "$work/r.json" --samples 2 \
  --size 4KiB --testcase all_reduce_perf_halves
prints 'digit0-is-0 *digit0-is-1 *digit1-is-0 *digit1-is-1'
expect 2 "nodes to leave out" --testcase all_reduce_perf_without_node
says 'it needs ranks on 3 nodes or more'

expect 1 "wrong elements" --size 4KiB --simulate-fault corrupt:rank1
prints '^Result: FAIL$'
[ "$(count '"corrupt"')" -ge 1 ] || fail "the cell must be corrupt"
expect 0 "errors that a rank counts" --size 4KiB --simulate-fault counter:rank1
prints '^counter increased: .*rank1'
expect 3 "a rank that fails" --size 4KiB,8KiB --simulate-fault error:rank1
prints '^Result: ERROR$'

while IFS='|' read -r options why; do
  # shellcheck disable=SC2086
  expect 2 "nothing to do for, or no such thing: $options" $options
  says "$why"
done <<EOF
--graph|does nothing in this run
--blocking|does nothing in this run
--graph --blocking|--graph and --blocking exclude
--devices 0|does nothing in this run
--root 1 --testcase all_reduce_perf|does nothing in this run
--simulate-fault corrupt:rank99|unknown endpoint 'rank99'
--simulate-fault shared:rank0|does nothing in this run
--simulate-fault reorder:rank0|does nothing in this run
--simulate-fault corrupt:rank0 --no-verify|does nothing in this run
--simulate-fault error:rank1->rank1|no measured rank can have this fault
--root 99 --testcase reduce_perf|is not a rank: use 0 to
--reduction avg|MPI has no reduction avg
--suite full --reduction avg|MPI has no reduction avg
--suite full --type bfloat16|MPI has no type bfloat16
--suite full --size 1048576GiB|MPI counts up to
--size 4KiB,8KiB,4096|names 4096 twice
--size 4099,4096 --testcase all_reduce_perf|sizes 4099 and 4096 are both 4096 bytes for all_reduce_perf
--type half|MPI has no type half
--testcase all_reduce_perf_ring|only NCCL has a choice of algorithms
--testcase rank_to_rank_bandwidth_nccl|use p2p_matrix --testcase
--size 4 --testcase all_gather_perf|each rank needs at least 16 bytes
EOF

# A rank that stops in the middle of MPI's blocking call: what was measured before is kept, and nothing hangs.
if stop_a_rank --size 4KiB,8KiB,16KiB --samples 10000 --max-time 30 --collective-timeout 2 --timeout 200; then
  [ "$code" -eq 4 ] || fail "$what: exit code $code, not 4"
  says 'another rank has ended or hangs\|rank1 was lost' # by where rank 0 was
fi

finish
