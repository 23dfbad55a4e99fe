#!/bin/sh
# Installs the peers, builds one driver against each and Chorus, and measures. One command:
#
#   bench/peers/run.sh                                        everything; an hour
#   bench/peers/run.sh --op all_reduce --sizes 8,4KiB,1MiB --ranks 2 --quick
#
# PEERS_BUILD names another build folder. See measure.py --help for the options.
case ${1-} in
  -h | --help)
    sed -n '2,7s/^# \{0,1\}//p' "$0"
    exit 0
    ;;
esac
set -e
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
build=${PEERS_BUILD:-$root/build/peers}

packages="libopenmpi-dev openmpi-bin libmpich-dev mpich libgloo-dev"
if ! dpkg -s $packages >/dev/null 2>&1; then
  as_root=""
  [ "$(id -u)" = 0 ] || as_root=sudo
  DEBIAN_FRONTEND=noninteractive $as_root apt-get install -y --no-install-recommends $packages
fi

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
