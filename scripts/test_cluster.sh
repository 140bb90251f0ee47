#!/bin/sh
# Runs the tests that need what a cluster has, each part with the services that it needs, and says how long each took.
# Usage: PYTEST="python -m pytest" scripts/test_cluster.sh [PART...]
set -u

scripts=$(dirname "$0")
# Several runs at once, and runs that are killed at each step.
runs="tests/functional/concurrency/test_two_runs.py tests/functional/concurrency/test_statement_processes.py
    tests/functional/concurrency/test_transaction_processes.py tests/functional/concurrency/test_builds_ended.py -m 'slow or not slow'"
status=0

# run NAME SERVICE DATABASE TESTS
run() {
    began=$(date +%s)
    "$scripts/install_$2.sh" && "$scripts/install_metastore_database.sh" "$3" &&
        LAKEMERGE_REQUIRED_ENGINES="$2 $3" sh -c "$PYTEST $4 --files $2 --metastore $3" || status=1
    echo "[$1] $(($(date +%s) - began)) s" >&2
}

for part in "${@:-all}"; do
    case $part in
        all | kernel-on-hdfs | kernel-on-s3 | example-on-hdfs | example-on-s3 | example-on-yarn | runs-on-hdfs) ;;
        *) echo "expected kernel-on-hdfs, kernel-on-s3, example-on-hdfs, example-on-s3, example-on-yarn or runs-on-hdfs; found $part" >&2 && exit 2 ;;
    esac
    case $part in
        kernel-on-hdfs | all) run kernel-on-hdfs hdfs mariadb tests/kernel ;;
    esac
    case $part in
        kernel-on-s3 | all) run kernel-on-s3 s3 postgres tests/kernel ;;
    esac
    case $part in
        example-on-hdfs | all) run example-on-hdfs hdfs postgres tests/functional/example ;;
    esac
    case $part in
        example-on-s3 | all) run example-on-s3 s3 postgres tests/functional/example ;;
    esac
    case $part in
        example-on-yarn | all) "$scripts/install_yarn.sh" && run example-on-yarn hdfs postgres "tests/functional/example --spark yarn" ;;
    esac
    case $part in
        runs-on-hdfs | all) run runs-on-hdfs hdfs postgres "$runs" ;;
    esac
done
exit $status
