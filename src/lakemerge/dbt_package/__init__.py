"""The dbt project that comes with lakemerge: its macros, which hold the SQL, and what `dbt init` copies."""

from pathlib import Path

# dbt calls the project of an adapter by its folder: dbt_lakemerge
PATH = Path(__file__).parent / "lakemerge"

# Without this check dbt would load an adapter with no macros and no warning, and would then take
# dbt-spark's own materializations in place of ours.
if not (PATH / "macros").is_dir():
    raise ImportError(
        f"Expected a folder of macros at {PATH / 'macros'}; found none. "
        "In a clone, check it out with symbolic links on "
        "(git config core.symlinks true; git checkout -- src/lakemerge/dbt_package/lakemerge/macros); "
        "otherwise reinstall lakemerge."
    )
