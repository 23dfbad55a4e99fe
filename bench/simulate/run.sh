#!/bin/sh
# Compares the simulator with SimGrid on random schedules, and measures how its time grows with the
# number of ranks.
#
#   bench/simulate/run.sh              1,000 schedules, then the growth table; some minutes
#   bench/simulate/run.sh 100          100 schedules
#
# SIMULATE_BUILD names another build folder.
set -e
. "$(dirname "$0")/../run_lib.sh"
show_help "$0" "${1-}"
root=$(cd "$(dirname "$0")/../.." && pwd)
build=${SIMULATE_BUILD:-$root/build/simulate}

install_missing libsimgrid-dev
mkdir -p "$build"
{
  cmake --preset release -S "$root" -B "$build" -D CHORUS_BUILD_SIMULATE_BENCH=ON \
    -D CHORUS_BUILD_APPS=OFF -D CMAKE_UNITY_BUILD=OFF &&
    nice -n 19 cmake --build "$build" --target simulate_growth compare_simgrid -j "$(nproc)"
} >"$build/build.log" 2>&1 || { tail -40 "$build/build.log" >&2; exit 1; }
"$build/bench/simulate/compare_simgrid" "${1:-1000}"
"$build/bench/simulate/simulate_growth"
