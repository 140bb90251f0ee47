#!/bin/sh
# Installs what the slow tests need for a metastore on PostgreSQL or MariaDB: the server, its JDBC driver, and Hive's
# schema scripts. For Debian and Ubuntu; run it as root, or with sudo on the PATH.
# Usage: scripts/install_metastore_database.sh postgres|mariadb
set -eu

database=${1:-}
folder=${LAKEMERGE_HIVE_SCHEMA:-${XDG_CACHE_HOME:-$HOME/.cache}/lakemerge/hive-schema}

what=$database
. "$(dirname "$0")/installing.sh"

case $database in
    derby) exit 0 ;; # comes with pyspark
    postgres | hive3 | hive4) # the metastores of Hive 3.1 and 4 are tested on PostgreSQL
        packages="postgresql libpostgresql-jdbc-java" dialect=postgres
        there() { ls /usr/lib/postgresql/*/bin/initdb /usr/share/java/postgresql.jar >/dev/null 2>&1; }
        ;;
    mariadb)
        packages="mariadb-server libmariadb-java" dialect=mysql
        there() { ls /usr/sbin/mariadbd /usr/share/java/mariadb-java-client.jar >/dev/null 2>&1; }
        ;;
    *)
        echo "usage: $0 postgres|mariadb" >&2
        exit 2
        ;;
esac

if ! there; then
    say "installing the packages $packages"
    as_root apt-get update -qq
    # shellcheck disable=SC2086 - several packages
    as_root apt-get install -qq -y $packages >/dev/null
fi

if [ -f "$folder/hive-schema-1.2.0.$dialect.sql" ]; then
    say "Hive's schema scripts are in $folder"
    exit 0
fi
need_maven
say "fetching Hive's schema scripts"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unpack_metastore hive-standalone-metastore:3.1.3
mkdir -p "$folder"
cp "$work"/scripts/metastore/upgrade/"$dialect"/*.sql "$folder/"
say "Hive's schema scripts are in $folder"
