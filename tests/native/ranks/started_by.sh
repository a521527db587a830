#!/bin/sh
# Starts a rank by a shell of its own, and computes as long as that is there; so does another child of it.
# usage: started_by.sh FOLDER COMMAND…: the process numbers of the three are in FOLDER/above and FOLDER/beside.
folder=$1
measuring=$folder/measuring.$$
shift
: >"$measuring"
sh -c 'measuring=$1; shift; "$@"; code=$?; rm "$measuring"; exit "$code"' started "$measuring" "$@" &
started=$!
sh -c 'echo $$ >>"$1"; while [ -e "$2" ]; do :; done' beside "$folder/beside" "$measuring" &
printf '%s\n' "$$" "$started" >>"$folder/above"
while [ -e "$measuring" ]; do :; done
wait "$started"
