"""Creates the kernel's files of a machine from tests/data/adapters, as tests/native/sysfs_tree.hpp does."""

from pathlib import Path

DESCRIPTIONS = Path(__file__).resolve().parents[1] / "data" / "adapters"


def make(machine: str, root: Path) -> Path:
    """Create the files of a described machine below `root`/sys. Returns `root`."""
    for line in (DESCRIPTIONS / f"{machine}.txt").read_text().splitlines():
        if line and not line.startswith("#"):
            add(root / "sys", line.split("; "))
    return root


def add(sys: Path, words: list[str]) -> None:
    """Create one PCI function, RDMA adapter or network interface."""
    kind, name, *rest = words
    if kind == "pci":
        folder, device = sys / "devices" / name, None
        link(sys / "bus/pci/devices" / folder.name, folder)
    else:
        place, *rest = rest
        function, _, below = place.partition("/")
        device = None if place == "-" else (sys / "bus/pci/devices" / function).resolve() / below
        what = "infiniband" if kind == "ib" else "net"
        folder = (device or sys / "devices/virtual") / what / name
        link(sys / "class" / what / name, folder)
    folder.mkdir(parents=True, exist_ok=True)
    if device:
        link(folder / "device", device)
    for key, _, text in (entry.partition("=") for entry in rest):
        if key == "master":
            link(folder / key, sys / "class/net" / text)
        else:
            (folder / key).parent.mkdir(parents=True, exist_ok=True)
            (folder / key).write_text(f"{text}\n")


def link(name: Path, target: Path) -> None:
    """Create a symbolic link and its parent folder."""
    name.parent.mkdir(parents=True, exist_ok=True)
    name.symlink_to(target)
