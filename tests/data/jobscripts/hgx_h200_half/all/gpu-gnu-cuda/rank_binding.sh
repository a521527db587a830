#!/bin/bash
mpirun -np 4 --bind-to core ./binding.sh
