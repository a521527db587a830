#!/bin/bash
# Runs a perftest program over each network adapter of two nodes, or ucx_perftest over TCP and each network interface. A
# launcher starts one rank per node. Rank 0 runs the servers, rank 1 the clients. Each pair is two adapters with the same
# name. Rank 1 prints the output:
#
#   adapter_pairs.sh --into FOLDER [--adapters mlx5_0,mlx5_1:2] [--at-once] [--memory host|cuda] [--port FIRST]
#                    [--limit SECONDS] [--sysfs DIR] PROGRAM [OPTION…]
#
#   version 6.06
#   adapter server n1 mlx5_0 100 Gb/sec (4X EDR)
#   step ib_write_bw mlx5_0 alone code=0
#   | output of the client
#   Result: PASS
#
# --into       a new folder that both nodes can access, for messages between the ranks
# --adapters   default: every active port, or for ucx_perftest every active interface of a PCI device
# --at-once    add a step with all adapters concurrently
# --memory     cuda: memory of the GPU that is nearest by PCI
# --port       servers use the first free TCP ports from FIRST (18515) on
# --limit      time limit of each server and client (60); they also end with this script
# Exit codes: 0 everything was measured, 1 a measurement failed, 2 bad input, 4 the other rank does not answer.

set -u
folder='' wanted='' at_once='' memory=host port=18515 limit=60 sysfs=/sys

# shellcheck disable=SC2086 # unset variables must disappear
first() { echo "${1:--}"; }
# shellcheck disable=SC2086
rank=$(first ${PMIX_RANK:-} ${OMPI_COMM_WORLD_RANK:-} ${PMI_RANK:-} ${SLURM_PROCID:-})
node=$(uname -n)
role=([0]=server [1]=client)

give_up() { # CODE SENTENCE: reports an error to the user and to the other rank, and exits
  echo "adapter_pairs: $node: $2" >&2
  [ -d "$folder" ] && echo "$node: $2" > "$folder/ended.$rank"
  [ "$rank" = 1 ] && echo "Result: FAIL"
  exit "$1"
}

stop_children() { # ends all programs; `timeout` kills those that do not end
  local running
  running=$(jobs -p)
  # shellcheck disable=SC2086
  [ -n "$running" ] && kill $running 2>/dev/null && wait
}
trap stop_children EXIT
trap 'exit 143' TERM INT HUP

value_of() { # OPTION [VALUE…]: prints the value of the option
  [ $# -ge 2 ] || give_up 2 "$1 needs a value"
  echo "$2"
}

while [ $# -gt 0 ]; do
  case $1 in
    --into) folder=$(value_of "$@") || exit 2 ;;
    --adapters) wanted=$(value_of "$@") || exit 2 ;;
    --memory) memory=$(value_of "$@") || exit 2 ;;
    --port) port=$(value_of "$@") || exit 2 ;;
    --limit) limit=$(value_of "$@") || exit 2 ;;
    --sysfs) sysfs=$(value_of "$@") || exit 2 ;;
    --at-once) at_once=yes && set -- - "$@" ;;
    --*) give_up 2 "unknown option $1" ;;
    *) break ;;
  esac
  shift 2
done
[ $# -gt 0 ] || give_up 2 "no program: name a perftest program, such as ib_write_bw"
[ -n "$folder" ] || give_up 2 "--into FOLDER is missing: name a folder that both nodes can access"
case $rank in 0 | 1) ;; *) give_up 2 "this is rank $rank: start two ranks on two nodes" ;; esac
case $memory in host | cuda) ;; *) give_up 2 "--memory $memory: use host or cuda" ;; esac
# For `timeout`, 0 is no limit. For bash, a leading 0 means octal.
case ,$port,$limit, in *,0* | *,,* | *[!0-9,]*) give_up 2 "--port $port --limit $limit: use numbers" ;; esac
[ ${#limit} -le 6 ] || give_up 2 "--limit $limit: use at most 999999 seconds"
[[ ${#port} -le 5 && $port -le 65535 ]] || give_up 2 "--port $port: use at most 65535"
program=$1
shift
[ -e "$folder/adapters.$rank" ] && give_up 2 "$folder belongs to another run: name a new folder with --into"
mkdir -p "$folder" || give_up 2 "$folder cannot be created: name a folder that both nodes can write to with --into"
command -v "$program" > /dev/null || give_up 2 "$program is not on PATH: install perftest, or load its module"

tcp='' what='RDMA adapter' # tcp: not empty for ucx_perftest, which uses interfaces
[ "${program##*/}" = ucx_perftest ] && tcp=yes what=interface
[ -n "$tcp" ] && [ "$memory" != host ] && give_up 2 "--memory $memory needs perftest: $program runs over TCP"

is_selected() { # NAME ACTIVE: whether to measure the adapter; ACTIVE: not empty if it is active
  case ${wanted:+,$wanted,} in
    '') [ -n "$2" ] ;;
    *",$1,"*) ;;
    *) return 1 ;;
  esac
}

ports_here() { # prints "mlx5_0 400 Gb/sec (4X NDR)" for each selected port
  local at name
  for at in "$sysfs"/class/infiniband/*/ports/*; do
    name=${at%/ports/*} name=${name##*/}
    [ "${at##*/}" = 1 ] || name=$name:${at##*/}
    is_selected "$name" "$(grep -s ACTIVE "$at/state")" && echo "$name $(cat "$at/rate" 2>/dev/null)"
  done
}

interfaces_here() { # prints "ens1f0 25000 Mb/s" for each selected interface; virtual ones report no real rate
  local at rate
  for at in "$sysfs"/class/net/*; do
    rate=''
    [ -e "$at/device" ] && rate=$(grep -s '^[1-9]' "$at/speed")
    is_selected "${at##*/}" "$([ -e "$at/device" ] && grep -s '^up' "$at/operstate")" &&
      echo "${at##*/} ${rate:+$rate Mb/s}"
  done
}

adapters_here() { if [ -n "$tcp" ]; then interfaces_here; else ports_here; fi; }

program_version() { # prints the version of perftest or UCX
  local -a asked=("$program" --version)
  [ -n "$tcp" ] && asked=(ucx_info -v)
  timeout -k 5 20 "${asked[@]}" 2>/dev/null | grep -om1 '[0-9][0-9.]*'
}

address_of() { # ADAPTER: prints the host name or address for clients
  local address=''
  [ -n "$tcp" ] && address=$(ip -4 -o addr show dev "$1" 2>/dev/null | awk '{ sub("/.*", "", $4); print $4; exit }')
  echo "${address:-$node}"
}

addresses_here() { # prints the addresses of this node, for nodes that cannot resolve its name
  hostname -I 2>/dev/null || ip -4 -o addr show scope global 2>/dev/null | awk '{ sub("/.*", "", $4); print $4 }'
}

reached_by() { # NAME ADDRESS…: prints the name of the server's node; if it cannot be resolved (container), an address
  if getent ahosts "$1" > /dev/null || [ $# -eq 1 ]; then
    echo "$1"
  elif [ "$1" = "$node" ]; then
    echo 127.0.0.1
  else
    echo "$2"
  fi
}

shared_parts() { # PATH PATH: prints the number of common leading folders
  local -a one other
  IFS=/ read -ra one <<< "$1"
  IFS=/ read -ra other <<< "$2"
  local i=0
  while [ $i -lt ${#one[@]} ] && [ "${one[$i]}" = "${other[$i]:-}" ]; do i=$((i + 1)); done
  echo $i
}

nearest_gpu() { # ADAPTER: prints the number of the GPU that shares the most PCI bridges with the adapter
  local here best=-1 found='' index address shared
  here=$(realpath "$sysfs/class/infiniband/$1/device")
  while IFS=', ' read -r index address; do
    address=$(echo "${address#0000}" | tr 'A-F' 'a-f')
    shared=$(shared_parts "$here" "$(realpath -q "$sysfs/bus/pci/devices/$address")")
    [ "$shared" -gt "$best" ] && best=$shared found=$index
  done < <(nvidia-smi --query-gpu=index,pci.bus_id --format=csv,noheader 2>/dev/null)
  echo "$found"
}

with_us=() # command prefix: the program gets SIGTERM when this script ends
setpriv --pdeathsig TERM true 2>/dev/null && with_us=(setpriv --pdeathsig TERM)

run() { # ADAPTER PORT [HOST]: runs the program with $options on cores near the adapter; without HOST as server
  local name=${1%%:*} of_adapter=1 cores gpu
  local -a near=() where=()
  [ "$1" = "$name" ] || of_adapter=${1#*:}
  cores=$(cat "$sysfs/class/infiniband/$name/device/local_cpulist" 2>/dev/null)
  [ -n "$cores" ] && taskset -c "$cores" true 2>/dev/null && near=(taskset -c "$cores")
  if [ -n "$tcp" ]; then
    export UCX_NET_DEVICES=$1 UCX_TLS=tcp
    [ $# -gt 2 ] && where=("$3" "${options[@]}")
    exec "${with_us[@]}" timeout -k 5 "$limit" "$program" "${where[@]}" -p "$2" 2>&1
  fi
  if [ "$memory" = cuda ]; then
    gpu=$(nearest_gpu "$name")
    [ -n "$gpu" ] || { echo "--memory cuda: nvidia-smi shows no GPU on $node" && return 2; }
    where=("--use_cuda=$gpu")
  fi
  exec "${with_us[@]}" timeout -k 5 "$limit" "${near[@]}" "$program" -d "$name" -i "$of_adapter" -p "$2" \
    "${where[@]}" "${options[@]}" "${@:3}" 2>&1
}

listening() { # PORT: whether a process on this node listens on the TCP port
  grep -qE "^ *[0-9]+: [0-9A-F]+:$(printf %04X "$1") [0-9A-F]+:0000 0A" /proc/net/tcp /proc/net/tcp6 2>/dev/null
}

wait_for() { # FILE: waits until the other rank has written the file
  local patience=$((limit + limit / 6 + 1)) peer=$((1 - rank))
  local until=$((SECONDS + patience))
  until [ -e "$1" ]; do
    [ -e "$folder/ended.$peer" ] && give_up 1 "the ${role[$peer]} has ended: $(cat "$folder/ended.$peer")"
    [ $SECONDS -lt $until ] || give_up 4 "the ${role[$peer]} has not answered in $patience s: check that it runs and \
that both nodes can access $folder"
    sleep 0.05
    ls "$folder" > /dev/null # refreshes the cache of network file systems
  done
}

tell() { # FILE TEXT: writes a file for the other rank, completely or not at all
  echo "$2" > "$1.part" && mv "$1.part" "$1"
}

last_words() { grep -v '^[-[:space:]]*$' "$1" | tail -n 1; }

serve() { # STEP ADAPTER: starts a server ($served), and tells the client its port or the error
  local out="$folder/$1.$2.server" until=$((SECONDS + limit)) words
  while :; do
    while listening "$port"; do port=$((port + 1)); done
    run "$2" "$port" > "$out" &
    served=$!
    until listening "$port" || ! kill -0 $served 2>/dev/null || [ $SECONDS -ge $until ]; do sleep 0.05; done
    sleep 0.1 # a server whose port is taken ends now
    kill -0 $served 2>/dev/null && listening "$port" && break
    kill -0 $served 2>/dev/null || { grep -q "Couldn't listen" "$out" && port=$((port + 1)) && continue; }
    kill $served 2>/dev/null
    words=$(last_words "$out")
    tell "$folder/$1.$2.port" "failed the server on $node did not start: ${words:-it did not listen within $limit s}"
    return
  done
  tell "$folder/$1.$2.port" "$port $(address_of "$2") $(addresses_here | tr '\n' ' ')"
  port=$((port + 1))
}

serve_step() { # STEP ADAPTER…: starts the servers, and waits for the clients
  local step=$1 name until
  shift
  for name in "$@"; do serve "$step" "$name"; done
  wait_for "$folder/$step.done"
  until=$((SECONDS + 5))
  while [ -n "$(jobs -rp)" ] && [ $SECONDS -lt $until ]; do sleep 0.05; done
  stop_children
}

ask_step() { # STEP ADAPTER…: runs the clients, and prints their output
  local step=$1 name at words how=alone code
  local -A process=() why=()
  shift
  [ $# -gt 1 ] && how="at-once"
  for name in "$@"; do
    wait_for "$folder/$step.$name.port"
    read -r at words < "$folder/$step.$name.port"
    [ "$at" = failed ] && why[$name]=$words && continue
    # shellcheck disable=SC2086 # several words: name and addresses
    run "$name" "$at" "$(reached_by $words)" > "$folder/$step.$name.client" &
    process[$name]=$!
  done
  for name in "$@"; do
    code=1
    [ -n "${process[$name]:-}" ] && { wait "${process[$name]}" && code=0 || code=$?; }
    [ $code = 124 ] && why[$name]="it took more than $limit s"
    echo "step $program $name $how code=$code"
    [ -e "$folder/$step.$name.client" ] && awk '{ print "| " $0 }' "$folder/$step.$name.client"
    [ -n "${why[$name]:-}" ] && echo "| adapter_pairs: ${why[$name]}"
    [ $code = 0 ] || missed=yes
  done
  tell "$folder/$step.done" ""
}

options=("$@") missed=''
tell "$folder/adapters.$rank" "$(adapters_here)"
mapfile -t names < <(adapters_here | cut -d' ' -f1)
wait_for "$folder/adapters.$((1 - rank))"
mine=$(cut -d' ' -f1 "$folder/adapters.$rank") others=$(cut -d' ' -f1 "$folder/adapters.$((1 - rank))")
[ -n "$mine" ] || give_up 1 "no active $what${wanted:+ among $wanted} ($sysfs/class)"
[ "$mine" = "$others" ] ||
  give_up 1 "the adapters of the two nodes differ: ${mine//$'\n'/ } on this node, ${others//$'\n'/ } on the other"
if [ "$rank" = 1 ]; then
  tell "$folder/node.1" "$node"
  wait_for "$folder/node.0"
  version=$(program_version)
  [ -n "$version" ] && echo "version $version"
  sed "s/^/adapter server $(cat "$folder/node.0") /" "$folder/adapters.0"
  sed "s/^/adapter client $node /" "$folder/adapters.1"
  act=ask_step
else
  tell "$folder/node.0" "$node"
  act=serve_step
fi
for name in "${names[@]}"; do $act "alone-$name" "$name"; done
[ -n "$at_once" ] && [ ${#names[@]} -gt 1 ] && $act "at-once" "${names[@]}"
[ "$rank" = 0 ] && exit 0
[ -n "$missed" ] && echo "Result: FAIL" && exit 1
echo "Result: PASS"
