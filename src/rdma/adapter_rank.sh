#!/bin/bash
# Assigns a network adapter to this rank, runs the program, and then prints the bytes that the adapter transferred to
# standard error:
#
#   adapter_rank.sh --adapters mlx5_0,mlx5_1:2 [--sysfs DIR] PROGRAM [ARGUMENT…]
#
#   adapter host=n1 rank=3 name=mlx5_1 sent=BYTES received=BYTES
#
# Rank k of a node gets adapter k of the list: an RDMA adapter or a TCP interface. Environment variables of the message
# libraries select it. "unknown": the kernel does not count these bytes. Exit code: that of the program; 2 if the adapter
# does not exist.

set -u
fail() {
  echo "adapter_rank: $(uname -n): $1" >&2
  exit 2
}

adapters='' sysfs=/sys
while [ $# -gt 1 ]; do
  case $1 in
    --adapters) adapters=$2 ;;
    --sysfs) sysfs=$2 ;;
    --*) fail "unknown option $1" ;;
    *) break ;;
  esac
  shift 2
done
[ $# -gt 0 ] || fail "no program: name the program to run"
[ -n "$adapters" ] || fail "--adapters is missing: name the adapters, such as mlx5_0,mlx5_1"

first() { # WORD…: prints the first word
  echo "${1:-}"
}

# shellcheck disable=SC2086 # unset variables must disappear
rank=$(first ${PMIX_RANK:-} ${OMPI_COMM_WORLD_RANK:-} ${PMI_RANK:-} ${SLURM_PROCID:-})
# shellcheck disable=SC2086
number=$(first ${OMPI_COMM_WORLD_LOCAL_RANK:-} ${MPI_LOCALRANKID:-} ${SLURM_LOCALID:-})
case $number in '' | *[!0-9]*) fail "the launcher does not set the local rank: start the program with mpirun or srun" ;; esac
IFS=, read -ra names <<< "$adapters"
[ "$number" -lt ${#names[@]} ] ||
  fail "rank $rank has local rank $number, and --adapters has ${#names[@]} adapters: name one adapter per rank"
name=${names[$number]}
adapter=${name%%:*} port=1
[ "$name" = "$adapter" ] || port=${name#*:}

if [ -d "$sysfs/class/infiniband/$adapter" ]; then
  counters=$sysfs/class/infiniband/$adapter/ports/$port/counters
  files=("$counters/port_xmit_data" "$counters/port_rcv_data") unit=4 # the counters count words of 4 bytes
  export UCX_NET_DEVICES=$adapter:$port OMPI_MCA_btl_openib_if_include=$adapter:$port PSM3_NIC=$adapter
elif [ -d "$sysfs/class/net/$adapter" ]; then
  files=("$sysfs/class/net/$adapter/statistics/tx_bytes" "$sysfs/class/net/$adapter/statistics/rx_bytes") unit=1
  export UCX_NET_DEVICES=$adapter OMPI_MCA_btl_tcp_if_include=$adapter FI_TCP_IFACE=$adapter
else
  fail "unknown adapter $adapter ($sysfs/class/infiniband, $sysfs/class/net)"
fi
export LINKMATRIX_ADAPTER=$name

counted() { # FILE: prints the number in the file, or -1
  local value=
  read -r value 2>/dev/null < "$1"
  case $value in '' | *[!0-9]*) value=-1 ;; esac
  echo "$value"
}
moved() { # FILE BEFORE: prints the bytes since the earlier reading BEFORE, or "unknown"
  local now
  now=$(counted "$1")
  if [ "$2" -lt 0 ] || [ "$now" -lt "$2" ]; then echo unknown; else echo $(((now - $2) * unit)); fi
}

sent=$(counted "${files[0]}") received=$(counted "${files[1]}")
"$@" &
program=$!
# Forward signals, so that the program can end by itself.
for signal in TERM INT HUP USR1 USR2 XCPU; do
  # shellcheck disable=SC2064 # expand now
  trap "kill -$signal $program 2>/dev/null" "$signal"
done
while :; do # a signal interrupts `wait`, so wait again
  wait $program
  code=$?
  kill -0 $program 2>/dev/null || break
done
echo "adapter host=$(uname -n) rank=$rank name=$name sent=$(moved "${files[0]}" "$sent")" \
  "received=$(moved "${files[1]}" "$received")" >&2
exit $code
