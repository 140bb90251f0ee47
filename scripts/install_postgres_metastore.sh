#!/bin/sh
# Installs what the slow tests need for a metastore on PostgreSQL: the server, its JDBC driver, and Hive's
# schema scripts. For Debian and Ubuntu; run it as root, or with sudo on the PATH.
# Usage: scripts/install_postgres_metastore.sh
set -eu

folder=${LAKEMERGE_HIVE_SCHEMA:-${XDG_CACHE_HOME:-$HOME/.cache}/lakemerge/hive-schema}
artifact=org.apache.hive:hive-standalone-metastore:3.1.3:tar.gz:bin

say() {
    printf '[postgres] %s\n' "$1" >&2
}

as_root() {
    if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi
}

if ! ls /usr/lib/postgresql/*/bin/initdb /usr/share/java/postgresql.jar >/dev/null 2>&1; then
    say "installing the packages postgresql and libpostgresql-jdbc-java"
    as_root apt-get update -qq
    as_root apt-get install -qq -y postgresql libpostgresql-jdbc-java >/dev/null
fi

if [ -f "$folder/hive-schema-1.2.0.postgres.sql" ]; then
    say "Hive's schema scripts are in $folder"
    exit 0
fi
if ! command -v mvn >/dev/null; then
    say "installing the package maven"
    as_root apt-get install -qq -y maven >/dev/null
fi
say "fetching Hive's schema scripts"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mvn -q dependency:get "-Dartifact=$artifact" -Dtransitive=false
mvn -q dependency:copy "-Dartifact=$artifact" "-DoutputDirectory=$work"
mkdir -p "$folder"
tar -xzf "$work"/*.tar.gz -C "$work"
cp "$work"/*/scripts/metastore/upgrade/postgres/*.sql "$folder/"
say "Hive's schema scripts are in $folder"
