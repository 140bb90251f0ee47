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

# Unpacks the metastore of Hive 3.1, with the schema scripts of all releases before it, into a folder.
unpack_metastore() {
    artifact=org.apache.hive:hive-standalone-metastore:3.1.3:tar.gz:bin
    mvn -q dependency:get "-Dartifact=$artifact" -Dtransitive=false
    mvn -q dependency:copy "-Dartifact=$artifact" "-DoutputDirectory=$1"
    tar -xzf "$1"/*.tar.gz -C "$1" --strip-components=1
}
