#!/bin/sh
# Installs the peers, builds one driver against each and Chorus, and measures. One command:
#
#   bench/peers/run.sh                                        everything; an hour
#   bench/peers/run.sh --op all_reduce --sizes 8,4KiB,1MiB --ranks 2 --quick
#
# PEERS_BUILD names another build folder. See measure.py --help for the options.
set -e
. "$(dirname "$0")/../run_lib.sh"
show_help "$0" "${1-}"
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
build=${PEERS_BUILD:-$root/build/peers}

install_missing libopenmpi-dev openmpi-bin libmpich-dev mpich libgloo-dev

log=$build/build.log
mkdir -p "$build"
build_all() {
  cmake --preset release -S "$root" -B "$build" -D CHORUS_BUILD_PEERS=ON -D CHORUS_BUILD_APPS=OFF "$@" &&
    nice -n 19 cmake --build "$build" -j "$(nproc)"
}
# Rooms compiled as one file each take a third of the time; should one not stand that, all files alone.
if ! { build_all -D CMAKE_UNITY_BUILD=ON || build_all -D CMAKE_UNITY_BUILD=OFF; } >"$log" 2>&1; then
  tail -40 "$log" >&2
  exit 1
fi
exec python3 "$here/measure.py" --programs "$build/peers" "$@"
