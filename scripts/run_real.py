"""Merge the releases of a real, public data set and compare the tables with its last release.

The data are the ISO 3166-2 subdivisions of the world, as the package `pycountry` has published them
since 2016: about 5,000 rows with names in many scripts, whose codes, names, parents and types
change from release to release. Releases come from the package index by name, once, and are kept.

What a release changed against the one before is the change feed. It is merged release by release,
then all at once into a second table, then out of order and partly repeated into a third. All three
tables must equal the last release row by row, and the counts of each merge those of the feed.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tarfile
import time
import zipfile
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dbt_project import CommandFailed, DbtProject, print_table, progress

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = "pycountry"
# In the order of publication. 22.3.5 changed nothing here: its merge must write nothing.
RELEASES = (
    "16.11.8",
    "16.11.27.1",
    "17.1.2",
    "17.1.8",
    "17.5.14",
    "18.12.8",
    "19.7.15",
    "20.7.3",
    "22.1.10",
    "22.3.5",
    "23.12.11",
    "24.6.1",
    "26.2.16",
)
MEMBER = "pycountry/databases/iso3166-2.json"
ATTRIBUTES = ("country", "name", "parent", "type")
COUNTS = ("inserted", "updated", "deleted", "ignored")

#: A subdivision without its code: country, name, parent (or nothing) and type.
Row = tuple[str | None, ...]


class WrongResult(Exception):
    """A table differs from the last release, or a count from the feed."""


@dataclass(frozen=True, slots=True)
class Release:
    """What a release changed against the one before it.

    Attributes:
        number: its place in the order of publication, from 0 on.
        upserts: new and changed subdivisions by code.
        deleted: codes that are gone.
        inserted: how many of the upserts are new.
        moved: how many of the upserts change their type, the partition.
    """

    number: int
    version: str
    upserts: Mapping[str, Row]
    deleted: Sequence[str]
    inserted: int
    moved: int

    @property
    def expected(self) -> dict[str, int]:
        """What a merge of this release on top of the one before must count."""
        updated = len(self.upserts) - self.inserted
        return dict(zip(COUNTS, (self.inserted, updated, len(self.deleted), 0), strict=True))

    def text(self) -> str:
        """Return the feed as JSON, one change a line."""
        rows: list[dict[str, Any]] = [
            {"code": code, **dict(zip(ATTRIBUTES, row, strict=True)), "is_delete": False}
            for code, row in self.upserts.items()
        ]
        rows += [{"code": code, "is_delete": True} for code in self.deleted]
        return "".join(json.dumps({**row, "release": self.number}, ensure_ascii=False) + "\n" for row in rows)


def main() -> int:
    """Run the comparison from the command line and return the exit code."""
    parser = argparse.ArgumentParser(description="Merge the releases of a public data set.")
    parser.add_argument("--seed", type=int, default=20161108, help="order of the third table")
    args = parser.parse_args()
    state = ROOT / ".lakemerge"
    work = state / "real"
    os.environ["LAKEMERGE_LANDING"] = str(work / "landing")
    os.environ["LAKEMERGE_WAREHOUSE"] = str(work / "warehouse")
    os.environ["LAKEMERGE_SCHEMA"] = "reference"
    profiles = ROOT / os.environ.get("DBT_PROFILES_DIR", "profiles")
    project = DbtProject(folder=ROOT / "scripts" / "subdivisions", profiles=profiles, state=work)
    try:
        snapshots = [snapshot(download(version, state / "releases")) for version in RELEASES]
        run(project, snapshots, work, args.seed)
    except (CommandFailed, WrongResult, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


def run(project: DbtProject, snapshots: Sequence[Mapping[str, Row]], work: Path, seed: int) -> None:
    """Build the three tables anew, compare them and print the counts and the verdict."""
    started = time.monotonic()
    for folder in ("landing", "warehouse"):
        shutil.rmtree(work / folder, ignore_errors=True)
    releases = changes(snapshots)
    write(releases, work / "landing")
    last = snapshots[-1]
    everything = list(range(len(releases)))

    lines: list[Sequence[object]] = []
    progress("[by release] parsing the project and starting Spark")
    for release in releases:
        counts = merge(project, "subdivisions_by_release", [release.number])
        progress(f"[by release] {release.number + 1} of {len(releases)}: {release.version} merged")
        if counts != release.expected:
            raise WrongResult(f"{release.version}: expected a merge of {release.expected}; found {counts}")
        lines.append((release.version, *counts.values(), release.moved))
    print(f"\nMerges of {PACKAGE}'s releases, counted in subdivisions\n")
    print_table(("release", *COUNTS, "of them moved to another partition"), lines)
    verdict = [compare(project, "subdivisions_by_release", last, f"{len(releases)} merges in order")]

    progress(f"[at once] {len(releases)} releases in one merge")
    merge(project, "subdivisions_at_once", everything)
    verdict.append(compare(project, "subdivisions_at_once", last, "1 merge"))

    batches = shuffled(everything, seed)
    for number, batch in enumerate(batches, start=1):
        progress(f"[out of order] {number} of {len(batches)}: releases {batch}")
        merge(project, "subdivisions_out_of_order", batch)
    how = f"{len(batches)} merges out of order, {sum(map(len, batches)) - len(everything)} releases repeated"
    verdict.append(compare(project, "subdivisions_out_of_order", last, how))

    print(f"\nAgainst release {RELEASES[-1]}, row by row\n")
    print_table(("table", "made by", "rows", "verdict"), verdict)
    progress(f"[done] {time.monotonic() - started:.0f} s")


def download(version: str, folder: Path) -> Path:
    """Return the archive of a release, fetched from the package index unless it is there."""
    folder.mkdir(parents=True, exist_ok=True)
    found = sorted(folder.glob(f"{PACKAGE}-{version}-*.whl")) + sorted(
        folder.glob(f"{PACKAGE}-{version}.tar.gz")
    )
    if found:
        return found[0]
    progress(f"[releases] fetching {PACKAGE} {version}")
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
    command += ["--disable-pip-version-check", "--dest", str(folder), f"{PACKAGE}=={version}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        reason = (done.stderr.strip().splitlines() or ["pip said nothing"])[-1]
        raise CommandFailed(f"pip download {PACKAGE}=={version}: {reason}")
    return download(version, folder)


def snapshot(archive: Path) -> dict[str, Row]:
    """Return the subdivisions of a release by code, read from its wheel or source archive."""
    rows = json.loads(_member(archive))["3166-2"]
    return {
        row["code"]: (row["code"].split("-")[0], row["name"], row.get("parent"), row["type"]) for row in rows
    }


def _member(archive: Path) -> bytes:
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as wheel:
            return wheel.read(MEMBER)
    with tarfile.open(archive) as source:
        name = next(name for name in source.getnames() if name.endswith(MEMBER))
        member = source.extractfile(name)
        if member is None:
            raise CommandFailed(f"{archive}: expected {MEMBER} to be a file; found a folder")
        return member.read()


def changes(snapshots: Sequence[Mapping[str, Row]]) -> list[Release]:
    """Return what each release changed against the one before; the first adds all its rows."""
    releases: list[Release] = []
    before: Mapping[str, Row] = {}
    for number, now in enumerate(snapshots):
        upserts = {code: row for code, row in now.items() if before.get(code) != row}
        known = [code for code in upserts if code in before]
        releases.append(
            Release(
                number=number,
                version=RELEASES[number],
                upserts=upserts,
                deleted=[code for code in before if code not in now],
                inserted=len(upserts) - len(known),
                moved=sum(before[code][-1] != now[code][-1] for code in known),
            )
        )
        before = now
    return releases


def write(releases: Sequence[Release], landing: Path) -> None:
    """Write one file of changes per release."""
    landing.mkdir(parents=True, exist_ok=True)
    for release in releases:
        path = landing / f"{release.number:02}_{release.version}.json"
        path.write_text(release.text(), encoding="utf-8")


def shuffled(releases: Sequence[int], seed: int) -> list[list[int]]:
    """Return batches of one to three releases, out of order; a third of them comes twice."""
    rng = random.Random(seed)
    order = [*releases, *rng.sample(list(releases), k=len(releases) // 3)]
    rng.shuffle(order)
    batches: list[list[int]] = []
    while order:
        size = rng.randint(1, 3)
        # a release within one batch is there once, however often it is named
        batches.append(list(dict.fromkeys(order[:size])))
        order = order[size:]
    return batches


def merge(project: DbtProject, model: str, releases: Sequence[int]) -> dict[str, int]:
    """Merge the changes of some releases into a table and return the counts."""
    answers = project.build("--select", model, variables={"releases": list(releases)})
    return {count: int(answers[model][count]) for count in COUNTS}


def compare(
    project: DbtProject, model: str, expected: Mapping[str, Row], how: str
) -> tuple[str, str, int, str]:
    """Compare a table with the last release and return a line of the verdict.

    Raises:
        WrongResult: a row is missing, surplus, doubled or different.
    """
    columns = ", ".join(("code", *ATTRIBUTES))
    rows = project.query(f"select {columns} from {{{{ ref('{model}') }}}}")
    pairs = [(row["code"], tuple(row[name] for name in ATTRIBUTES)) for row in rows]
    if difference := differences(pairs, expected):
        raise WrongResult(f"{model}: expected the rows of release {RELEASES[-1]}; found {difference}")
    return model, how, len(rows), "equal"


def differences(found: Sequence[tuple[str, Row]], expected: Mapping[str, Row]) -> str:
    """Say how rows differ from those expected, with samples; the empty text if they do not."""
    by_code = dict(found)
    kinds = {
        "missing": sorted(expected.keys() - by_code.keys()),
        "surplus": sorted(by_code.keys() - expected.keys()),
        "different": sorted(c for c in by_code.keys() & expected.keys() if by_code[c] != expected[c]),
        "doubled": sorted(c for c, count in Counter(code for code, _ in found).items() if count > 1),
    }
    return ", ".join(f"{len(codes)} {kind} ({codes[0]} …)" for kind, codes in kinds.items() if codes)


if __name__ == "__main__":
    sys.exit(main())
