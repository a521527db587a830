#!/bin/bash
STAGE/build_linkmatrix/prefix/bin/p2p_matrix --topology --backend cuda --record record.json --max-display 1024
