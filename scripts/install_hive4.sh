#!/bin/sh
# Installs what `make test-cluster` needs for Hive 4: its metastore and its clients, as jars from Maven, with the
# Hadoop that they were made for. 350 megabytes. They run on the Java that Spark runs on.
# install_metastore_database.sh installs the database.
# Usage: scripts/install_hive4.sh
set -eu

# The newest whose metastore is in Maven Central.
version=4.0.1
hadoop=3.3.6
tez=0.10.3
folder=${LAKEMERGE_HIVE4:-${XDG_CACHE_HOME:-$HOME/.cache}/lakemerge/hive4}

what=hive4
. "$(dirname "$0")/installing.sh"

begin "Hive $version" "$version"
say "fetching Hive $version and Hadoop $hadoop"
# Its queries run in one process, without Tez, but its session knows classes of it.
project "$(dependency org.apache.hive hive-cli $version org.apache.hbase org.apache.hadoop
    dependency org.apache.hadoop hadoop-client $hadoop
    dependency org.apache.hadoop hadoop-hdfs $hadoop
    dependency org.apache.tez tez-dag $tez)"
copy_jars "$folder/client"
fetch_schema "hive-standalone-metastore-server:$version" 4.0.0
cp -r "$work/lib" "$folder/metastore"
finish
