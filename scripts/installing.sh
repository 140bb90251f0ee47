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

# Begins with an empty folder to install into ($folder), and a temporary one ($work) that goes at the end.
begin() {
    need_maven
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    rm -rf "$folder"
    mkdir -p "$folder"
}

# Copies the jars that the project $work/pom.xml needs to run into a folder.
copy_jars() {
    mvn -q -B -f "$work/pom.xml" dependency:copy-dependencies -DincludeScope=runtime "-DoutputDirectory=$1"
}

# Unpacks a metastore of Hive, with its schema scripts: unpack_metastore ARTIFACT:VERSION FOLDER.
unpack_metastore() {
    artifact=org.apache.hive:$1:tar.gz:bin
    mvn -q dependency:get "-Dartifact=$artifact" -Dtransitive=false
    mvn -q dependency:copy "-Dartifact=$artifact" "-DoutputDirectory=$2"
    tar -xzf "$2"/*.tar.gz -C "$2" --strip-components=1
}

# Installs a metastore of Hive with its schema for PostgreSQL, and the Hadoop that pyspark brings:
# install_metastore ARTIFACT:VERSION SCHEMA
install_metastore() {
    unpack_metastore "$1" "$work"
    cp -r "$work/lib" "$folder/metastore"
    cp "$work/scripts/metastore/upgrade/postgres/hive-schema-$2.postgres.sql" "$folder/schema.sql"
    # Their locks need commons-collections 3, which neither brings.
    project "$(dependency org.apache.hadoop hadoop-common 3.5.0
        dependency org.apache.hadoop hadoop-hdfs 3.5.0
        dependency org.apache.hadoop hadoop-mapreduce-client-core 3.5.0
        dependency commons-collections commons-collections 3.2.2)"
    copy_jars "$folder/hadoop"
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
