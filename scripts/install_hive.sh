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

if [ -f "$folder/version" ] && [ "$(cat "$folder/version")" = "$version" ]; then
    say "Hive $version is in $folder"
    exit 0
fi
begin

# Left out: what Maven Central does not have, and Hive needs for materialized views and HBase alone.
cat >"$work/pom.xml" <<POM
<project>
  <modelVersion>4.0.0</modelVersion>
  <groupId>lakemerge</groupId><artifactId>hive</artifactId><version>1</version><packaging>pom</packaging>
  <dependencies>
    <dependency>
      <groupId>org.apache.hive</groupId><artifactId>hive-cli</artifactId><version>$version</version>
      <exclusions>
        <exclusion><groupId>org.pentaho</groupId><artifactId>*</artifactId></exclusion>
        <exclusion><groupId>org.apache.hbase</groupId><artifactId>*</artifactId></exclusion>
        <exclusion><groupId>jdk.tools</groupId><artifactId>*</artifactId></exclusion>
      </exclusions>
    </dependency>
    <dependency>
      <groupId>org.apache.hadoop</groupId><artifactId>hadoop-client</artifactId><version>$hadoop</version>
      <exclusions><exclusion><groupId>jdk.tools</groupId><artifactId>*</artifactId></exclusion></exclusions>
    </dependency>
  </dependencies>
</project>
POM
say "fetching Hive $version and Hadoop $hadoop"
copy_jars "$folder/lib"
echo "$version" >"$folder/version"
say "Hive $version is in $folder"
