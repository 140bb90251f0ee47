#!/bin/sh
# Installs what `make test-cluster` needs for a metastore of Hive 3.1, whose database install_metastore_database.sh
# installs: its jars, and those of the Hadoop that pyspark brings. 110 megabytes. It runs on the Java that Spark runs on.
# Usage: scripts/install_hive3_metastore.sh
set -eu

version=3.1.3
hadoop=3.5.0
folder=${LAKEMERGE_HIVE3_METASTORE:-${XDG_CACHE_HOME:-$HOME/.cache}/lakemerge/hive3-metastore}

what=hive3-metastore
. "$(dirname "$0")/installing.sh"

if [ -f "$folder/version" ] && [ "$(cat "$folder/version")" = "$version" ]; then
    say "Hive $version's metastore is in $folder"
    exit 0
fi
begin
# Hive's locks need commons-collections 3, which neither brings.
cat >"$work/pom.xml" <<POM
<project>
  <modelVersion>4.0.0</modelVersion>
  <groupId>lakemerge</groupId><artifactId>hive3-metastore</artifactId><version>1</version><packaging>pom</packaging>
  <dependencies>
    <dependency><groupId>org.apache.hadoop</groupId><artifactId>hadoop-common</artifactId><version>$hadoop</version></dependency>
    <dependency><groupId>org.apache.hadoop</groupId><artifactId>hadoop-mapreduce-client-core</artifactId><version>$hadoop</version></dependency>
    <dependency><groupId>org.apache.hadoop</groupId><artifactId>hadoop-hdfs-client</artifactId><version>$hadoop</version></dependency>
    <dependency><groupId>commons-collections</groupId><artifactId>commons-collections</artifactId><version>3.2.2</version></dependency>
  </dependencies>
</project>
POM
say "fetching Hive $version's metastore and Hadoop $hadoop"
unpack_metastore "$work"
cp -r "$work/lib" "$folder/lib"
copy_jars "$folder/hadoop"
echo "$version" >"$folder/version"
say "Hive $version's metastore is in $folder"
