#!/bin/sh
# Installs what `make test-cluster` needs for Kerberos: MIT's key distribution center and its clients. For Debian and
# Ubuntu; run it as root, or with sudo on the PATH.
# Usage: scripts/install_kerberos.sh
set -eu

what=kerberos
. "$(dirname "$0")/installing.sh"

if ! ls /usr/sbin/krb5kdc /usr/sbin/kadmin.local /usr/bin/kinit >/dev/null 2>&1; then
    say "installing the packages krb5-kdc, krb5-admin-server and krb5-user"
    as_root apt-get update -qq
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -qq -y krb5-kdc krb5-admin-server krb5-user >/dev/null
fi
say "Kerberos is installed"
