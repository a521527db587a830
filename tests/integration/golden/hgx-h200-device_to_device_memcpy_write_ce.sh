#!/bin/bash
BUILD/bin/p2p_matrix --testcase device_to_device_memcpy_write_ce --backend cuda --record record.json --max-display 1024
