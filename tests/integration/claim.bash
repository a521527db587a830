# To be sourced by a script that has `die` and `down FOLDER`:
#
# claim NAME FOLDER    the hosts NAME1, NAME2 … belong to the process that called the script, until it ends or releases them
# release NAME FOLDER
# owns NAME FOLDER     whether they belong to what runs in this folder
#
# Namespaces and bridges have one name on a machine. What a run left that was killed is cleared away by the next one: a
# killed run must not make every later one fail.

readonly claims=/run/linkmatrix-tests

since() { sed 's/.*) //' "/proc/$1/stat" 2>/dev/null | cut -d' ' -f20; } # PID: when it started, so that a number is one process

claim() {
  local name=$1 folder=$2 pid=0 start=0 old="" left
  mkdir -p "$claims"
  [ ! -s "$claims/$name" ] || read -r pid start old <"$claims/$name"
  if [ -n "$old" ]; then
    [ "$(since "$pid")" != "$start" ] || die "process $pid has such hosts already: ${0##*/} down $old"
    "$0" down "$old"
  fi
  for left in $(ip netns list | awk -v "name=$name" '$1 ~ "^" name "([0-9]+|-[a-z]+)?$" {print $1}'); do
    ip netns pids "$left" 2>/dev/null | xargs -r kill -KILL 2>/dev/null || true
    ip netns del "$left"
    rm -rf "/etc/netns/$left"
  done
  echo "$PPID $(since "$PPID") $folder" >"$claims/$name"
}

owns() { [ "$(cut -d' ' -f3- "$claims/$1" 2>/dev/null)" = "$2" ]; }

release() { ! owns "$1" "$2" || rm -f "$claims/$1"; }
