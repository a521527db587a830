"""The Spack environment that the build fixture writes: one for each set of variants and packages, never changed after.

    <root>/<key>/spack.yaml    generated, every path in it absolute
                 spack.lock    Spack's, concretised once: 20 s that no later session spends
                 view/bin      the programs, where Spack installed them
    <root>/opt, <root>/stage   install tree and build stage of all of them, apart from the user's own

The key is a hash of spack.yaml, of the files that it includes, of the recipe and of Spack's version.
"""

import hashlib
import json
import os
import re
from pathlib import Path

import yaml

from linkmatrix import spack
from linkmatrix.errors import BadInput

REPOSITORY = Path(__file__).resolve().parent.parent
HOME = REPOSITORY / "spack-env"
REPO = HOME / "repo" / "spack_repo" / "linkmatrix"


def package_files(systems, system, partition):
    """The packages.yaml of a partition and of its system, as far as they are there; in Spack, the first wins."""
    folder = Path(systems).absolute() / system
    return [file for file in (folder / partition / "packages.yaml", folder / "packages.yaml") if file.is_file()]


def why_not(systems, system, partition):
    """Why Spack cannot build for a partition, in words; "" where it can. Raises BadInput."""
    reason = spack.why_not()
    if reason:
        return reason
    if not package_files(systems, system, partition):
        wanted = Path(systems).absolute() / system / "packages.yaml"
        return f"{wanted} is missing: 'linkmatrix detect --spack --system {system}' writes one"
    return ""


def externals(files):
    """(file, spec, prefix) of each external in packages.yaml files; the prefix is "" where a module stands for it.

    Raises BadInput where a file is not what Spack reads.
    """
    found = []
    for file in files:
        try:
            packages = yaml.safe_load(file.read_text(encoding="utf-8"))["packages"]
            entries = [entry for package in packages.values() for entry in package.get("externals", ())]
            found += [(file, entry["spec"], entry.get("prefix", "")) for entry in entries]
        except yaml.YAMLError as error:
            place = getattr(error, "problem_mark", None)
            raise BadInput(f"{file}: line {place.line + 1 if place else 1} is not YAML") from None
        except (KeyError, TypeError, AttributeError):
            raise BadInput(f"{file} is no packages.yaml: see {HOME / 'README.md'} for what stands in one") from None
    return found


def check_externals(files, archs):
    """Every external is where its entry says, and a CUDA among them knows all of `archs` ("90"). Raises BadInput."""
    toolkits = []
    for file, spec, prefix in externals(files):
        if prefix and not Path(prefix).is_dir():
            raise BadInput(f"{file}: {spec} should be in {prefix}, which is no folder here: correct the entry")
        if prefix and re.match(r"cuda(?![\w-])", spec):
            toolkits.append((file, spec, Path(prefix) / "bin" / "nvcc"))
    known = {toolkit: set(spack.answer(toolkit[2], "--list-gpu-arch").split()) for toolkit in toolkits}
    if archs and known and not any(all(f"compute_{arch}" in one for arch in archs) for one in known.values()):
        file, spec, _ = toolkits[0]
        raise BadInput(
            f"{file}: {spec} does not compile for cuda_arch {','.join(archs)}: name a CUDA toolkit that does, or"
            " another cuda_arch in the environment's extras"
        )


def manifest(spec, files, root, folder):
    """The text of a spack.yaml that installs `spec` from this checkout into the tree `root`."""
    return yaml.safe_dump(
        {
            "spack": {
                "include": [str(file) for file in files],
                "repos": {"linkmatrix": str(REPO)},
                "specs": [spec],
                "develop": {"linkmatrix": {"spec": "linkmatrix@=main", "path": str(REPOSITORY / "src")}},
                "concretizer": {"unify": True, "reuse": False},
                "config": {
                    "install_tree": {"root": str(root / "opt")},
                    # its name has no tree in it: the stage of another tree would be taken for this one's
                    "build_stage": [str(root / "stage")],
                    # else Spack leaves a link in src
                    "develop_stage_link": "None",
                },
                "view": {"default": {"root": str(folder / "view"), "link": "roots"}},
            }
        },
        sort_keys=False,
    )


def prepare(spec, files, root):
    """The folder of the environment for `spec`, written if it is not there. Raises BadInput, OSError."""
    root = Path(root).absolute()
    if re.search(r"\s", str(root)):
        raise BadInput(f"Spack cannot build in {root!s}, which has a space: say -S build_linkmatrix.build_root=FOLDER")
    recipe = REPO / "packages" / "linkmatrix" / "package.py"
    made_of = [spack.version(), manifest(spec, files, root, root), *(file.read_text() for file in [*files, recipe])]
    folder = root / hashlib.sha256(repr(made_of).encode()).hexdigest()[:16]
    file = folder / "spack.yaml"
    if not file.exists():
        folder.mkdir(parents=True, exist_ok=True)
        scratch = folder / f"spack.yaml.{os.getpid()}"
        scratch.write_text(manifest(spec, files, root, folder), encoding="utf-8")
        scratch.replace(file)
    return folder


def concrete_spec(lock):
    """What a spack.lock says was built: the package with its variants and hash, then what it was built with."""
    content = json.loads(Path(lock).read_text(encoding="utf-8"))
    (root,) = (one["hash"] for one in content["roots"] if re.match(r"linkmatrix\b", one["spec"]))
    specs = content["concrete_specs"]
    node = specs[root]
    variants = [variant(name, value) for name, value in sorted(node["parameters"].items()) if value not in ([], "")]
    needs = sorted(f"^{specs[one['hash']]['name']}@{specs[one['hash']]['version']}" for one in node["dependencies"])
    target = node["arch"]["target"]
    target = target if isinstance(target, str) else target["name"]
    return " ".join([f"linkmatrix@{node['version']}", *variants, f"target={target}", f"/{root[:7]}", *needs])


def variant(name, value):
    """A variant as it is said on a command line."""
    if isinstance(value, bool):
        return ("+" if value else "~") + name
    return f"{name}={','.join(value) if isinstance(value, list) else value}"
