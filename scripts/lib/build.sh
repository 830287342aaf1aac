# SPDX-License-Identifier: Apache-2.0
# Configure and build one preset of CMakePresets.json into build/<preset>. Sourced after common.sh.

# Clones of one tree share what was compiled: paths below the root do not count.
export CCACHE_BASEDIR="$BERTH_ROOT" CCACHE_NOHASHDIR=1

# build_preset PRESET [TARGET…]: everything when no target is named. Configures again only when something asks for it.
build_preset() {
  local preset="$1" targets=()
  shift
  if (($#)); then targets=(--target "$@"); fi
  cmake --preset "$preset" && cmake --build --preset "$preset" --parallel "$(nproc)" "${targets[@]}"
}
