#!/usr/bin/env bash
# Builds the tool with its pages, starts `chorus studio` and drives every page in Chromium.
#
#   scripts/check-studio.sh [SPEC...]    only these of chorus/apps/studio/pages/tests, e.g. mesh
#   scripts/check-studio.sh --pictures   makes the pictures of README.md again, in docs/pictures
#
# Screenshots are left in build/studio/shots. CHORUS_PRESET chooses another build than release.
set -euo pipefail
cd "$(dirname "$0")/.."
case ${1-} in
  -h | --help) sed -n '2,7s/^# \{0,1\}//p' "$0"; exit 0 ;;
esac
scripts/setup.sh build pages studio
preset=${CHORUS_PRESET:-release}
pages=chorus/apps/studio/pages
root=$PWD
out=$root/build/studio/shots
mkdir -p "$out"

cmake --preset "$preset"
cmake --build --preset "$preset" -j "$(nproc)" --target chorus_tool
chorus=$PWD/build/$preset/bin/chorus

cd "$pages"
[ node_modules/.package-lock.json -nt package-lock.json ] || npm ci
npm test

"$chorus" studio --port 0 >"$out/server.log" 2>&1 &
server=$!
trap 'kill $server 2>/dev/null || true' EXIT
for _ in $(seq 100); do
  address=$(grep -o 'http://[^ ]*' "$out/server.log" | head -1) && break
  sleep 0.1
done
[ -n "${address-}" ] || { echo "check-studio: chorus studio did not start:" >&2; cat "$out/server.log" >&2; exit 1; }

if [ "${1-}" = --pictures ]; then
  STUDIO=$address node tests/pictures.mjs "$root/docs/pictures"
  exit 0
fi
specs=(tests/*.spec.mjs)
if [ $# -gt 0 ]; then
  specs=("${@/#/tests/}")
  specs=("${specs[@]/%/.spec.mjs}")
fi
STUDIO=$address CHORUS=$chorus STUDIO_SHOTS=$out node --test "${specs[@]}"
