# Sourced by ./test, after scripts/setup.sh: steps with a log and a time each.
# shellcheck shell=bash

logs=.build/logs
mkdir -p "$logs"
rm -f "$logs/times"
lane_group=

# step NAME COMMAND...: runs a command. What it writes goes into a log, and is shown if it fails.
step() {
  local name=$1 start=$SECONDS status log
  shift
  log=$logs/$(tr -cs 'a-zA-Z0-9\n' - <<<"$name").log
  say "$name"
  set +e
  (set -e; "$@") >"$log" 2>&1 </dev/null
  status=$?
  set -e
  printf '%5d s  %s\n' $((SECONDS - start)) "$name" >>"$logs/times"
  if [ $status -ne 0 ]; then
    grep -E '✘|↳|error:|Crash|Fatal|^E  |^FAILED|SUMMARY|MISSED' "$log" | head -n 60 || true
    tail -n 30 "$log"
    fail "\"$name\" failed; all that it wrote is in $log"
  fi
}

# beside FUNCTION: runs steps beside those that follow, until `join`. It ends with this script.
beside() {
  set -m
  "$1" &
  lane_group=$!
  set +m
  trap 'kill -- "-$lane_group" 2>/dev/null || true' EXIT
}

join() {
  local group=$lane_group
  wait "$group" || fail "What ran beside failed; see above."
  trap - EXIT
}

# Prints how long each step took.
print_times() {
  say "Time of each step"
  cat "$logs/times"
  printf '%5d s  in all\n' "$SECONDS"
}
