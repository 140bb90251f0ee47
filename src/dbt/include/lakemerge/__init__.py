"""The folder of macros that dbt loads with the adapter."""

from lakemerge.dbt_package import PATH

PACKAGE_PATH = str(PATH)
