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
# A sample of the SDK is written in Rust.
readonly PACKAGES_RUST=(rustc)
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
