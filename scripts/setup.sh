# Sourced by ./run and ./test: installs what is missing, says so, and nothing else.
# shellcheck shell=bash

# How the package itself is built: with its server (docs/decisions/0140-the-server-is-a-trait.md). All
# commands that share a build folder say so, or SwiftPM compiles everything again.
# shellcheck disable=SC2034
traits=(--enable-all-traits)

# SwiftPM hands the traits to the compiler in the order of a hash table. With another order in the next plan, it
# compiles everything again (docs/decisions/0221-what-run-fetches-and-compiles-once.md).
# shellcheck disable=SC2034
stable=(env SWIFT_DETERMINISTIC_HASHING=1)

# The compiler verifies the code that it hands to LLVM, which finds mistakes of the compiler only.
# shellcheck disable=SC2034
unverified=(-Xswiftc -Xfrontend -Xswiftc -disable-llvm-verify)

say() { printf '\033[1m==> %s\033[0m\n' "$*"; }
fail() { printf '%s\n' "$*" >&2; exit 1; }

# need_packages COMMAND PACKAGE ...: makes sure that each command is there.
need_packages() {
  local missing=()
  while [ $# -ge 2 ]; do
    command -v "$1" >/dev/null 2>&1 || missing+=("$2")
    shift 2
  done
  [ ${#missing[@]} -eq 0 ] && return
  local as_root=()
  if [ "$(id -u)" -ne 0 ]; then
    sudo -n true 2>/dev/null || fail "Missing: ${missing[*]}. Install with: sudo apt-get install ${missing[*]}"
    as_root=(sudo)
  fi
  say "Installing ${missing[*]} with apt-get"
  "${as_root[@]}" apt-get update -q >/dev/null || fail "apt-get update failed"
  DEBIAN_FRONTEND=noninteractive "${as_root[@]}" apt-get install -qy --no-install-recommends "${missing[@]}" </dev/null >/dev/null ||
    fail "apt-get could not install ${missing[*]}"
}

# Swift is too large to install behind someone's back.
need_swift() {
  command -v swift >/dev/null 2>&1 || [ ! -x /opt/swift/usr/bin/swift ] || PATH=/opt/swift/usr/bin:$PATH
  command -v swift >/dev/null 2>&1 ||
    fail "Ambit needs Swift 6.2 or later: see https://www.swift.org/install/linux/ and put swift on the PATH."
  local version
  version=$(swift --version 2>/dev/null | sed -n 's/.*Swift version \([0-9]*\.[0-9]*\).*/\1/p' | head -n 1)
  case "$version" in
    [1-5].* | 6.[01]) fail "Ambit needs Swift 6.2 or later; this is Swift $version." ;;
  esac
}

# need_python PACKAGES...: a virtual environment in .venv with exactly these.
need_python() {
  need_packages python3 python3 pip3 python3-pip
  # One that was interrupted while it was made has no pip yet.
  if ! .venv/bin/python -c 'import pip' >/dev/null 2>&1; then
    say "Making a Python environment in .venv"
    python3 -m venv --clear .venv 2>/dev/null || {
      need_packages no-such-command python3-venv
      python3 -m venv --clear .venv || fail "python3 -m venv .venv failed"
    }
  fi
  local wanted="$*"
  [ "$(cat .venv/installed 2>/dev/null)" = "$wanted" ] && return
  say "Installing $wanted with pip"
  .venv/bin/pip install -q "$@" || fail "pip could not install $wanted"
  printf '%s\n' "$wanted" >.venv/installed
}

# The stacks that others wrote, as peers of Interop and Benchmarks.
need_peers() {
  need_python bumble==0.0.236 rootcanal==1.10.0 dnspython==2.9.2 zeroconf==0.154.0 pytest==8.3.4 \
    pytest-asyncio==0.25.3 pytest-timeout==2.3.1 pytest-xdist==3.6.1 prometheus-client==0.26.0 slixmpp==1.17.0 \
    aiohttp==3.14.5
}

# What ambit-apps is compiled with, and ambit-message, too.
need_sqlite() { [ -e /usr/include/sqlite3.h ] || need_packages sqlite-headers libsqlite3-dev; }

# What ambit-message is compiled and linked with.
need_message_libraries() {
  need_sqlite
  ldconfig -p 2>/dev/null | grep -q 'libexpat\.so\.1' || /sbin/ldconfig -p 2>/dev/null | grep -q 'libexpat\.so\.1' ||
    need_packages expat-library libexpat1
}

# build_product ROOT PRODUCT OPTIONS...: builds a program, or several with commas between them, in one plan; without options in the release tree, which ./run, Interop
# and the benchmarks share. Prints progress to a terminal, and the compiler's messages if it fails.
build_product() {
  local root=$1 product=$2 log status options=() target=(--product "$2")
  shift 2
  if [ $# -eq 0 ]; then
    # docs/decisions/0220-commands-of-a-clone-are-not-optimized.md
    local -x AMBIT_UNOPTIMIZED_COMMANDS=1
    options=("${unverified[@]}")
    # Without the packages of the other programs, until one of these is built: SwiftPM removes what it doesn't need.
    if [[ $product =~ ^ambit(-hub)?$ ]] && [ ! -e "$root/.build/checkouts/swift-nio" ]; then
      local -x AMBIT_PROGRAM=ambit,ambit-hub
    fi
  fi
  if [[ $product = *,* ]]; then
    local -x AMBIT_PRODUCTS=$product
    target=()
  fi
  log=$(mktemp --suffix=.log)
  "${stable[@]}" swift build --package-path "$root" -c release "${traits[@]}" "${target[@]}" "${options[@]}" "$@" 2>&1 |
    tee "$log" | print_progress "$product"
  status=${PIPESTATUS[0]}
  if [ "$status" -ne 0 ]; then
    grep -E 'error:' "$log" >&2 || tail -n 30 "$log" >&2
    fail "$product did not build; the log is $log"
  fi
  rm -f "$log"
}

# print_progress NAME: turns the lines of `swift build` into one counted line on a terminal. Where there is
# no terminal, prints nothing but what the build waits for.
print_progress() {
  local line started=$SECONDS shown=0
  while IFS= read -r line; do
    case "$line" in
      *'Another instance of SwiftPM'*) printf '%s\n' "$line" >&2 ;;
      '['*/*']'* | Fetching* | Creating* | Computing* | Building*)
        [ -t 2 ] || continue
        # A build of which nothing is left to do takes a second, and shows nothing.
        [ $((SECONDS - started)) -ge 1 ] || continue
        printf '\r\033[K%.*s' "$((${COLUMNS:-80} - 1))" "Building $1, $((SECONDS - started)) s: $line" >&2
        shown=1
        ;;
    esac
  done
  [ "$shown" = 0 ] || printf '\r\033[K' >&2
}
