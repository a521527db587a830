"""The build fixture: one contract, whatever way the programs are built."""

import hashlib
import os
import shlex
import shutil
from pathlib import Path

import reframe as rfm
import reframe.utility.sanity as sn
import reframe.utility.typecheck as typ
from reframe.core.builtins import run_before, sanity_function, variable
from reframe.core.exceptions import BuildError

REPOSITORY = Path(__file__).resolve().parent.parent


class build_linkmatrix(rfm.CompileOnlyRegressionTest):
    """Builds the programs of src/ once for each partition and environment.

    It leaves `<stagedir>/prefix/bin/<program>`; checks use nothing else. What is built follows from the features that
    the partition and the environment have in common:

    ============  =====================================================================
    feature       adds
    ============  =====================================================================
    ``cuda``      the back end cuda, for the architectures of the environment's
                  ``extras['cuda_arch']`` ('90', or '80;90'), else for the GPUs at hand
    ``mpi``       the back end mpi
    ============  =====================================================================
    """

    #: How to build: ``auto`` (takes ``cmake``), ``cmake`` or ``spack``.
    #:
    #: :type: :class:`str`
    #: :default: ``'auto'``
    method = variable(str, value="auto", loggable=True)

    #: Further options for CMake's configuration.
    #:
    #: :type: :class:`List[str]`
    #: :default: ``[]``
    cmake_opts = variable(typ.List[str], value=[])

    #: Where object files are kept from one session to the next, so that a session that follows a build has nothing to
    #: compile. Each set of sources and options has a folder of its own in here.
    #:
    #: :type: :class:`str`
    #: :default: ``$LINKMATRIX_BUILD``, else ``.build`` in the repository
    build_root = variable(str, value=os.environ.get("LINKMATRIX_BUILD") or str(REPOSITORY / ".build"))

    descr = "the programs of linkmatrix"
    sourcesdir = None  # nothing is copied to the stage: the sources are built where they are
    build_locally = True
    build_time_limit = "30m"

    @run_before("compile")
    def choose_method(self):
        ways = {"auto": self.with_cmake, "cmake": self.with_cmake, "spack": self.with_spack}
        if self.method not in ways:
            raise BuildError(f"build_linkmatrix.method={self.method} is none of {', '.join(ways)}")
        ways[self.method]()

    def features(self):
        return set(self.current_partition.features) & set(self.current_environ.features)

    def with_spack(self):
        raise BuildError("building with Spack is not available in this version: use -S build_linkmatrix.method=cmake")

    def with_cmake(self):
        switch = {True: "ON", False: "OFF"}
        options = [f"-DLINKMATRIX_{name.upper()}={switch[name in self.features()]}" for name in ("cuda", "mpi")]
        arch = self.current_environ.extras.get("cuda_arch")
        if arch and "cuda" in self.features():
            options.append(f"-DCMAKE_CUDA_ARCHITECTURES={arch}")

        self.build_system = "CMake"
        self.build_system.configuredir = shlex.quote(str(REPOSITORY / "src"))
        self.build_system.max_concurrency = os.cpu_count()
        self.build_system.config_opts = [
            *(["-G Ninja"] if shutil.which("ninja") else []),
            "-DCMAKE_BUILD_TYPE=Release",
            *map(shlex.quote, options),
            *self.cmake_opts,
        ]
        folder = self.build_folder()
        folder.parent.mkdir(parents=True, exist_ok=True)
        self.build_system.builddir = shlex.quote(str(folder))
        # Two sessions may share the folder: the second waits. The lock ends with the script.
        self.prebuild_cmds = [f"exec 9> {shlex.quote(f'{folder}.lock')}", "flock --timeout 1800 9"]
        # Programs are copied, because a later build overwrites its own while jobs still run.
        self.postbuild_cmds = [f"cmake --install {shlex.quote(str(folder))} --prefix prefix"]

    def build_folder(self):
        """A folder for this partition and environment; its name ends in a hash of all that makes objects unusable."""
        environ = self.current_environ
        made_of = [environ.cc, environ.cxx, environ.nvcc, environ.cxxflags, environ.ldflags, environ.modules_detailed]
        made_of += [sorted(environ.env_vars.items()), self.build_system.config_opts, str(REPOSITORY)]
        key = hashlib.sha256(repr(made_of).encode()).hexdigest()[:8]
        place = [self.current_system.name, self.current_partition.name, environ.name, key]
        return Path(self.build_root).absolute() / "-".join(place)

    @sanity_function
    def programs_are_there(self):
        program = os.path.join(self.stagedir, "prefix", "bin", "p2p_matrix")
        return sn.assert_true(os.access(program, os.X_OK), msg=f"the build left no program {program}")
