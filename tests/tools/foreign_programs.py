"""The programs, versions and options that `linkmatrix import` reads, each with its test data.

tests/unit/test_foreign.py reads each row. The page "Output of other programs" prints the rows.
"""

from typing import NamedTuple


class Program(NamedTuple):
    """A row of the page.

    versions: with a tested layout, "" if the program prints no version. data: a file of tests/data. name:
    `imported.program` in the record.
    """

    title: str
    versions: str
    options: str
    output: str
    name: str
    data: str


PROGRAMS = (
    Program("nvbandwidth", "0.2", "", "text", "nvbandwidth", "../../config/references/published/003_h800.txt"),
    Program("nvbandwidth", "0.8", "", "text", "nvbandwidth", "foreign/nvbandwidth_v0.8_layout.txt"),
    Program("nvbandwidth", "0.8", "-j", "JSON", "nvbandwidth", "foreign/nvbandwidth_v0.8_layout.json"),
    Program("nvbandwidth", "0.10", "", "text", "nvbandwidth", "foreign/nvbandwidth_v0.10_b300.txt"),
    Program("nvbandwidth", "0.10", "--pair", "text", "nvbandwidth", "foreign/nvbandwidth_v0.10_pair.txt"),
    Program("sailbandwidth", "1.2", "", "text", "sailbandwidth", "foreign/sailbandwidth_v1.2_layout.txt"),
    Program("sailbandwidth", "1.2", "-j", "JSON", "sailbandwidth", "foreign/sailbandwidth_v1.2_layout.json"),
    Program(
        "p2pBandwidthLatencyTest",
        "CUDA samples",
        "--p2p_read, --sm_copy",
        "text",
        "p2p_bandwidth_latency_test",
        "foreign/h100_acceptance_sheet.txt",
    ),
    Program(
        "p2pBandwidthLatencyTest",
        "PCCL tools of T-Head",
        "--p2p_type, --kernel",
        "text",
        "p2p_bandwidth_latency_test_ppu",
        "../../config/references/published/000_ppu.txt",
    ),
    Program("OSU micro-benchmarks", "7.4", "-c, -m", "text", "osu", "foreign/osu_bw_validated.txt"),
    Program("OSU micro-benchmarks", "7.5", "D D, H H", "text", "osu", "foreign/osu_bw_v7.5_dd.txt"),
    Program("nccl-tests", "2.13", "-b, -e, -f, -g, -t", "text", "nccl_tests", "foreign/nccl_tests_v2.13_layout.txt"),
    Program("nccl-tests", "2.20", "-S, -C, -I", "text", "nccl_tests", "foreign/nccl_tests_v2.20_S_layout.txt"),
    Program("nccl-tests", "2.19, 2.20", "-J", "JSON", "nccl_tests", "foreign/nccl_tests_v2.19_J_layout.json"),
    Program("rccl-tests", "develop:448c4c7", "", "text", "rccl_tests", "foreign/rccl_tests_mi300x.txt"),
    Program("perftest: ib_*_bw", "4.5 to 6", "-a, -b, -D, --report_gbits", "text", "perftest", "perftest/bw.txt"),
    Program("perftest: ib_*_lat", "4.5 to 6", "-a, -D", "text", "perftest", "perftest/lat.txt"),
    Program("perftest", "4.5 and later", "--out_json", "JSON", "perftest", "foreign/perftest_layout.json"),
    Program("ucx_perftest", "1.13", "-t tag_bw", "text", "ucx_perftest", "foreign/ucx_tag_bw.txt"),
    Program("TransferBench", "1.60", "a2a", "text", "transferbench", "foreign/transferbench_a2a_mi300x.txt"),
    Program("TransferBench", "1.60", "p2p", "text", "transferbench", "foreign/transferbench_p2p_mi300x.txt"),
    Program("TransferBench", "1.60", "nicp2p", "text", "transferbench", "foreign/transferbench_nicp2p_mi350x.txt"),
    Program("TransferBench", "1.60", "nicrings", "text", "transferbench", "foreign/transferbench_nicrings_mi350x.txt"),
    Program("nvloom", "1.3", "", "text", "nvloom", "foreign/nvloom_v1.3_layout.txt"),
    Program("nvidia-smi topo", "", "-m", "text", "nvidia_smi", "foreign/topo_gb200.txt"),
    Program("nvidia-smi nvlink", "", "-s, -e", "text", "nvidia_smi", "foreign/nvlink_h100_layout.txt"),
    Program("dcgmi diag", "3, 4", "-j", "JSON", "dcgmi_diag", "foreign/dcgm_diag_v4_layout.json"),
)
