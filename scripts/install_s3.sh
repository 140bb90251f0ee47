#!/bin/sh
# Installs what `make test-cluster` needs for S3: Hadoop's client of it as jars from Maven, in the version of Hadoop that
# pyspark brings, and moto, a store for tests, from PyPI. 20 and 150 megabytes.
# Usage: scripts/install_s3.sh
set -eu

version=3.5.0
# The parts of Amazon's SDK that the client uses; the bundle that it asks for has all of Amazon's services, in 690 MB.
sdk=2.35.4
moto=5.2.5
folder=${LAKEMERGE_S3:-${XDG_CACHE_HOME:-$HOME/.cache}/lakemerge/s3}
all="Hadoop $version, SDK $sdk, moto $moto"

what=s3
. "$(dirname "$0")/installing.sh"

if [ -f "$folder/version" ] && [ "$(cat "$folder/version")" = "$all" ]; then
    say "$all is in $folder"
    exit 0
fi
begin
{
    cat <<POM
<project>
  <modelVersion>4.0.0</modelVersion>
  <groupId>lakemerge</groupId><artifactId>s3</artifactId><version>1</version><packaging>pom</packaging>
  <dependencies>
    <dependency>
      <groupId>org.apache.hadoop</groupId><artifactId>hadoop-aws</artifactId><version>$version</version>
      <exclusions><exclusion><groupId>software.amazon.awssdk</groupId><artifactId>bundle</artifactId></exclusion></exclusions>
    </dependency>
POM
    for part in s3 s3-transfer-manager sts; do
        echo "    <dependency><groupId>software.amazon.awssdk</groupId><artifactId>$part</artifactId><version>$sdk</version></dependency>"
    done
    printf '  </dependencies>\n</project>\n'
} >"$work/pom.xml"
say "fetching $all"
copy_jars "$folder/lib"
python3 -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install --quiet "moto[s3]==$moto" flask flask-cors
echo "$all" >"$folder/version"
say "$all is in $folder"
