#!/bin/sh
# Installs what `make bench-peers` compares with: an environment with one Spark that all of them run on, and the jars of
# Iceberg and Delta. Needs Maven (Debian, Ubuntu: apt install maven).
# Usage: scripts/install_peers.sh <folder>. PYTHON names the interpreter to use.
set -eu

folder=$1
spark=4.1.4
jars="
io.delta:delta-spark_4.1_2.13:4.4.0
io.delta:delta-storage:4.4.0
org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0
"

say() {
    printf '[peers] %s\n' "$1" >&2
}

if [ -f "$folder/.ready" ] && [ "$folder/.ready" -nt "$0" ]; then
    exit 0
fi
if ! command -v mvn >/dev/null; then
    say "Expected Maven; found no mvn. Install it (Debian, Ubuntu: apt install maven)."
    exit 1
fi
say "making $folder: pyspark $spark, DuckDB, Matplotlib (some minutes)"
${PYTHON:-python3} -m venv "$folder/venv"
grep -v '^pyspark' constraints.txt > "$folder/constraints.txt"
# as scripts/create_environment.sh has it
parser=dbt-core-experimental-parser
"$folder/venv/bin/python" scripts/empty_wheel.py "$parser" 2.9999 "$folder/wheels"
"$folder/venv/bin/python" -m pip install --quiet --disable-pip-version-check --constraint "$folder/constraints.txt" \
    --find-links "$folder/wheels" --only-binary "$parser" \
    "pyspark==$spark" 'duckdb>=1.1' 'matplotlib>=3.9' psutil --editable '.[dbt]'
mkdir -p "$folder/jars"
for jar in $jars; do
    mvn --quiet --batch-mode dependency:copy "-Dartifact=$jar" "-DoutputDirectory=$(cd "$folder" && pwd)/jars"
done
touch "$folder/.ready"
