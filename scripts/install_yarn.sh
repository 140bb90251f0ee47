#!/bin/sh
# Installs what `make test-cluster` needs for YARN: a ResourceManager and a NodeManager, as jars from Maven, in the version
# of Hadoop that pyspark brings. 120 megabytes. They run on the Java that Spark runs on.
# Usage: scripts/install_yarn.sh
set -eu

version=3.5.0
folder=${LAKEMERGE_YARN:-${XDG_CACHE_HOME:-$HOME/.cache}/lakemerge/yarn}

what=yarn
. "$(dirname "$0")/installing.sh"

if [ -f "$folder/version" ] && [ "$(cat "$folder/version")" = "$version" ]; then
    say "YARN $version is in $folder"
    exit 0
fi
begin
cat >"$work/pom.xml" <<POM
<project>
  <modelVersion>4.0.0</modelVersion>
  <groupId>lakemerge</groupId><artifactId>yarn</artifactId><version>1</version><packaging>pom</packaging>
  <dependencies>
    <dependency><groupId>org.apache.hadoop</groupId><artifactId>hadoop-common</artifactId><version>$version</version></dependency>
    <dependency><groupId>org.apache.hadoop</groupId><artifactId>hadoop-hdfs-client</artifactId><version>$version</version></dependency>
    <dependency><groupId>org.apache.hadoop</groupId><artifactId>hadoop-yarn-server-resourcemanager</artifactId><version>$version</version></dependency>
    <dependency><groupId>org.apache.hadoop</groupId><artifactId>hadoop-yarn-server-nodemanager</artifactId><version>$version</version></dependency>
    <dependency><groupId>org.apache.hadoop</groupId><artifactId>hadoop-yarn-server-timelineservice</artifactId><version>$version</version></dependency>
  </dependencies>
</project>
POM
say "fetching YARN $version"
copy_jars "$folder/lib"
echo "$version" >"$folder/version"
say "YARN $version is in $folder"
