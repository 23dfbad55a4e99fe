#!/usr/bin/env bash
# Installs the Debian packages that Chorus needs and this machine lacks; says which and why.
#
#   scripts/setup.sh [GROUP...]      groups: build demo test check pages studio; none means all
#
# demo.sh, test.sh and .ci/run call it, so there is no need to run it by hand. When nothing is
# missing it asks the package database once (a tenth of a second) and touches nothing.
set -euo pipefail

# One line a package: group | package | why it is needed.
packages() {
  cat <<'END'
build|g++|compiles C++20
build|cmake|configures the build
build|ninja-build|runs the build
build|ccache|keeps compiled files, so that a second build takes seconds
build|libfmt-dev|formats text
build|libhwy-dev|vector instructions of any processor, chosen at run time
build|libdnnl-dev|matrix products (oneDNN)
build|libcli11-dev|reads the command line
build|nlohmann-json3-dev|writes JSON
build|libtomlplusplus-dev|reads configuration files
build|libcpp-httplib-dev|serves the pages of chorus studio
build|pkg-config|finds libcpp-httplib
demo|bible-kjv|prints the text that the example trains on
demo|bible-kjv-text|the text itself, about 4.4 MB
test|libgtest-dev|runs the tests
test|libgmock-dev|matchers of the tests
check|clang|builds the fuzzers
check|libclang-rt-dev|what they link: libFuzzer and the sanitizers of clang
check|clang-tidy|finds suspicious code
check|clang-format|checks the layout of code
pages|nodejs|builds the pages of chorus studio
pages|npm|fetches what builds them
studio|chromium|drives the pages in tests
studio|fonts-wqy-microhei|Chinese characters in screenshots
END
}

say() { printf 'setup: %s\n' "$*" >&2; }
die() {
  say "$*"
  exit 1
}

usage() {
  sed -n '2,7s/^# \{0,1\}//p' "$0"
  printf '\nPackages by group:\n'
  packages | awk -F'|' '{printf "  %-6s %-20s %s\n", $1, $2, $3}'
}

# Prints "package|why" for each package of the groups $@ that is not installed.
missing_of() {
  local installed
  installed=$(dpkg-query -W -f='${db:Status-Status} ${Package}\n' | sed -n 's/^installed //p')
  packages | while IFS='|' read -r group package why; do
    case " $* " in *" $group "*) ;; *) continue ;; esac
    # Node.js of another source brings its own npm, beside which Debian's cannot be installed.
    [ "$package" = npm ] && command -v npm >/dev/null && continue
    grep -qxF -- "$package" <<<"$installed" || printf '%s|%s\n' "$package" "$why"
  done
}

main() {
  local groups=() group
  for group in "$@"; do
    case $group in
      build | demo | test | check | pages | studio) groups+=("$group") ;;
      -h | --help) usage; exit 0 ;;
      *) die "no group '$group'; the groups are: build demo test check pages studio" ;;
    esac
  done
  [ ${#groups[@]} -gt 0 ] || groups=(build demo test check pages studio)

  command -v dpkg-query >/dev/null && command -v apt-get >/dev/null ||
    die "this is not Debian (no apt-get here): install by hand what '$0 --help' lists"

  local missing names=() name why
  missing=$(missing_of "${groups[@]}")
  [ -n "$missing" ] || return 0

  say "missing Debian packages:"
  while IFS='|' read -r name why; do
    names+=("$name")
    printf '  %-20s %s\n' "$name" "$why" >&2
  done <<<"$missing"

  local as_root=(env DEBIAN_FRONTEND=noninteractive)
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null ||
      die "cannot install: neither root nor sudo; ask an administrator for: apt-get install ${names[*]}"
    as_root=(sudo "${as_root[@]}")
  fi

  # The lists are fetched only if they do not know a package, or know a version that is gone.
  local log
  log=$(mktemp)
  trap "rm -f $log" EXIT
  local install=("${as_root[@]}" apt-get install -y -qq --no-install-recommends "${names[@]}")
  say "installing (a minute or two)"
  if apt-cache show "${names[@]}" >/dev/null 2>&1 && "${install[@]}" </dev/null >"$log" 2>&1; then
    return 0
  fi
  say "fetching the package lists"
  "${as_root[@]}" apt-get update -qq </dev/null >"$log" 2>&1 ||
    { cat "$log" >&2; die "apt-get update failed, as above: is the network up?"; }
  "${install[@]}" </dev/null >"$log" 2>&1 ||
    { cat "$log" >&2; die "apt-get install failed, as above"; }
}

main "$@"
