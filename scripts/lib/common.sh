# SPDX-License-Identifier: Apache-2.0
# Shared by everything in scripts/: where the tree is, how to speak, stages with their times. Sourced, never run.

BERTH_ROOT="$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)"
readonly BERTH_ROOT
cd "$BERTH_ROOT" || exit 1

say() { printf '%s\n' "$*"; }

# Ends the script with a sentence and, below it, what to do.
stop() {
  printf '\n%s: %s\n' "$(basename "$0")" "$1" >&2
  shift
  if (($#)); then printf '  %s\n' "$@" >&2; fi
  exit 1
}

# What is made of one commit is the same whenever it is made: the time of the commit, in seconds; that of the changelog in
# a tree that git does not know.
source_date() {
  local time="${SOURCE_DATE_EPOCH:-}" changelog="$BERTH_ROOT/conf/deploy/package/changelog.in"
  if [[ -z "$time" ]]; then
    time="$(git -C "$BERTH_ROOT" log -1 --format=%ct 2>/dev/null)" || time="$(date --date="$(sed -n 's/^ -- .*>  //p' "$changelog")" +%s)"
  fi
  say "$time"
}

# Two columns wide enough for every stage name; filled by stage(), printed by print_stages().
stage_lines=()

# stage NAME COMMAND…: runs the command under a headline and remembers how long it took and how it ended.
# The answer is the command's. Call it as a condition where a failure must not end the script.
stage() {
  local name="$1" started=$SECONDS status=0
  shift
  printf '\n=== %s\n' "$name"
  "$@" || status=$?
  local verdict=ok
  if ((status)); then verdict="FAILED ($status)"; fi
  stage_lines+=("$(printf '%-34s %5d s   %s' "$name" "$((SECONDS - started))" "$verdict")")
  return "$status"
}

print_stages() {
  printf '\n=== time per stage\n'
  printf '%s\n' "${stage_lines[@]}"
  printf '%-34s %5d s\n' total "$SECONDS"
}
