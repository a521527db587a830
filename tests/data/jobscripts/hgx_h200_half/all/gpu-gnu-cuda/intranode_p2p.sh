#!/bin/bash
STAGE/build_linkmatrix/prefix/bin/p2p_matrix --testcase TESTCASE --backend cuda --record record.json --max-display 1024
