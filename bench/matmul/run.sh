#!/bin/sh
# Installs ScaLAPACK and OpenBLAS, builds one driver against them and Chorus, and measures products of
# matrices that are split over two ranks. One command, some minutes:
#
#   bench/matmul/run.sh
#   bench/matmul/run.sh --shapes 1024x1024x1024 --rounds 3
#   bench/matmul/run.sh --overlap     over a link that is slow, what is hidden behind products: Chorus alone
#   bench/matmul/run.sh --in-place    a block of the other rank read where it lies, or copied first: Chorus alone
#
# MATMUL_BUILD names another build folder. See measure.py --help for the options.
set -e
. "$(dirname "$0")/../run_lib.sh"
show_help "$0" "${1-}"
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
build=${MATMUL_BUILD:-$root/build/matmul}

targets="matmul_chorus matmul_scalapack"
measure=measure.py
if [ "${1-}" = --overlap ]; then
  shift
  targets=matmul_chorus
  measure=overlap.py
elif [ "${1-}" = --in-place ]; then
  shift
  targets=matmul_in_place
fi
install_missing libscalapack-openmpi-dev libopenblas-dev libopenmpi-dev openmpi-bin

log=$build/build.log
mkdir -p "$build"
if ! { cmake --preset release -S "$root" -B "$build" -D CHORUS_BUILD_MATMUL_BENCH=ON -D CHORUS_BUILD_APPS=OFF \
         -D CHORUS_BUILD_TESTS=OFF &&
       nice -n 19 cmake --build "$build" -j "$(nproc)" --target $targets; } >"$log" 2>&1; then
  tail -40 "$log" >&2
  exit 1
fi
[ "$targets" != matmul_in_place ] || exec "$build/matmul/matmul_in_place" "$@"
exec python3 "$here/$measure" --programs "$build/matmul" "$@"
