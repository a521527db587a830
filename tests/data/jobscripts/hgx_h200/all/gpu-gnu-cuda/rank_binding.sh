#!/bin/bash
mpirun -np 8 --bind-to core ./binding.sh
