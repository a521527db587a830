#!/bin/bash
rm -rf process1; mkdir -p process1
STAGE/build_linkmatrix/prefix/bin/collective_perf --testcase TESTCASE --timeout 660 --record process1/record.json --asked-by CHECK --sweep 1KiB:1GiB:4 > process1/out 2> process1/err
rm -rf process2; mkdir -p process2
STAGE/build_linkmatrix/prefix/bin/collective_perf --testcase TESTCASE --record process2/record.json --asked-by CHECK --size 256MiB > process2/out 2> process2/err
rm -rf process3; mkdir -p process3
STAGE/build_linkmatrix/prefix/bin/collective_perf --testcase TESTCASE --record process3/record.json --asked-by CHECK > process3/out 2> process3/err
code=$?; echo $SECONDS > seconds; (exit $code)
