#!/usr/bin/env bash
# Builds the release, installs it into an empty folder, and builds and runs examples/hello-chorus
# against it, as a user would who has only the installed package.
#
#   scripts/check-install.sh [PRESET]     another build than release
set -euo pipefail
cd "$(dirname "$0")/.."
case ${1-} in
  -h | --help) sed -n '2,5s/^# \{0,1\}//p' "$0"; exit 0 ;;
esac
preset=${1:-release}
ranks=4

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cmake --preset "$preset"
cmake --build --preset "$preset" -j "$(nproc)"
cmake --install "build/$preset" --prefix "$work/prefix" >"$work/install.log" ||
  { cat "$work/install.log"; exit 1; }
cmake -S examples/hello-chorus -B "$work/build" -G Ninja -DCMAKE_PREFIX_PATH="$work/prefix"
cmake --build "$work/build"

"$work/prefix/bin/chorus" run -n $ranks "$work/build/hello-chorus" | tee "$work/out"
said=$(grep -c 'hello from rank' "$work/out" || true)
[ "$said" -eq $ranks ] ||
  { echo "check-install: $said of $ranks ranks said hello" >&2; exit 1; }
