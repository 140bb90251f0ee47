#!/bin/sh
# Installs what `make test-cluster` needs for HDFS: a NameNode and a DataNode, as jars from Maven, in the version of
# Hadoop that pyspark brings. 90 megabytes. They run on the Java that Spark runs on.
# Usage: scripts/install_hdfs.sh
set -eu

version=3.5.0
folder=${LAKEMERGE_HDFS:-${XDG_CACHE_HOME:-$HOME/.cache}/lakemerge/hdfs}

what=hdfs
. "$(dirname "$0")/installing.sh"

begin "Hadoop $version" "$version"
project "$(dependency org.apache.hadoop hadoop-common $version
    dependency org.apache.hadoop hadoop-hdfs $version
    dependency org.apache.hadoop hadoop-hdfs-client $version)"
say "fetching Hadoop $version"
copy_jars "$folder/lib"
finish
