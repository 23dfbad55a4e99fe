#!/usr/bin/env bash
# Builds the release, installs it into an empty folder, and builds and runs the programs of examples/
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
for example in hello-chorus sharded-matmul; do
  cmake -S examples/$example -B "$work/$example" -G Ninja -DCMAKE_PREFIX_PATH="$work/prefix"
  cmake --build "$work/$example"
done

"$work/prefix/bin/chorus" run -n $ranks "$work/hello-chorus/hello-chorus" | tee "$work/out"
said=$(grep -c 'hello from rank' "$work/out" || true)
[ "$said" -eq $ranks ] ||
  { echo "check-install: $said of $ranks ranks said hello" >&2; exit 1; }

"$work/prefix/bin/chorus" run -n $ranks "$work/sharded-matmul/sharded-matmul" "$work/product.npy" | tee "$work/out"
grep -q 'norm 86.9483, largest 42, norm after reading .*: 86.9483' "$work/out" ||
  { echo "check-install: sharded-matmul gave another product" >&2; exit 1; }
