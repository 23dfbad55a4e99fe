#!/bin/sh
# How time grows with the number of ranks at fixed bytes, beside the cost model. About a minute:
#
#   bench/scaling/run.sh
#   bench/scaling/run.sh --ranks 2,3,4 --sizes 8,32K --out /tmp/scaling --symmetric
#
# CHORUS names another tool than that of the release build. See scaling.py --help for the options.
set -e
. "$(dirname "$0")/../run_lib.sh"
show_help "$0" "${1-}"
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
build=$root/build/release
if [ -z "$CHORUS" ]; then
  cmake --preset release -S "$root" >/dev/null
  nice -n 19 cmake --build "$build" -j "$(nproc)" --target chorus_tool >/dev/null
  CHORUS=$build/bin/chorus
fi
exec python3 "$here/scaling.py" --chorus "$CHORUS" "$@"
