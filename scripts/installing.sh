# What the scripts that install engines and services share; they source it, with `what` for the name of their own.

say() {
    printf '[%s] %s\n' "$what" "$1" >&2
}

as_root() {
    if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi
}

need_maven() {
    if ! command -v mvn >/dev/null; then
        say "installing the package maven"
        as_root apt-get update -qq
        as_root apt-get install -qq -y maven >/dev/null
    fi
}

# Ends the script where this version is installed. Otherwise begins with an empty folder to install into ($folder), and a
# temporary one ($work) that goes at the end: begin NAME VERSION
begin() {
    name=$1 installed=$2
    if [ "$(cat "$folder/version" 2>/dev/null)" = "$installed" ]; then
        say "$name is in $folder"
        exit 0
    fi
    need_maven
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    rm -rf "$folder"
    mkdir -p "$folder"
}

# Notes what begin was told to install as installed.
finish() {
    echo "$installed" >"$folder/version"
    say "$name is in $folder"
}

# Copies the jars that the project $work/pom.xml needs to run into a folder.
copy_jars() {
    mvn -q -B -f "$work/pom.xml" dependency:copy-dependencies -DincludeScope=runtime "-DoutputDirectory=$1"
}

# Unpacks a metastore of Hive, with the schema scripts of its databases, into $work: unpack_metastore ARTIFACT:VERSION
unpack_metastore() {
    artifact=org.apache.hive:$1:tar.gz:bin
    mvn -q dependency:get "-Dartifact=$artifact" -Dtransitive=false
    mvn -q dependency:copy "-Dartifact=$artifact" "-DoutputDirectory=$work"
    tar -xzf "$work"/*.tar.gz -C "$work" --strip-components=1
}

# Unpacks one and copies its script for PostgreSQL: fetch_schema ARTIFACT:VERSION SCHEMA
fetch_schema() {
    unpack_metastore "$1"
    cp "$work/scripts/metastore/upgrade/postgres/hive-schema-$2.postgres.sql" "$folder/schema.sql"
}

# Begins a project in $work whose dependencies copy_jars copies: project DEPENDENCY..., each as dependency prints it.
project() {
    cat >"$work/pom.xml" <<POM
<project>
  <modelVersion>4.0.0</modelVersion>
  <groupId>lakemerge</groupId><artifactId>$what</artifactId><version>1</version><packaging>pom</packaging>
  <dependencies>$*</dependencies>
</project>
POM
}

# dependency GROUP ARTIFACT VERSION EXCLUDED-GROUP...
dependency() {
    printf '<dependency><groupId>%s</groupId><artifactId>%s</artifactId><version>%s</version><exclusions>' "$1" "$2" "$3"
    shift 3
    for group in "$@"; do
        printf '<exclusion><groupId>%s</groupId><artifactId>*</artifactId></exclusion>' "$group"
    done
    printf '</exclusions></dependency>'
}
