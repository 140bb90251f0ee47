"""Small disks that tests fill: each is a tmpfs."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

# Starts a program for which the modes of files count, though it is root's.
WITHOUT_OVERRIDE = ("setpriv", "--bounding-set=-dac_override,-dac_read_search")


@dataclass(frozen=True)
class Disk:
    """A small disk, by the folder that it is mounted on."""

    folder: Path

    @contextmanager
    def filled(self, but: int = 0) -> Iterator[None]:
        """Leave no more than so many bytes free inside the block."""
        filler = self.folder / "filler"
        with filler.open("wb", buffering=0) as file:
            try:
                while True:
                    file.write(bytes(4096))
            except OSError:
                pass
        with filler.open("rb+") as file:
            file.truncate(max(0, filler.stat().st_size - but))
        try:
            yield
        finally:
            filler.unlink()

    @contextmanager
    def without_inodes(self) -> Iterator[None]:
        """Allow no further file and folder inside the block, as a quota does."""
        status = os.statvfs(self.folder)
        self._remount(f"nr_inodes={status.f_files - status.f_ffree}")
        try:
            yield
        finally:
            self._remount(f"nr_inodes={status.f_files}")

    @contextmanager
    def read_only(self) -> Iterator[None]:
        """Mounted for reading only inside the block."""
        self._remount("ro")
        try:
            yield
        finally:
            self._remount("rw")

    @contextmanager
    def without_rights(self) -> Iterator[None]:
        """Nobody may write into a folder inside the block, other than root; see WITHOUT_OVERRIDE."""
        folders = [self.folder, *(path for path in self.folder.rglob("*") if path.is_dir())]
        modes = {folder: folder.stat().st_mode for folder in folders}
        for folder in folders:
            folder.chmod(0o555)
        try:
            yield
        finally:
            for folder, mode in modes.items():
                if folder.exists():
                    folder.chmod(mode)

    def _remount(self, option: str) -> None:
        subprocess.run(["mount", "-o", f"remount,{option}", str(self.folder)], check=True)


class SmallDisks:
    """Mounts disks below a folder.

    Args:
        root: an empty folder.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._mounted: list[Path] = []
        self._refused = ""

    def make(self, name: str, size: str) -> Disk:
        """A disk of this size, such as ``16m``. Skips the test where this user may not mount."""
        disk = self.try_make(name, size)
        if disk is None:
            pytest.skip(f"a small disk takes the right to mount one: {self._refused}")
        return disk

    def try_make(self, name: str, size: str) -> Disk | None:
        """As :meth:`make`; ``None`` where this user may not mount."""
        folder = self._root / name
        folder.mkdir()
        command = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)]
        try:
            subprocess.run(command, capture_output=True, text=True, check=True)
        except subprocess.CalledProcessError as error:
            self._refused = str(error.stderr).strip()
            return None
        except OSError as error:
            self._refused = str(error)
            return None
        self._mounted.append(folder)
        return Disk(folder)

    def unmount(self) -> None:
        """Take all disks away."""
        for folder in self._mounted:
            subprocess.run(["umount", "-l", str(folder)], check=True)
