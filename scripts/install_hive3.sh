#!/bin/sh
# Installs what `make test-cluster` needs for Hive 3.1: its metastore and its command line, as jars from Maven,
# with the Hadoop that they were made for. 200 megabytes. They run on the Java that Spark runs on.
# install_metastore_database.sh installs the database.
# Usage: scripts/install_hive3.sh
set -eu

version=3.1.3
hadoop=3.1.4
tez=0.9.2
guava=27.0-jre
folder=${LAKEMERGE_HIVE3:-${XDG_CACHE_HOME:-$HOME/.cache}/lakemerge/hive3}

what=hive3
. "$(dirname "$0")/installing.sh"

begin "Hive $version" "$version"
say "fetching Hive $version and Hadoop $hadoop"
# The metastore comes with the command line. Its queries run in one process, without Tez, but its session knows classes of
# it. Hadoop needs a newer guava than Hive asks for. Left out: what Maven Central does not have, old Hadoops, and HBase.
project "$(dependency org.apache.hive hive-cli $version org.apache.hbase org.pentaho jdk.tools org.glassfish org.glassfish.web
    dependency org.apache.hadoop hadoop-client $hadoop
    dependency com.google.guava guava $guava
    dependency org.apache.tez tez-dag $tez org.apache.hadoop jdk.tools)"
copy_jars "$folder/client"
fetch_schema "hive-standalone-metastore:$version" 3.1.0
finish
