#!/bin/bash
mpirun -np 4 ./binding.sh
