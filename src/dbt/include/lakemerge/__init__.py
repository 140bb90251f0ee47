"""The folder of macros that dbt loads with the adapter."""

from pathlib import Path

PACKAGE_PATH = str(Path(__file__).parent)

# Without this check dbt would load an adapter with no macros and no warning, and would then take
# dbt-spark's own materializations in place of ours.
if not (Path(__file__).parent / "macros").is_dir():
    raise ImportError(
        f"Expected a folder of macros at {Path(__file__).parent / 'macros'}; found none. "
        "In a clone, check it out with symbolic links on "
        "(git config core.symlinks true; git checkout -- src/dbt/include/lakemerge/macros); "
        "otherwise reinstall dbt-lakemerge."
    )
