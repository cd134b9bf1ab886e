# Sourced by ./test, after scripts/setup.sh: steps with a log, a limit and a time each.
# shellcheck shell=bash

logs=.build/logs
mkdir -p "$logs"
rm -f "$logs"/*.xml "$logs/times"
lane_groups=()

# step NAME MINUTES COMMAND...: runs a command. Its output goes into a log, which is printed if it fails.
# A command that reaches the limit, in which a peer or a browser crashed, or that failed after the machine had stood
# still for seconds, failed for a reason that may not be the package's: it is repeated once.
step() {
  local name=$1 minutes=$2 start=$SECONDS status log reason=
  shift 2
  log=$logs/$(tr -cs 'a-zA-Z0-9\n' - <<<"$name").log
  say "$name"
  # Not in a condition: bash would ignore failures within functions there.
  set +e
  attempt "$minutes" "$log" "$@"
  status=$?
  set -e
  if [ $status -ne 0 ]; then
    reason=$(cause "$status" "$log")
    if [ -n "$reason" ]; then
      say "$name: $reason; repeated once"
      cp "$log" "$log.first"
      set +e
      IS_REPETITION=1 attempt "$minutes" "$log" "$@"
      status=$?
      set -e
    fi
  fi
  printf '%5d s  %s%s\n' $((SECONDS - start)) "$name" "${reason:+ ($reason; repeated)}" >>"$logs/times"
  if [ $status -ne 0 ]; then
    grep -E '✘|↳|error:|Crash|Fatal|^E  |^FAILED|SUMMARY|MISSED' "$log" | head -n 60 || true
    tail -n 30 "$log"
    fail "\"$name\" failed${reason:+ twice, at first because $reason}; its output is in $log"
  fi
}

# attempt MINUTES LOG COMMAND...: 124 if the limit was reached. The command may be a function.
attempt() {
  local minutes=$1 log=$2 status=0 command watchdog stops process
  shift 2
  rm -f "$log.late" "$log.stood"
  (set -e; "$@") >"$log" 2>&1 </dev/null &
  command=$!
  (sleep $((minutes * 60)) && touch "$log.late" && end_tree "$command") >/dev/null 2>&1 &
  watchdog=$!
  note_stops "$log.stood" >/dev/null 2>&1 9>&- &
  stops=$!
  wait "$command" || status=$?
  for process in "$watchdog" "$stops"; do
    end_tree "$process"
    wait "$process" 2>/dev/null || true
  done
  if [ -e "$log.late" ]; then rm -f "$log.late"; status=124; fi
  return $status
}

# By how many seconds a process that sleeps for one is late where the machine stood still.
stop_seconds=3

# note_stops FILE: makes a file when the machine has stood still.
note_stops() {
  local before
  while :; do
    before=${EPOCHREALTIME/[.,]/}
    sleep 1
    [ $((${EPOCHREALTIME/[.,]/} - before)) -lt $(((stop_seconds + 1) * 1000000)) ] || touch "$1"
  done
}

# end_tree PROCESS: ends a process and those that it started, in one process group with others.
end_tree() {
  local child
  for child in $(pgrep -P "$1"); do end_tree "$child"; done
  # Some have handlers that wait for what has just been ended.
  kill "$1" 2>/dev/null && { sleep 0.1; kill -9 "$1" 2>/dev/null; } || true
}

# cause STATUS LOG: why a failed command may be repeated; nothing if it may not.
cause() {
  if [ "$1" = 124 ]; then
    echo "it took too long"
  elif grep -qE 'Timeout \(?>|Time limit was exceeded' "$2"; then
    echo "a test took too long"
  elif grep -qE 'PeerCrashed|chromedriver ended|the machine does not come up|exited with unexpected signal' "$2"; then
    echo "a peer or the test process crashed"
  elif [ -e "$2.stood" ]; then
    echo "the machine stood still for seconds"
  fi
}

# beside FUNCTION: runs steps beside those that follow, until `join`. They end with this script.
beside() {
  set -m
  "$1" &
  lane_groups+=("$!")
  set +m
}

# beside_step NAME MINUTES COMMAND...: a step beside those that follow, until `join`.
beside_step() {
  local arguments=("$@")
  set -m
  (step "${arguments[@]}") &
  lane_groups+=("$!")
  set +m
}

# beside_or_end FUNCTION: runs steps beside those that follow, until `join`. Where one fails, this script ends at once, or
# at `join` if its parent blocks signals.
beside_or_end() {
  set -m
  ("$1" & wait "$!" || { kill -USR1 "$$"; exit 1; }) &
  lane_groups+=("$!")
  set +m
}

# await_file PATH: waits until the steps beside this one have made a file.
await_file() {
  until [ -e "$1" ]; do
    if [ -n "$(jobs -rp)" ]; then sleep 1; else
      join
      [ -e "$1" ] || fail "No step beside this one makes $1."
    fi
  done
}

# Ends all that this script has started and that runs.
end_lanes() {
  local group
  for group in "${lane_groups[@]}"; do kill -- "-$group" 2>/dev/null || true; done
  for group in $(jobs -p); do end_tree "$group"; done
}
trap end_lanes EXIT
trap 'exit 143' TERM
# A step of `beside_or_end` has failed, and printed the reason.
trap 'exit 1' USR1

join() {
  local group
  for group in "${lane_groups[@]}"; do
    wait "$group" || fail "A step that ran beside the others failed; see above."
  done
  lane_groups=()
}

# test_folder [FOLDER]: where tests have their files: in memory, if it has a gigabyte and runs programs. Tests that end
# processes while they write synchronize files thousands of times, for which a busy disk takes minutes.
test_folder() {
  local memory=${1:-/dev/shm}
  if [ -w "$memory" ] && awk -v folder="$memory" '
      $2 == folder { runs = $3 == "tmpfs" && $4 !~ /noexec/ } END { exit !runs }' /proc/mounts &&
    [ "$(df -Pk "$memory" | awk 'NR == 2 { print $4 }')" -ge 1048576 ]
  then
    echo "$memory"
  else
    echo "${TMPDIR:-/tmp}"
  fi
}

# Prints the time of each step, and the slowest tests.
print_times() {
  say "Time of each step"
  cat "$logs/times"
  printf '%5d s  in all\n' "$SECONDS"
  say "The slowest tests"
  scripts/slowest-tests "$logs"/*.xml
}

# manifest NAME: what a check depends on of Package.swift. The documentation of a module and the thread sanitizer, which
# runs one, don't depend on the other targets.
manifest() {
  case "$1" in
    documentation-* | sanitizer) sed '/^  targets: \[$/,/^  \],$/d' Package.swift ;;
    *) cat Package.swift ;;
  esac
}

# if_changed NAME FILES... -- COMMAND...: runs a command unless it passed with the present contents of these files
# before, here or where .ci/passed was recorded. With AMBIT_SLOW_CHECKS_UNTIL, it begins before that second of the run,
# or is reported as not run.
if_changed() {
  local name=$1 hash path paths=(scripts/setup.sh)
  shift
  while [ "$1" != -- ]; do paths+=("$1"); shift; done
  shift
  for path in Package.swift "${paths[@]}"; do
    [ -e "$path" ] || fail "$name depends on $path, which does not exist."
  done
  hash=$({
    manifest "$name"
    git ls-files -z --cached --others --exclude-standard -- "${paths[@]}" | sort -z | xargs -0 sha256sum 2>/dev/null
  } | sha256sum | cut -c 1-16)
  if [ "${tier:-}" != everything ] && grep -qsx "$name $hash" .build/passed .ci/passed; then
    echo "Unchanged since it passed: ${paths[*]}"
    return
  fi
  # A run of CI has an end, and one that reaches it proves nothing.
  if [ "$SECONDS" -ge "${AMBIT_SLOW_CHECKS_UNTIL:-$((SECONDS + 1))}" ]; then
    printf '    - s  %s was NOT RUN: the time for slow checks was over; ./test everything runs it\n' "$name" |
      tee -a "$logs/times"
    return
  fi
  "$@"
  # Some checks use the last commit, so that only a commit has passed.
  [ -n "$(git status --porcelain -- Package.swift "${paths[@]}")" ] || printf '%s %s\n' "$name" "$hash" >>.build/passed
}

# Records for other machines what passed here, with the commit and the date.
record_passed() {
  {
    printf 'everything %s %s\n' "$(git rev-parse HEAD)" "$(date -u +%Y-%m-%d)"
    tac .build/passed | awk '!seen[$1]++' | sort
  } >.ci/passed
}

# Warns where the last run of `./test everything` is more than 50 commits ago.
warn_if_old() {
  local commit count
  commit=$(sed -n 's/^everything \([0-9a-f]*\) .*/\1/p' .ci/passed 2>/dev/null || true)
  count=$(git rev-list --count "${commit:-HEAD}..HEAD" 2>/dev/null || echo unknown)
  if [ -z "$commit" ]; then
    say "./test everything has never been recorded"
  elif [ "$count" = unknown ] || [ "$count" -gt 50 ]; then
    say "./test everything passed last $count commits ago: run it, and commit .ci/passed"
  fi
}
