#!/bin/sh
# Runs the tests that need what a cluster has, each part with the services that it needs, and says how long each took.
# Usage: PYTEST="python -m pytest" scripts/test_cluster.sh [PART...]
set -u

scripts=$(dirname "$0")
kernel="tests/kernel -m 'not slow'"
example="tests/functional/example -m 'not slow'"
# Several runs at once, and runs that are killed at each step.
runs="tests/functional/concurrency/test_two_runs.py tests/functional/concurrency/test_statement_processes.py \
tests/functional/concurrency/test_transaction_processes.py tests/functional/concurrency/test_builds_ended.py"
engines="tests/engines/test_other_engines.py tests/engines/test_tagged_versions.py \
tests/engines/test_torn_by_engine.py --reads 200 -rP"
# What sites set.
sites="tests/functional/concurrency/test_two_namenodes.py tests/functional/concurrency/test_tasks_run_twice.py"
parts="kernel-on-hdfs kernel-on-s3 kernel-on-hive3 kernel-on-hive4 example-on-hdfs example-on-s3
    example-on-yarn example-on-hive3 example-on-hive4 runs-on-hdfs runs-on-hive3 runs-on-hive4
    engines-on-postgres engines-on-mariadb engines-on-hive3 engines-on-hive4 secure-metastores sites"
status=0

# run SERVICES DATABASE TESTS
run() {
    began=$(date +%s)
    installed=0
    for service in $1; do "$scripts/install_$service.sh" || installed=1; done
    [ $installed = 0 ] && "$scripts/install_metastore_database.sh" "$2" &&
        LAKEMERGE_REQUIRED_ENGINES="$1 $2" sh -c "$PYTEST $3 --metastore $2" || status=1
    echo "[$part] $(($(date +%s) - began)) s" >&2
}

# shellcheck disable=SC2086  # a list of words
for part in ${*:-$parts}; do
    case $part in
        kernel-on-hdfs) run hdfs mariadb "$kernel --files hdfs" ;;
        kernel-on-s3) run s3 postgres "$kernel --files s3" ;;
        kernel-on-hive3) run hive3 hive3 "$kernel" ;;
        kernel-on-hive4) run hive4 hive4 "$kernel" ;;
        example-on-hdfs) run hdfs postgres "$example --files hdfs" ;;
        example-on-s3) run s3 postgres "$example --files s3" ;;
        example-on-yarn) run "yarn hdfs" postgres "$example --files hdfs --spark yarn" ;;
        example-on-hive3) run hive3 hive3 "$example" ;;
        example-on-hive4) run hive4 hive4 "$example" ;;
        runs-on-hdfs) run hdfs postgres "$runs --files hdfs" ;;
        runs-on-hive3) run hive3 hive3 "$runs" ;;
        runs-on-hive4) run hive4 hive4 "$runs" ;;
        engines-on-postgres) run "trino hive" postgres "$engines" ;;
        engines-on-mariadb) run "trino hive" mariadb "$engines" ;;
        engines-on-hive3) run "trino hive3" hive3 tests/engines/test_other_engines.py ;;
        engines-on-hive4) run "trino hive4" hive4 "$engines" ;;
        secure-metastores) run kerberos derby tests/functional/concurrency/test_secure_metastores.py ;;
        sites) run hdfs derby "$sites" ;;
        *) echo "expected one of $parts; found $part" >&2 && exit 2 ;;
    esac
done
exit $status
