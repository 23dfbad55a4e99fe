#!/usr/bin/env bash
# Builds everything and runs all tests.
#
#   scripts/test.sh [OPTION...]      options are those of ctest, for example
#   scripts/test.sh -R mesh          only tests whose name has "mesh" in it
#   scripts/test.sh --rerun-failed   only those that failed last time
#
# Installs what is missing (scripts/setup.sh). Another build is chosen by its preset:
#   CHORUS_PRESET=asan-ubsan scripts/test.sh
set -euo pipefail

case ${1-} in
  -h | --help)
    sed -n '2,9s/^# \{0,1\}//p' "$0"
    exit 0
    ;;
esac

cd "$(dirname "$0")/.."
preset=${CHORUS_PRESET:-dev}
logs=build/$preset/logs
mkdir -p "$logs"

# Runs "$@" with its output in the log $1.log as well; on failure says where that is.
logged() {
  local log=$logs/$1.log
  shift
  if ! "$@" 2>&1 | tee "$log"; then
    printf '\ntest: failed: %s\ntest: its output is kept in %s\n' "$*" "$PWD/$log" >&2
    return 1
  fi
}

scripts/setup.sh build demo test
logged configure cmake --preset "$preset"
logged build cmake --build --preset "$preset"
# Many tests start several ranks of their own, so there is one test a core and no more.
logged test ctest --preset "$preset" -j "$(nproc)" --output-on-failure "$@"
