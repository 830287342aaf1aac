#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# image_root.sh [--whole] ROOT PACKAGE.deb: what has to be in an empty root so that a container of it can be berth.
# --whole: with the libraries and certificates of this machine, and with nothing that berth does not need: no shell, no
# package manager, no manual. conf/deploy/Dockerfile does that on Debian 12. /usr/share/berth/sbom.spdx.json says what is in it.
# SOURCE_DATE_EPOCH, which --whole needs, is the time of everything in it: the same package makes the same root, byte for byte.
set -euo pipefail
umask 022

whole=false
if [[ "${1:-}" == --whole ]]; then
  whole=true
  shift
fi
root="${1:?root}"
package="$(realpath "${2:?package}")"

mkdir -p "$root/var/lib/dpkg/info" "$root/var/lib/dpkg/updates"
touch "$root/var/lib/dpkg/status"
dpkg --root="$(realpath "$root")" --force-script-chrootless --force-depends --install "$package"

# kubeadm's manifest gives the command without a path.
mkdir -p "$root/usr/local/bin"
ln -sfn ../../lib/berth/kube-scheduler "$root/usr/local/bin/kube-scheduler"

[[ "$whole" == true ]] || exit 0
: "${SOURCE_DATE_EPOCH:?is to be the time of the commit, in seconds}"

# The libraries, each where the program looks for it, and what loads them.
mapfile -t libraries < <(ldd "$root/usr/bin/berth" "$root"/usr/lib/berth/plugins/*.so |
  sed -n -e 's/.* => \(\/[^ ]*\) (.*/\1/p' -e 's/^\t\(\/[^ ]*\) (.*/\1/p' | sort -u)
for library in "${libraries[@]}"; do
  install -D --mode=755 "$(realpath "$library")" "$root$library"
done

# Whom to trust, where OpenSSL of Debian looks.
install -D --mode=644 /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/ca-certificates.crt"
mkdir -p "$root/usr/lib/ssl"
ln -sfn /etc/ssl/certs "$root/usr/lib/ssl/certs"
ln -sfn /etc/ssl/certs/ca-certificates.crt "$root/usr/lib/ssl/cert.pem"

printf 'root:x:0:0:root:/:/nologin\nberth:x:65532:65532:berth:/:/nologin\n' > "$root/etc/passwd"
printf 'root:x:0:\nberth:x:65532:\n' > "$root/etc/group"
printf 'hosts: files dns\n' > "$root/etc/nsswitch.conf"

rm -rf "$root/var" "$root/lib/systemd" "$root/usr/share/man" "$root/usr/share/bash-completion" "$root/usr/share/zsh" \
  "$root/usr/share/fish" "$root/usr/share/lintian" "$root/usr/share/doc/berth/examples"

# Some are compiled in from headers alone, so that no file shows them. Those of tests are not.
source "$(dirname "${BASH_SOURCE[0]}")/packages.sh"
mapfile -t built_with < <(printf '%s\n' "${PACKAGES_LIBRARIES[@]}" | grep -v -e gtest -e benchmark)
sbom="$(python3 "$(dirname "${BASH_SOURCE[0]}")/sbom.py" "$root" "$package" --built-with "${built_with[@]}")"
printf '%s\n' "$sbom" > "$root/usr/share/berth/sbom.spdx.json"

find "$root" -exec touch --no-dereference --date="@$SOURCE_DATE_EPOCH" {} +
