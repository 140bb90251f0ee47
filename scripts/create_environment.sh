#!/bin/sh
# Creates .venv with the package (editable), its tools and, where the machine has none, Java.
# Usage: scripts/create_environment.sh <folder of the environment>. PYTHON names the interpreter to use, DBT and SPARK
# releases of dbt-core and pyspark (3.5.9, or 3.5 for its newest) other than those of constraints.txt.
set -eu

venv=$1

say() {
    printf '[env] %s\n' "$1" >&2
}

supported() {
    "$1" -c 'import sys; sys.exit(not (3, 10) <= sys.version_info[:2] <= (3, 13))' 2>/dev/null
}

find_python() {
    for candidate in ${PYTHON:-python3 python3.13 python3.12 python3.11 python3.10}; do
        if supported "$candidate"; then
            echo "$candidate"
            return
        fi
    done
    say "Expected Python 3.10 to 3.13; found $(${PYTHON:-python3} --version 2>&1 || echo none). Install one, or name it: make env PYTHON=/path/to/python3"
    exit 1
}

create() {
    python=$(find_python)
    if ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then
        say "Expected the standard modules venv and ensurepip with $python; found at least one missing. Install them (Debian, Ubuntu: apt install python3-venv)."
        exit 1
    fi
    say "creating $venv with $("$python" --version)"
    "$python" -m venv --clear "$venv"
}

# A folder that was moved, or whose interpreter was removed, has a python that does not start.
if ! supported "$venv/bin/python"; then
    create
fi

say "installing packages (about 700 MB the first time, of which pyspark 450 MB: some minutes)"
SPARK=${SPARK:-}
case $SPARK in ?*.*.* | "") ;; *) SPARK=$SPARK.* ;; esac
sed ${DBT:+-e "s/^dbt-core==.*/dbt-core==$DBT/"} ${SPARK:+-e "s/^pyspark==.*/pyspark==$SPARK/" -e "/^py4j==/d"} -e '' \
    constraints.txt > "$venv/constraints.txt"
# The build of dbt-core's second parser downloads a program from outside the package index, and nothing here uses it.
parser=dbt-core-experimental-parser
"$venv/bin/python" scripts/empty_wheel.py "$parser" 2.9999 "$venv/wheels"
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check --use-pep517 --constraint "$venv/constraints.txt" \
    --find-links "$venv/wheels" --only-binary "$parser" --editable '.[dbt,dev,docs]'
