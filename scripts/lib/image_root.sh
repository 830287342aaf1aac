#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# image_root.sh ROOT PACKAGE.deb: what has to be done to a Debian root so that a container of it can be berth.
# conf/deploy/Dockerfile runs it with / as ROOT, where apt brings libraries and certificates; any other ROOT gets the package
# alone.
set -euo pipefail

root="${1:?root}"
package="${2:?package}"

if [[ "$root" == / ]]; then
  apt-get update
  DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends "$(realpath "$package")"
  rm -rf /var/lib/apt/lists/*
else
  mkdir -p "$root/var/lib/dpkg/info" "$root/var/lib/dpkg/updates"
  touch "$root/var/lib/dpkg/status"
  dpkg --root="$root" --force-script-chrootless --force-depends --install "$package"
fi

# kubeadm's manifest gives the command without a path.
mkdir -p "$root/usr/local/bin"
ln -sfn ../../lib/berth/kube-scheduler "$root/usr/local/bin/kube-scheduler"
