#!/usr/bin/env bash
# Runs clang-tidy (.clang-tidy; a warning is an error) over the sources that the dev build compiles.
#
#   scripts/check-tidy.sh            all of them
#   scripts/check-tidy.sh PATH...    only sources whose path begins so, for example chorus/mesh
#
# Needs a configured dev build, since that says how each source is compiled: cmake --preset dev
set -euo pipefail
cd "$(dirname "$0")/.."
case ${1-} in
  -h | --help) sed -n '2,7s/^# \{0,1\}//p' "$0"; exit 0 ;;
esac
scripts/setup.sh check

database=build/dev
[ -f "$database/compile_commands.json" ] || cmake --preset dev >/dev/null
sources=$(sed -n 's/^ *"file": "\(.*\)",\{0,1\}$/\1/p' "$database/compile_commands.json" |
  sed -n "s,^$PWD/\(chorus\|tests\|examples\|bench\)/,\1/,p" | sort -u)
if [ $# -gt 0 ]; then
  sources=$(for path in "$@"; do grep "^${path#./}" <<<"$sources" || true; done)
fi
[ -n "$sources" ] || { echo "check-tidy: no source begins with: $*" >&2; exit 2; }

# What was clean stays clean while neither the source, nor a header, nor the checks change, so that
# a second run looks only at what is new. The key is the text after preprocessing, comments kept,
# wherever the repository stands.
cache=${XDG_CACHE_HOME:-$HOME/.cache}/chorus-tidy
mkdir -p "$cache"
find "$cache" -type f -mtime +14 -delete
checks=$(cat .clang-tidy <(clang-tidy --version) | sha256sum)

# Checks the one source $1; prints its warnings, if there are any, all at once.
check() {
  local flags text key said less=""
  # Tests are small and run once: neither their speed nor overflow in their literals is at stake.
  [[ $1 != *_test.cc ]] || less=-performance-*,-bugprone-implicit-widening-of-multiplication-result
  flags=$(flags_of "$1")
  # shellcheck disable=SC2086
  text=$(${CXX:-c++} $flags -E -C "$1") || return 1
  key=$(printf '%s\n' "$checks" "$less" "$flags" "$text" | sed "s,$PWD/,,g" | sha256sum)
  key=${key%% *}
  [ ! -e "$cache/$key" ] || return 0
  # The build speaks to g++, which has warnings that clang does not know.
  if ! said=$(clang-tidy -p "$database" --quiet --checks="$less" \
    --extra-arg=-Wno-unknown-warning-option "$1" 2>&1); then
    grep -v ' warnings\{0,1\} \(generated\|treated as error\)' <<<"$said"
    return 1
  fi
  touch "$cache/$key"
}

# The include folders and definitions that the build compiles $1 with.
flags_of() {
  awk -v file="$PWD/$1" '
    /"command":/ { command = $0 }
    index($0, "\"file\": \"" file "\"") { print command; exit }' "$database/compile_commands.json" |
    grep -oE ' (-I|-isystem |-D|-std=)[^ "]+' | tr '\n' ' '
}
export -f check flags_of
export cache checks database

# The largest first, so that no core ends up alone with one of them.
# shellcheck disable=SC2086
ls -S $sources | xargs -n 1 -P "$(nproc)" bash -c 'check "$0"' ||
  { echo "check-tidy: fix the warnings above" >&2; exit 1; }
echo "check-tidy: $(wc -l <<<"$sources") sources are clean"
