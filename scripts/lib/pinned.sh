#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# pinned.sh BASE SOURCE_DATE_EPOCH: fails unless an image made from them can be made again: BASE has a digest, and the time of
# the commit is given in seconds. conf/deploy/Dockerfile asks this first.
set -euo pipefail

if [[ ! "${1:-}" =~ ^[^@]+@sha256:[0-9a-f]{64}$ ]]; then
  printf 'BASE is "%s": it has to end with @sha256: and the 64 digits of a digest\n' "${1:-}" >&2
  exit 1
fi
if [[ ! "${2:-}" =~ ^[0-9]+$ ]]; then
  printf 'SOURCE_DATE_EPOCH is "%s": it has to be the time of the commit, in seconds: git log -1 --format=%%ct\n' "${2:-}" >&2
  exit 1
fi
