#!/usr/bin/env bash
# Builds the tool with its pages and starts them in the browser.
#
#   scripts/studio.sh [OPTION...]    options of chorus studio, as --port 0 or --runs FOLDER
set -euo pipefail
here=$PWD
cd "$(dirname "$0")/.."
root=$PWD
case ${1-} in
  -h | --help) sed -n '2,4s/^# \{0,1\}//p' "$0"; exit 0 ;;
esac
scripts/setup.sh build pages
[ -f build/studio/hash ] || rm -f build/studio/pages.cc # built when npm was missing
cmake --preset release >/dev/null
cmake --build --preset release --target chorus_tool
cd "$here"
exec "$root/build/release/bin/chorus" studio --open "$@"
