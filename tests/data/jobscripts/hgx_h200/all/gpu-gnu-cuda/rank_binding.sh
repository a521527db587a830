#!/bin/bash
mpirun -np 8 ./binding.sh
