#!/bin/bash
mpirun -np 8 BUILD/bin/p2p_matrix --testcase rank_to_rank_latency_mpi --backend mpi --record record.json --max-display 1024
