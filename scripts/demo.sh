#!/usr/bin/env bash
# Trains a small language model on the King James Bible with four processes on this machine.
#
#   scripts/demo.sh [OPTION...]      options are those of `chorus train`, for example
#   scripts/demo.sh --steps 200                  a short run
#   scripts/demo.sh --set strategy.name=fsdp+tensor
#   scripts/demo.sh -n 2 --set mesh.X=1          two processes
#   scripts/demo.sh FILE.toml        another model or another mesh; start from examples/kjv-mlp.toml
#
# Installs what is missing (scripts/setup.sh), builds the tool and runs
#   chorus train examples/kjv-mlp.toml -n 4
# From a clean clone the first training line takes some minutes, afterwards seconds.
set -euo pipefail

here=$PWD
root=$(cd "$(dirname "$0")/.." && pwd)
tool=$root/build/release/bin/chorus

case ${1-} in
  -h | --help)
    sed -n '2,12s/^# \{0,1\}//p' "$0"
    [ ! -x "$tool" ] || { printf '\n'; "$tool" train --help; }
    exit 0
    ;;
esac

cd "$root"
scripts/setup.sh build demo
mkdir -p build/release
cmake --preset release >build/release/configure.log 2>&1 || {
  cat build/release/configure.log >&2
  exit 1
}
cmake --build --preset release --target chorus_tool

file=(examples/kjv-mlp.toml)
ranks=(-n 4)
for argument in "$@"; do
  case $argument in
    *.toml) file=() ranks=() ;; # its mesh says how many
    -n | -n[0-9]* | --ranks*) ranks=() ;;
  esac
done
# A file that the user names is relative to where they stand, ours to the repository.
[ ${#file[@]} -gt 0 ] || cd "$here"
exec "$tool" train ${file[@]+"${file[@]}"} ${ranks[@]+"${ranks[@]}"} "$@"
