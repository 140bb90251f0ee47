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

begin "$all" "$all"
project "$(dependency org.apache.hadoop hadoop-aws $version software.amazon.awssdk
    for part in s3 s3-transfer-manager sts; do dependency software.amazon.awssdk $part $sdk; done)"
say "fetching $all"
copy_jars "$folder/lib"
python3 -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install --quiet "moto[s3]==$moto" flask flask-cors
finish
