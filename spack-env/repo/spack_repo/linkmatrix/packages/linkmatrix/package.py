"""The recipe: variants become the CMake options of src/CMakeLists.txt, and nothing else."""

import pathlib

from spack_repo.builtin.build_systems.cmake import CMakePackage
from spack_repo.builtin.build_systems.cuda import CudaPackage

from spack.package import conflicts, depends_on, license, variant, version, which

CHECKOUT = pathlib.Path(__file__).resolve().parents[6]


class Linkmatrix(CMakePackage, CudaPackage):
    """Measures every link of a GPU cluster as a matrix: the native programs."""

    # the checkout that this recipe lies in: a release is one of its tags, and needs no network
    git = f"file://{CHECKOUT}"

    license("Apache-2.0")

    # A release adds a line: version("1.2.3", tag="v1.2.3", commit="…"). What is checked out now is
    # built by the `develop` section of an environment (../../../../../spack.yaml), from src/.
    version("main", branch="main")

    variant("mpi", default=True, description="Build the back end mpi")
    variant("nccl", default=False, description="Build the collectives of GPUs, by NCCL")

    conflicts(
        "+nccl", when="~cuda", msg="+nccl needs +cuda: say '+cuda cuda_arch=90 +nccl', or '~nccl'"
    )
    conflicts(
        "cuda_arch=none",
        when="+cuda",
        msg="+cuda needs an architecture: say 'cuda_arch=90' for an H100 or H200",
    )

    depends_on("cxx", type="build")
    depends_on("cmake@3.21:", type="build")
    # a developed package is built in its sources' own environment: no tests unless asked for
    depends_on("googletest", type="test")
    depends_on("mpi", when="+mpi")
    for arch in CudaPackage.cuda_arch_values:
        depends_on(f"nccl +cuda cuda_arch={arch}", when=f"+nccl cuda_arch={arch}")

    sanity_check_is_file = ["bin/p2p_matrix"]

    @property
    def root_cmakelists_dir(self):
        """`develop` names src itself, a release has it as a folder."""
        source = pathlib.Path(self.stage.source_path)
        return str(source if "dev_path" in self.spec.variants else source / "src")

    def cmake_args(self):
        args = [
            self.define_from_variant("LINKMATRIX_CUDA", "cuda"),
            self.define_from_variant("LINKMATRIX_MPI", "mpi"),
            self.define_from_variant("LINKMATRIX_NCCL", "nccl"),
            self.define("LINKMATRIX_TESTS", self.run_tests),
        ]
        if self.spec.satisfies("+cuda"):
            args.append(
                self.define("CMAKE_CUDA_ARCHITECTURES", self.spec.variants["cuda_arch"].value)
            )
            args.append(self.define("CMAKE_CUDA_COMPILER", self.spec["cuda"].prefix.bin.nvcc))
        if self.spec.satisfies("+nccl"):
            args.append(self.define("NCCL_ROOT", self.spec["nccl"].prefix))
        return args

    def said(self, option):
        """What p2p_matrix prints for an option that needs no device."""
        return which(self.prefix.bin.p2p_matrix)(option, output=str.split, error=str.split)

    def test_version(self):
        """p2p_matrix says which program it is"""
        assert "linkmatrix p2p_matrix" in self.said("--version")

    def test_list(self):
        """p2p_matrix lists its test cases"""
        assert "device_to_device_memcpy_write_ce" in self.said("--list")
