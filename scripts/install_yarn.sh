#!/bin/sh
# Installs what `make test-cluster` needs for YARN: a ResourceManager and a NodeManager, as jars from Maven, in the version
# of Hadoop that pyspark brings. 120 megabytes. They run on the Java that Spark runs on.
# Usage: scripts/install_yarn.sh
set -eu

version=3.5.0
folder=${LAKEMERGE_YARN:-${XDG_CACHE_HOME:-$HOME/.cache}/lakemerge/yarn}

what=yarn
. "$(dirname "$0")/installing.sh"

begin "YARN $version" "$version"
project "$(dependency org.apache.hadoop hadoop-common $version
    dependency org.apache.hadoop hadoop-hdfs-client $version
    dependency org.apache.hadoop hadoop-yarn-server-resourcemanager $version
    dependency org.apache.hadoop hadoop-yarn-server-nodemanager $version
    dependency org.apache.hadoop hadoop-yarn-server-timelineservice $version)"
say "fetching YARN $version"
copy_jars "$folder/lib"
finish
