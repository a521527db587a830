"""The build fixture: it builds the programs with Spack or CMake, or copies the programs of a platform wheel."""

import hashlib
import json
import os
import platform
import re
import shlex
import shutil
from pathlib import Path

import reframe as rfm
import reframe.utility.sanity as sn
import reframe.utility.typecheck as typ
from reframe.core.buildsystems import CustomBuild
from reframe.core.builtins import run_after, run_before, sanity_function, variable
from reframe.core.exceptions import BuildError, EnvironError
from reframe.core.logging import getlogger
from reframe.core.runtime import emit_loadenv_commands, runtime

from linkmatrix.errors import BadInput
from linkmatrix.files import write_whole
from linkmatrix.reframe_ext.sessions.fixtures import Restorable
from linkmatrix.reframe_ext.sessions.processes import layout_of
from linkmatrix.site import prebuilt, spack_environment
from linkmatrix.suite import PROGRAMS

from . import build_log, cmake_builds, shared_build
from .expect import ExpectedConfiguration

REPOSITORY = Path(__file__).resolve().parent.parent
METHODS = ("auto", "cmake", "prebuilt", "spack")
SCRIPTS = sorted((REPOSITORY / "src").glob("*/*.sh"))  # started by jobs
FEATURES = ("cuda", "mpi", "nccl")  # variants of the Spack recipe, and CMake options LINKMATRIX_<name>
#: Attributes of an environment that change the compiled programs.
COMPILED_WITH = ("cc", "cxx", "nvcc", "cppflags", "cxxflags", "ldflags", "modules_detailed")
#: Optional programs of other projects: from Spack, a module of the environment, or PATH.
PEERS = (
    *("nvbandwidth", "p2pBandwidthLatencyTest", "all_reduce_perf", "sendrecv_perf", "ib_write_bw", "ib_write_lat"),
    *("osu_bw", "osu_bibw", "osu_latency", "osu_mbw_mr", "osu_multi_lat"),
)


class build_linkmatrix(Restorable, rfm.CompileOnlyRegressionTest):
    """Builds the programs of src/ once per partition and environment, or copies the programs of a platform wheel.

    Nodes may lack the folder of the sources. Jobs therefore use only `<stagedir>/prefix/bin`, which contains the
    programs and the scripts of src/. `prefix/share/linkmatrix/build.json` describes the build, and contains the paths
    of the found benchmarks (PEERS).

    The features that partition and environment have in common select the parts of the build:

    * ``cuda``: the back end cuda, for the GPU architectures in ``extras['cuda_arch']`` of the environment, such as
      '80;90'. The default is the local GPUs.
    * ``mpi``: the back end mpi
    * ``nccl`` with ``cuda``: collectives of GPUs. ``extras['nccl_root']`` of the environment is CMake's NCCL_ROOT.

    The build runs on the machine of ReFrame. If ``build_locally`` in the partition's extras is False, the build runs in
    a job. ``spack_spec`` in the environment's extras is appended to Spack's spec, such as '%cxx=gcc@13'.
    """

    #: How to build: ``spack``, ``cmake``, ``prebuilt`` (the programs of a platform wheel) or ``auto``. ``auto`` uses
    #: Spack if `spack` is on PATH and ``spack-env/systems/<system>`` has a packages.yaml. Otherwise, ``auto`` uses the
    #: prebuilt programs if they have all features, or if this machine lacks a build tool. Otherwise, CMake builds.
    method = variable(str, value="auto", loggable=True)

    #: How the programs were built: ``cmake`` with its options, or the concrete spec.
    #: :default: set by the build
    built = variable(str, value="", loggable=True)

    #: The features of the partition that the programs lack. Their tests are skipped.
    #: :default: set by the build
    lacking = variable(typ.List[str], value=[], loggable=True)

    #: Why the programs lack features, in a sentence.
    #: :default: set by the build
    left_out = variable(str, value="", loggable=True)

    #: The programs that CMake builds. Modes without simulations leave out ``nbody_scaling``.
    #: :default: ``p2p_matrix``, ``collective_perf``, ``nbody_scaling``
    programs = variable(typ.List[str], value=list(PROGRAMS))

    #: Further options for CMake's configuration, for builds without Spack.
    cmake_opts = variable(typ.List[str], value=[])

    #: The folder of `<system>[/<partition>]/packages.yaml`.
    #: :default: ``spack-env/systems`` in the repository, or in the folder of ``linkmatrix init``
    spack_systems = variable(str, value=str(spack_environment.SITE / "systems"))

    #: An addition to Spack's spec, e.g. ``-S build_linkmatrix.spack_spec=build_type=RelWithDebInfo``.
    #: :default: the environment's ``extras['spack_spec']``, else empty
    spack_spec = variable(str, value="")

    #: Whether Spack also builds the programs of ``spack-env/peers.yaml`` that fit the environment.
    peers = variable(typ.Bool, value=False)

    #: The folder for object files and Spack's installations. Later sessions reuse the object files. Each set of
    #: sources and options has a separate folder inside.
    #: :default: ``$LINKMATRIX_BUILD``, else ``.build`` in the repository
    build_root = variable(str, value=os.environ.get("LINKMATRIX_BUILD") or str(REPOSITORY / ".build"))

    #: (file, content) of the mark, which identifies the sources of a build folder; None if nothing is compiled
    mark = None

    descr = "the programs of linkmatrix"
    sourcesdir = None  # the sources are built in place, so nothing is copied to the stage
    build_time_limit = "30m"
    keep_files = ["prefix/share/linkmatrix/build.json"]

    @run_after("init")
    def choose_build_host(self):
        """Sets `build_locally` from the partition's extras, before ReFrame creates the job."""
        by_name = {partition.fullname: partition for partition in runtime().system.partitions}
        local = [by_name[name].extras.get("build_locally", True) for name in self.valid_systems if name in by_name]
        self.build_locally = self.build_locally and all(local)

    @run_after("init")
    def ignore_exit_codes(self):
        """Switches off ReFrame's trap_job_errors. The verdict describes the fault better than an exit code of 1."""
        runtime().site_config.add_sticky_option("general/trap_job_errors", False)

    @run_before("compile")
    def request_node(self):
        """Requests the resources that each job of the partition must request. Only for a build in a job."""
        if self.build_locally:
            return
        self.extra_resources = {**self.extra_resources, "layout": layout_of(1, 1)}
        gpus = ExpectedConfiguration.of(self.current_partition).devices
        if gpus and self.current_partition.extras.get("gpus_in_every_job"):
            self.extra_resources["_rfm_gpu"] = {"num_gpus_per_node": gpus}

    @run_before("compile")
    def check_modules(self):
        """Raises BuildError if the modules of the partition or environment cannot be loaded."""
        try:
            emit_loadenv_commands(self.current_partition.local_env, self.current_environ)
        except EnvironError as error:
            text = " ".join((getattr(error.__cause__, "stderr", None) or str(error)).split())
            raise BuildError(
                f"modules of the environment {self.current_environ.name} cannot be loaded: {text}"
            ) from None

    @run_before("compile")
    def choose_method(self):
        if unknown := set(self.programs) - set(PROGRAMS):
            known = ", ".join(PROGRAMS)
            raise BuildError(f"build_linkmatrix.programs: unknown {', '.join(sorted(unknown))}, known are {known}")
        if self.method not in METHODS:
            raise BuildError(f"build_linkmatrix.method={self.method} is unknown: use one of {', '.join(METHODS)}")
        # A failed build ends its job with exit code 0, so that `report_failure` reports the cause instead of ReFrame.
        self.prebuild_cmds = ["trap 'exit 0' ERR", "rm -f built"]
        try:
            if self.method in ("auto", "spack"):
                self.choose_spack()
            {"cmake": self.with_cmake, "prebuilt": self.with_prebuilt, "spack": self.with_spack}[self.method]()
        except (BadInput, OSError) as error:
            raise BuildError(str(error)) from None
        # `command -v` prints the path of each program that it finds
        self.postbuild_cmds += [f"PATH=$PWD/prefix/bin:$PATH command -v {' '.join(PEERS)} > peers || :", "touch built"]

    def features(self):
        found = set(self.current_partition.features) & set(self.current_environ.features)
        return found if "cuda" in found else found - {"nccl"}

    def architectures(self):
        """The GPU architectures in `extras['cuda_arch']`, such as ["80", "90"]."""
        text = str(self.current_environ.extras.get("cuda_arch", "")) if "cuda" in self.features() else ""
        return re.findall(r"[^\s;,]+", text)

    def place(self):
        return self.spack_systems, self.current_system.name, self.current_partition.name

    def spack_root(self):
        return Path(self.build_root) / "spack"

    def choose_spack(self):
        """Sets `method` to "spack", "prebuilt" or "cmake". Raises BadInput if Spack is required but cannot build."""
        reason = spack_environment.unusable_reason(self.spack_root(), *self.place())
        if reason and self.method == "spack":
            raise BadInput(reason)
        if not reason:
            self.method = "spack"
        elif self.can_use_prebuilt():
            self.method = "prebuilt"
        else:
            getlogger().info(f"building with CMake alone, because {reason}")
            self.method = "cmake"

    def can_use_prebuilt(self):
        """Whether the prebuilt programs fit this machine, and have all features or cannot be replaced by a build."""
        needed = prebuilt.needed_features(self.features() & set(FEATURES))
        gpus = self.current_partition.select_devices("gpu") if "cuda" in needed else []
        machine, archs = self.current_partition.processor.platform, [gpu.arch for gpu in gpus]
        if self.cmake_opts or not prebuilt.fits_machine(needed - set(prebuilt.NEVER), archs, machine):
            return False
        return not needed & set(prebuilt.NEVER) or bool(self.missing_tool())

    def with_prebuilt(self):
        """Copies the programs of a platform wheel. Raises BadInput if no wheel with programs is installed."""
        content = prebuilt.build_facts()
        if not content:
            raise BadInput("there are no prebuilt programs: install a wheel of 'make wheel', or use another method")
        self.lacking = sorted(prebuilt.needed_features(self.features() & set(FEATURES)) - set(content["features"]))
        here = self.current_partition.scheduler.registered_name == "local"
        if self.lacking or (here and "mpi" not in self.current_partition.features):
            self.left_out = prebuilt.left_out_sentence(self.current_environ.cxx, "cuda" in self.features())
            getlogger().info(f"linkmatrix: note: {self.left_out}")
        self.build_system = CustomBuild()
        programs = shlex.quote(str(prebuilt.FOLDER / "bin"))
        self.build_system.commands = ["rm -rf prefix", "mkdir prefix", f"cp -R {programs} prefix/bin"]
        self.built = f"prebuilt: {content['built']}"

    def with_spack(self):
        files = spack_environment.package_files(*self.place())
        if self.build_locally:  # compute nodes may have other external packages
            spack_environment.check_externals(files, self.architectures())
        features = self.features() & set(FEATURES)
        gpus = self.current_partition.select_devices("gpu") if "cuda" in features else []
        archs = self.architectures() or sorted({gpu.arch.removeprefix("sm_") for gpu in gpus})  # CMake asks the GPUs
        further = self.spack_spec or self.current_environ.extras.get("spack_spec", "")
        specs = [spack_environment.spec({name: name in features for name in FEATURES}, archs, further)]
        specs += spack_environment.peer_specs(features, archs) if self.peers else []
        folder = spack_environment.environment_folder(specs, files, self.spack_root())
        if shared_build.writable(folder):
            spack_environment.prepare(specs, files, self.spack_root())
            self.mark = shared_build.remove_mark(folder, self.programs)
            self.prebuild_cmds += shared_build.exclusive_lock_commands(folder)
            self.build_system = "Spack"
            self.build_system.environment = str(folder)
        elif shared_build.is_built(folder, self.programs, spack_environment.PROGRAMS):
            self.prebuild_cmds += shared_build.shared_lock_commands(folder)
            self.build_system = CustomBuild()
            self.build_system.commands = [":"]
        else:
            shared_build.refuse_read_only(folder)
        self.postbuild_cmds = spack_environment.copy_commands(folder, self.peers)
        self.keep_files = [*self.keep_files, "spack.lock"]

    def with_cmake(self):
        reason = self.missing_tool()
        if reason:
            raise BadInput(reason)
        switch = {True: "ON", False: "OFF"}
        options = [f"-DLINKMATRIX_{name.upper()}={switch[name in self.features()]}" for name in FEATURES]
        if self.architectures():
            options.append(f"-DCMAKE_CUDA_ARCHITECTURES={';'.join(self.architectures())}")
        if "nccl" in self.features() and (place := self.current_environ.extras.get("nccl_root")):
            options.append(f"-DNCCL_ROOT={place}")
        preset = self.preset_folder(options)
        self.build_system = cmake_builds.BuiltByPreset() if preset else cmake_builds.ConfiguredOnce()
        self.build_system.configuredir = shlex.quote(str(REPOSITORY / "src"))
        self.build_system.max_concurrency = os.cpu_count()
        self.build_system.config_opts = [
            *(["-G Ninja"] if shutil.which("ninja") else []),
            "-DCMAKE_BUILD_TYPE=Release",
            *cmake_builds.UNITY,
            *map(shlex.quote, options),
            *self.cmake_opts,
        ]
        self.build_system.build_opts = self.programs
        self.built = " ".join(["cmake", *options, *self.cmake_opts])
        folder = preset or self.build_folder()
        # `make build` may have changed the folder of a preset, so a user with write access builds again
        final = not preset or (shared_build.is_unchanged(folder, self.programs) and not shared_build.writable(folder))
        if not (final and shared_build.is_built(folder, self.programs)):
            self.build_in(folder)
            return
        self.prebuild_cmds += shared_build.shared_lock_commands(folder)
        self.build_system = CustomBuild()
        self.build_system.commands = shared_build.copy_commands(folder, self.programs)

    def build_in(self, folder):
        """Sets the build folder and its commands. Raises BadInput if this user has no write access."""
        shared_build.refuse_read_only(folder)
        if notice := cmake_builds.first_build_notice(folder):
            getlogger().info(notice)
        folder.parent.mkdir(parents=True, exist_ok=True)
        self.build_system.builddir = shlex.quote(str(folder))
        self.mark = shared_build.remove_mark(folder, self.programs)
        self.prebuild_cmds += shared_build.exclusive_lock_commands(folder)
        install = f"cmake --install {shlex.quote(str(folder))} --prefix prefix --component"
        self.postbuild_cmds = [f"{install} {name}" for name in self.programs]

    def missing_tool(self):
        """A sentence about a missing build tool; "" if no tool is missing.

        Also "" if modules or a compute node may provide the tools, because these tools cannot be checked here.
        """
        environ, partition = self.current_environ, self.current_partition
        provided = environ.modules or partition.local_env.modules or partition.prepare_cmds
        if not self.build_locally or provided or "PATH" in {*environ.env_vars, *partition.local_env.env_vars}:
            return ""
        if not shutil.which("cmake"):
            return "no cmake is on PATH: install it (pip install cmake ninja), or load its module"
        if environ.cxx and not shutil.which(environ.cxx):
            return f"no C++ compiler {environ.cxx} is on PATH: install it (Debian: apt install g++), or load its module"
        return ""

    def preset_folder(self, options):
        """A build folder of `make build` with the same options; None if there is no such folder."""
        if not self.build_locally or self.cmake_opts:
            return None
        values = dict(option.removeprefix("-D").split("=", 1) for option in options)
        values["CMAKE_BUILD_TYPE"] = "Release"
        return cmake_builds.matching_folder(Path(self.build_root), REPOSITORY / "src", self.current_environ, values)

    def build_folder(self):
        """The build folder. Its name contains the processor, and a hash of compilers, flags, options and sources."""
        environ, partition = self.current_environ, self.current_partition
        inputs = [getattr(environ, name) for name in COMPILED_WITH]
        inputs += [sorted(environ.env_vars.items()), self.build_system.config_opts, str(REPOSITORY)]
        inputs += cmake_builds.on_path("mpicxx", environ.cxx, environ.nvcc)
        key = hashlib.sha256(repr(inputs).encode()).hexdigest()[:8]
        # a compute node's processor may differ from the processor of this machine
        machine = platform.machine() if self.build_locally else partition.processor.platform or partition.name
        return Path(self.build_root).absolute() / f"programs-{machine}-{key}"

    @run_after("compile")
    def report_failure(self):
        """Raises BuildError with the causes from the output of the build. ReFrame appends the end of the output."""
        stage = Path(self.stagedir)
        if self.is_dry_run() or (stage / "built").exists():
            return
        outputs = [stage / sn.evaluate(name) for name in (self.build_job.stdout, self.build_job.stderr)]
        texts = [output.read_text(errors="replace") if output.exists() else "" for output in outputs]
        causes = "\n".join(build_log.causes(texts))
        places = ", ".join([*build_log.logs(texts), *map(str, outputs)])
        raise BuildError(f"the build failed: {causes}\nlogs: {places}")

    @run_after("compile")
    def describe(self):
        """Writes build.json: the method, its options, and {name: path} of the found benchmarks (PEERS)."""
        if self.is_dry_run():
            return
        stage = Path(self.stagedir)
        if self.method == "spack":
            self.built = spack_environment.concrete_spec(stage / "spack.lock")
        self.found_peers = {Path(path).name: path for path in (stage / "peers").read_text().splitlines()}
        for script in SCRIPTS:
            shutil.copy2(script, stage / "prefix" / "bin")
        if self.mark:
            write_whole(*self.mark)
        content = {"method": self.method, "built": self.built, "peers": self.found_peers}
        write_whole(stage / "prefix/share/linkmatrix/build.json", f"{json.dumps(content, indent=2)}\n".encode())

    @sanity_function
    def check_programs(self):
        folder = Path(self.stagedir) / "prefix" / "bin"
        missing = [str(folder / name) for name in self.programs if not os.access(folder / name, os.X_OK)]
        return sn.assert_true(not missing, msg=f"the build did not create {' and '.join(missing)}")
