#!/bin/sh
# Installs what `make test-cluster` needs for HDFS: a NameNode and a DataNode, as jars from Maven, in the version of
# Hadoop that pyspark brings. 90 megabytes. They run on the Java that Spark runs on.
# Usage: scripts/install_hdfs.sh
set -eu

version=3.5.0
folder=${LAKEMERGE_HDFS:-${XDG_CACHE_HOME:-$HOME/.cache}/lakemerge/hdfs}

what=hdfs
. "$(dirname "$0")/installing.sh"

if [ -f "$folder/version" ] && [ "$(cat "$folder/version")" = "$version" ]; then
    say "Hadoop $version is in $folder"
    exit 0
fi
begin
cat >"$work/pom.xml" <<POM
<project>
  <modelVersion>4.0.0</modelVersion>
  <groupId>lakemerge</groupId><artifactId>hdfs</artifactId><version>1</version><packaging>pom</packaging>
  <dependencies>
    <dependency><groupId>org.apache.hadoop</groupId><artifactId>hadoop-common</artifactId><version>$version</version></dependency>
    <dependency><groupId>org.apache.hadoop</groupId><artifactId>hadoop-hdfs</artifactId><version>$version</version></dependency>
    <dependency><groupId>org.apache.hadoop</groupId><artifactId>hadoop-hdfs-client</artifactId><version>$version</version></dependency>
  </dependencies>
</project>
POM
say "fetching Hadoop $version"
copy_jars "$folder/lib"
echo "$version" >"$folder/version"
say "Hadoop $version is in $folder"
