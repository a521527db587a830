#!/bin/sh
# Prints one line with the placement of its rank: node, allowed cores, and visible devices.
#
#   binding host=NAME rank=N local=N cores=0-3,8 numa=0:0-3;1:4-7 visible=0,1 gpus=0:NODE,1:NODE nics=mlx5_0:NODE
#
# local: rank on the node. numa: cores of each NUMA node. visible: CUDA_VISIBLE_DEVICES. NODE: NUMA node, -1 if unknown.
# "-": unknown, none, or (visible) no limit. Any launcher can start the script, because it starts and measures nothing.
#
#   binding.sh --into FOLDER PROGRAM [ARGUMENT…]
#
# writes the line into a separate file in FOLDER and then executes PROGRAM with the same placement.

first() { # WORD…: prints the first word, or -
  echo "${1:--}"
}

joined() { # joins the lines of standard input by commas
  list=$(paste -sd, -)
  first "$list"
}

node_of() { # FILE: prints the NUMA node in the file, or -1
  cat "$1" 2>/dev/null || echo -1
}

# shellcheck disable=SC2086 # unset variables must disappear
rank=$(first ${PMIX_RANK:-} ${OMPI_COMM_WORLD_RANK:-} ${PMI_RANK:-} ${SLURM_PROCID:-})
# shellcheck disable=SC2086
local=$(first ${OMPI_COMM_WORLD_LOCAL_RANK:-} ${MPI_LOCALRANKID:-} ${SLURM_LOCALID:-})
cores=$(sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' /proc/self/status)
numa=$(for node in /sys/devices/system/node/node[0-9]*; do
  [ -r "$node/cpulist" ] && echo "${node##*/node}:$(cat "$node/cpulist")"
done | paste -sd';' -)
gpus=$(nvidia-smi --query-gpu=index,pci.bus_id --format=csv,noheader 2>/dev/null | tr 'A-F' 'a-f' |
  while IFS=', ' read -r index address; do
    echo "$index:$(node_of "/sys/bus/pci/devices/${address#0000}/numa_node")"
  done | joined)
nics=$(for nic in /sys/class/infiniband/*; do
  [ -e "$nic" ] && echo "${nic##*/}:$(node_of "$nic/device/numa_node")"
done | joined)
line="binding host=$(uname -n) rank=$rank local=$local cores=${cores:--} numa=${numa:--}"
line="$line visible=${CUDA_VISIBLE_DEVICES:--} gpus=$gpus nics=$nics"
if [ "$1" != --into ]; then
  echo "$line"
  exit
fi
echo "$line" > "$2/rank.$rank.$$"
shift 2
exec "$@"
