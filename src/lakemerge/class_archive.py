"""Archives of Java's classes, from which a Java starts with less work: class data sharing (JEP 350).

Java loads some fifteen thousand classes until Spark has run its first query, and reads, checks and links each of them
anew in every process. An archive holds them ready. It fits one Java and one set of jars; Java ignores one that does not
fit.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from lakemerge.java import cache_folder

#: Otherwise Java says on standard output what it does not like about an archive. It then starts without the archive.
_QUIET = ("-Xlog:cds=off", "-Xlog:cds+dynamic=off")


def archive_of(java: Path, jars: Path) -> Path:
    """Where the archive is, if there is one, for a Java (its home) and the jars of a folder."""
    release = java / "release"
    parts = [str(java.resolve()), release.read_text() if release.is_file() else ""]
    for jar in sorted(jars.glob("*.jar")):
        facts = jar.stat()
        parts.append(f"{jar} {facts.st_size} {facts.st_mtime_ns}")
    digest = hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]
    return cache_folder() / f"classes-{digest}.jsa"


def use_options(archive: Path, given: str = "") -> tuple[str, ...]:
    """Java's options to start from an archive; none where there is no such file, or where others are given.

    Args:
        given: the other options that Java gets.
    """
    if "SharedArchiveFile" in given or "ArchiveClassesAtExit" in given or "-Xshare" in given:
        return ()
    return (f"-XX:SharedArchiveFile={archive}", *_QUIET) if os.access(archive, os.R_OK) else ()


def record_options(archive: Path) -> tuple[str, ...]:
    """Java's options to write an archive of the classes that it has loaded, when it ends in good order."""
    return (f"-XX:ArchiveClassesAtExit={archive}", *_QUIET)
