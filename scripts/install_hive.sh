#!/bin/sh
# Installs what the slow tests need to read tables with Hive: its command line with Hadoop, as jars from Maven.
# 160 megabytes. It runs on the Java that Spark runs on.
# Usage: scripts/install_hive.sh
set -eu

# The release whose metastore the tests run.
version=2.3.10
hadoop=2.7.7
folder=${LAKEMERGE_HIVE:-${XDG_CACHE_HOME:-$HOME/.cache}/lakemerge/hive}

what=hive
. "$(dirname "$0")/installing.sh"

begin "Hive $version" "$version"

# Left out: what Maven Central does not have, and Hive needs for materialized views and HBase alone.
project "$(dependency org.apache.hive hive-cli $version org.pentaho org.apache.hbase jdk.tools
    dependency org.apache.hadoop hadoop-client $hadoop jdk.tools)"
say "fetching Hive $version and Hadoop $hadoop"
copy_jars "$folder/lib"
finish
