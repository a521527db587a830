"""`extras["container"]` of a partition: the command in the container, and one sentence for each mistake."""

import ast
import re
from pathlib import Path

import pytest

from linkmatrix.errors import BadInput
from linkmatrix.reframe_ext.sessions import containers
from linkmatrix.site import system_files

STAGE, BUILD = Path("/stage/a b"), Path("/stage/build")
APPTAINER = {"platform": "Apptainer", "image": "/shared/my image.sif", "mounts": ["/scratch", "/opt/mpi:/mpi"]}
PYXIS = {"platform": "pyxis", "image": "registry#linkmatrix", "options": ["--container-writable"]}


def container(content, launcher="srun"):
    return containers.from_extras({"container": content}, launcher)


def test_a_partition_without_the_key_has_no_container():
    assert containers.from_extras({}, "local") is None


def test_apptainer_runs_the_program_in_the_stage_with_its_gpus():
    found = container({**APPTAINER, "options": ["--env", "A=b c"]}, "mpirun")
    assert found.command("p2p_matrix --topology", STAGE, BUILD, with_gpus=True) == (
        'apptainer exec -B"/stage/a b:/stage/a b" -B"/stage/build:/stage/build" -B"/scratch:/scratch" -B"/opt/mpi:/mpi"'
        " --nv --pwd '/stage/a b' --env 'A=b c' '/shared/my image.sif' p2p_matrix --topology"
    )
    assert found.launcher_options(STAGE, BUILD) == []


def test_commands_do_not_share_their_mounts():
    found = container(APPTAINER)
    first, second = (found.command("p2p_matrix", STAGE, BUILD, with_gpus=False) for _ in range(2))
    assert first == second and "--nv" not in first


def test_singularity_has_its_own_command():
    found = container({"platform": "Singularity", "image": "docker://debian:12"}, "local")
    assert found.command("x", STAGE, BUILD, with_gpus=False).startswith("singularity exec ")


def test_pyxis_takes_options_of_srun():
    found = container({**PYXIS, "mounts": ["/scratch:/data"]})
    assert found.command("p2p_matrix", STAGE, BUILD, with_gpus=True) == "p2p_matrix"
    assert found.launcher_options(STAGE, BUILD) == [
        "'--container-image=registry#linkmatrix'",
        "'--container-mounts=/stage/a b:/stage/a b,/stage/build:/stage/build,/scratch:/data'",
        "'--container-workdir=/stage/a b'",
        "--container-writable",
    ]


@pytest.mark.parametrize("image", ["/a b/c.sif", "docker://debian:12", "docker-archive:/x.tar", "oras://r.io/a/b:1"])
def test_a_path_and_a_uri_are_images(image):
    assert container({"platform": "Apptainer", "image": image}).image == image
    assert container({"platform": "pyxis", "image": "./ubuntu+22.sqsh"}).image == "./ubuntu+22.sqsh"


def test_the_example_of_the_page_is_valid():
    page = (Path(__file__).resolve().parents[2] / "docs" / "containers.md").read_text(encoding="utf-8")
    extras = ast.literal_eval("{" + re.search(r"```python\n(.*?)```", page, re.DOTALL)[1] + "}")["extras"]
    assert containers.from_extras(extras, "srun").platform == "Apptainer"


@pytest.mark.parametrize(
    ("content", "launcher", "expected"),
    [
        ("image.sif", "srun", "is not a dictionary"),
        ({**APPTAINER, "mount": []}, "srun", "unknown key 'mount'"),
        ({"platform": "Docker", "image": "x"}, "srun", "the platform is 'Docker'"),
        ({"platform": ["Apptainer"], "image": "x"}, "srun", "the platform is ['Apptainer']"),
        ({"platform": "Apptainer"}, "srun", "has no image"),
        ({"platform": "Apptainer", "image": "a\nb"}, "srun", "has no image"),
        (PYXIS, "mpirun", "pyxis needs the launcher srun"),
        ({**APPTAINER, "mounts": "/scratch"}, "srun", "'mounts' is not a list"),
        ({**APPTAINER, "mounts": ["scratch"]}, "srun", "the mount 'scratch' is invalid"),
        ({**APPTAINER, "mounts": ["/a:/b:ro"]}, "srun", "the mount '/a:/b:ro' is invalid"),
        ({**APPTAINER, "mounts": ["/$(id)"]}, "srun", "is invalid"),
        ({**APPTAINER, "options": [1]}, "srun", "'options' is not a list"),
        ({**APPTAINER, "image": "~/my.sif"}, "srun", "the image '~/my.sif' is not an absolute path"),
        ({**APPTAINER, "image": "images/my.sif"}, "srun", "the image 'images/my.sif' is not an absolute path"),
        ({**APPTAINER, "image": "/scratch/$USER/my.sif"}, "srun", "is not an absolute path"),
        ({**PYXIS, "image": "$SCRATCH/my.sqsh"}, "srun", "is not an absolute path"),
        ({**APPTAINER, "options": ["--cleanenv"]}, "srun", "the option '--cleanenv' hides"),
        ({**APPTAINER, "options": ["-C"]}, "mpirun", "the option '-C' hides"),
    ],
)
def test_a_mistake_is_one_sentence_with_the_system_file(tmp_path, content, launcher, expected):
    extras = {"container": content}
    partition = {"name": "gpu", "scheduler": "local", "launcher": launcher, "environs": ["gnu"], "extras": extras}
    file = tmp_path / "mine.py"
    file.write_text(f"system = {{'name': 'mine', 'hostnames': ['x'], 'partitions': [{partition!r}]}}\n")
    with pytest.raises(BadInput) as caught:
        system_files.load(file, tmp_path)
    assert str(caught.value).startswith(f"{file}: partition 'gpu': extras['container'] of the partition")
    assert expected in str(caught.value) and "\n" not in str(caught.value)
