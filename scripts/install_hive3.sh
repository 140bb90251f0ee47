#!/bin/sh
# Installs what `make test-cluster` needs for a metastore of Hive 3.1, whose database install_metastore_database.sh
# installs: its jars, and those of the Hadoop that pyspark brings. 110 megabytes. It runs on the Java that Spark runs on.
# Usage: scripts/install_hive3.sh
set -eu

version=3.1.3
folder=${LAKEMERGE_HIVE3:-${XDG_CACHE_HOME:-$HOME/.cache}/lakemerge/hive3}

what=hive3
. "$(dirname "$0")/installing.sh"

if [ -f "$folder/version" ] && [ "$(cat "$folder/version")" = "$version" ]; then
    say "Hive $version's metastore is in $folder"
    exit 0
fi
begin
say "fetching Hive $version's metastore"
install_metastore "hive-standalone-metastore:$version" 3.1.0
echo "$version" >"$folder/version"
say "Hive $version's metastore is in $folder"
