"""The Spack environments of the build fixture: one per set of variants and packages. An environment never changes.

    <root>/<key>/spack.yaml    generated, with absolute paths
                 spack.lock    concretised once, which saves later sessions 20 s
                 view/bin      the installed programs
    <root>/opt, <root>/stage   install tree and build stage of all environments, separate from the user's Spack
    <root>/links               links to build stages (otherwise, Spack writes these links into src)

The key is a hash of spack.yaml, of the files that it includes, of the recipe and of Spack's version.
"""

import hashlib
import json
import os
import re
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml

from .. import suite
from ..errors import BadInput
from ..files import write_whole
from . import spack

HOME = suite.FOLDER / "spack-env"
PROGRAMS = "view/bin"  # the programs of an environment's folder
SITE = Path(os.environ.get("LINKMATRIX_SITE") or suite.FOLDER) / "spack-env"  # config/settings.py sets it
PEERS = HOME / "peers.yaml"
REPO = HOME / "repo" / "spack_repo" / "linkmatrix"


def package_files(systems: str, system: str, partition: str) -> list[Path]:
    """The existing packages.yaml files of a partition and of its system. In Spack, the first file has priority."""
    folder = Path(systems).absolute() / system
    return [file for file in (folder / partition / "packages.yaml", folder / "packages.yaml") if file.is_file()]


def unusable_reason(root: Path | str, systems: str, system: str, partition: str) -> str:
    """The reason why Spack cannot build for a partition; "" if Spack can build.

    root: the folder of the build.
    systems: the folder that contains a folder of packages.yaml files per system.
    """
    try:
        reason = spack.unusable_reason()
    except BadInput as error:
        return str(error)
    if reason:
        return reason
    if not package_files(systems, system, partition):
        wanted = Path(systems).absolute() / system / "packages.yaml"
        return f"{wanted} is missing: 'linkmatrix detect --spack --system {system}' writes one"
    if re.search(r"[^\w./-]", str(Path(root).absolute()), re.ASCII):
        return (
            f"Spack cannot build in '{root}': use letters, digits and . / _ - in -S build_linkmatrix.build_root=FOLDER"
        )
    return ""


def externals(files: Iterable[Path]) -> list[tuple[Path, str, str]]:
    """Returns (file, spec, prefix) of each external package in packages.yaml files. The prefix of a module is "".

    Raises BadInput for a file in another format.
    """
    found: list[tuple[Path, str, str]] = []
    for file in files:
        try:
            packages = yaml.safe_load(file.read_text(encoding="utf-8"))["packages"]
            entries = [entry for package in packages.values() for entry in package.get("externals", ())]
            found += [(file, entry["spec"], entry.get("prefix", "")) for entry in entries]
        except yaml.YAMLError as error:
            place = getattr(error, "problem_mark", None)
            raise BadInput(f"{file}: line {place.line + 1 if place else 1} is not YAML") from None
        except (KeyError, TypeError, AttributeError):
            raise BadInput(f"{file} is not a packages.yaml: see {HOME / 'README.md'} for its content") from None
    return found


def check_externals(files: Iterable[Path], archs: list[str]) -> None:
    """Checks the external packages in packages.yaml files.

    Raises BadInput if a prefix is not a folder, or if no CUDA compiles for all architectures.
    archs: the architectures of GPUs, such as "90".
    """
    toolkits = []
    for file, spec, prefix in externals(files):
        if prefix and not Path(prefix).is_dir():
            raise BadInput(f"{file}: {spec} should be in {prefix}, which is not a folder here: correct the entry")
        if prefix and re.match(r"cuda(?![\w-])", spec):
            toolkits.append((file, spec, Path(prefix) / "bin" / "nvcc"))
    known = {toolkit: set(spack.answer(toolkit[2], "--list-gpu-arch").split()) for toolkit in toolkits}
    if archs and known and not any(all(f"compute_{arch}" in one for arch in archs) for one in known.values()):
        file, spec, _ = toolkits[0]
        raise BadInput(
            f"{file}: {spec} does not compile for cuda_arch {','.join(archs)}: name a CUDA toolkit that supports it,"
            " or another cuda_arch in the environment's extras"
        )


def spec(variants: Mapping[str, bool], archs: list[str], further: str = "") -> str:
    """The spec of linkmatrix.

    variants: {name: whether the variant is on}.
    archs: the architectures of GPUs, such as "90".
    further: text to append to the spec.
    """
    switched = [("+" if on else "~") + name for name, on in variants.items()]
    arch = [f"cuda_arch={','.join(archs)}"] if archs else []
    return " ".join(["linkmatrix@main", *switched, *arch, *([further] if further else [])])


def peer_specs(features: Collection[str], archs: list[str]) -> list[str]:
    """The specs of established benchmarks in peers.yaml, for an environment with these features.

    archs: the architectures of GPUs, such as "90".
    """
    lists = {name: specs for one in yaml.safe_load(PEERS.read_text())["definitions"] for name, specs in one.items()}
    wanted = {"peers_" + "_".join(sorted(set(features) - {"nccl"})), *(["peers_cuda"] if "cuda" in features else [])}
    specs = [spec for name, specs in lists.items() if name in wanted for spec in specs]
    return [f"{spec} cuda_arch={','.join(archs)}" if archs and "+cuda" in spec else spec for spec in specs]


def manifest(specs: list[str], files: list[Path], root: Path, folder: Path) -> str:
    """The text of a spack.yaml for `specs`. Spack builds linkmatrix from this checkout.

    root: the folder of all environments and of the install tree. folder: the folder of this environment.
    """
    text: str = yaml.safe_dump(
        {
            "spack": {
                "include": [str(file) for file in files],
                "repos": {"linkmatrix": str(REPO)},
                "specs": specs,
                "develop": {"linkmatrix": {"spec": "linkmatrix@=main", "path": str(suite.FOLDER / "src")}},
                "concretizer": {"unify": "when_possible", "reuse": False},
                "config": {
                    "install_tree": {"root": str(root / "opt")},
                    # the names of stages do not contain the install tree, so two trees must not share a stage
                    "build_stage": [str(root / "stage")],
                    "develop_stage_link": str(root / "links" / "{hash}"),
                },
                "view": {"default": {"root": str(folder / "view"), "link": "roots"}},
            }
        },
        sort_keys=False,
    )
    return text


def environment_folder(specs: list[str], files: list[Path], root: Path | str) -> Path:
    """The folder of the environment for `specs`. Its name is a hash of everything that determines the build."""
    root = Path(root).absolute()
    recipe = REPO / "packages" / "linkmatrix" / "package.py"
    made_of = [spack.version(), manifest(specs, files, root, root), *(file.read_text() for file in [*files, recipe])]
    return root / hashlib.sha256(repr(made_of).encode()).hexdigest()[:16]


def prepare(specs: list[str], files: list[Path], root: Path | str) -> Path:
    """Creates the environment for `specs`, if it does not exist. Returns its folder. Raises OSError."""
    root = Path(root).absolute()
    (root / "links").mkdir(parents=True, exist_ok=True)
    folder = environment_folder(specs, files, root)
    file = folder / "spack.yaml"
    if not file.exists():
        write_whole(file, manifest(specs, files, root, folder).encode())
    return folder


def copy_commands(folder: Path, peers: bool) -> list[str]:
    """Shell commands that copy files of an environment: programs to prefix/bin, the lock file to the current folder.

    peers: whether the environment contains established benchmarks.
    """
    commands = ["mkdir -p prefix", f"cp -RL {folder}/{PROGRAMS} prefix/", f"cp {folder}/spack.lock ."]
    # OSU's programs are elsewhere
    osu = [f"find -L {folder}/view -path '*/libexec/*' -name 'osu_*' -type f -exec cp {{}} prefix/bin ';'"]
    return commands + (osu if peers else [])


def concrete_spec(lock: Path) -> str:
    """The concrete spec of linkmatrix in a spack.lock: variants, target, hash and direct dependencies, as one line."""
    content = json.loads(Path(lock).read_text(encoding="utf-8"))
    (root,) = (one["hash"] for one in content["roots"] if re.match(r"linkmatrix\b", one["spec"]))
    specs = content["concrete_specs"]
    node = specs[root]
    variants = [variant(name, value) for name, value in sorted(node["parameters"].items()) if value not in ([], "")]
    needs = sorted(f"^{specs[one['hash']]['name']}@{specs[one['hash']]['version']}" for one in node["dependencies"])
    target = node["arch"]["target"]
    target = target if isinstance(target, str) else target["name"]
    return " ".join([f"linkmatrix@{node['version']}", *variants, f"target={target}", f"/{root[:7]}", *needs])


def variant(name: str, value: Any) -> str:
    """A variant in the syntax of a spec, such as "+cuda" or "cuda_arch=90"."""
    if isinstance(value, bool):
        return ("+" if value else "~") + name
    return f"{name}={','.join(value) if isinstance(value, list) else value}"
