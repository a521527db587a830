"""Files that are written whole or not at all: a full disk or a crash leaves the old one as it was."""

import os
from pathlib import Path


def write_whole(path: Path, content: bytes) -> None:
    """Replaces `path`, also under the eyes of readers. Raises OSError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with part.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, path)
    except OSError as error:  # of a full disk it does not say the name
        raise OSError(error.errno, error.strerror or str(error), str(path)) from None
    finally:
        part.unlink(missing_ok=True)
