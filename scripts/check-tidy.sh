#!/usr/bin/env bash
# Runs clang-tidy (.clang-tidy; a warning is an error) over the sources that the dev build compiles.
#
#   scripts/check-tidy.sh            all of them
#   scripts/check-tidy.sh PATH...    only sources whose path begins so, for example chorus/mesh
#
# The dev build says how each source is compiled, so it is configured first: sources that are new
# since it last was would not be looked at.
set -euo pipefail
cd "$(dirname "$0")/.."
case ${1-} in
  -h | --help) sed -n '2,8s/^# \{0,1\}//p' "$0"; exit 0 ;;
esac
scripts/setup.sh check

database=build/dev
cmake --preset dev >/dev/null
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

# What is left out for source $1. Tests are small and run once: neither their speed nor overflow in
# their literals is at stake.
left_out() {
  [[ $1 != *_test.cc ]] || printf %s ,-performance-*,-bugprone-implicit-widening-of-multiplication-result
}

# key_of LESS FLAGS FILE: where the cache notes that this is clean.
key_of() {
  local text key
  # shellcheck disable=SC2086
  text=$(${CXX:-c++} $2 -E -C "$3") || return 1
  key=$(printf '%s\n' "$checks" "$1" "$2" "$text" | sed "s,$PWD/,,g" | sha256sum)
  printf '%s/%s' "$cache" "${key%% *}"
}

# Checks the one source $1; prints its warnings, if there are any, all at once.
check() {
  local flags note said less
  less=$(left_out "$1")
  flags=$(flags_of "$1")
  note=$(key_of "$less" "$flags" "$1") || return 1
  [ ! -e "$note" ] || return 0
  # The build speaks to g++, which has warnings that clang does not know.
  if ! said=$(clang-tidy -p "$database" --quiet --checks="$less" \
    --extra-arg=-Wno-unknown-warning-option "$1" 2>&1); then
    grep -v ' warnings\{0,1\} \(generated\|treated as error\)' <<<"$said"
    return 1
  fi
  touch "$note"
}

# Checks sources of one room and equal flags as one file that includes them: most of the time of a
# source goes to the headers, which they share. If anything at all is found, also that two of them
# cannot stand in one file, each is checked by itself and only that counts. A group does not show
# misc-unused-using-decls, which looks at the main file alone.
check_group() {
  local flags note less source file code=0
  [ $# -gt 1 ] || { check "$1"; return; }
  less=$(left_out "$1"),-bugprone-suspicious-include
  flags=$(flags_of "$1")
  file=$groups/$(sha256sum <<<"$*" | cut -c 1-16).cc
  printf "#include \"$PWD/%s\"\n" "$@" >"$file"
  if note=$(key_of "$less" "$flags" "$file" 2>/dev/null); then
    [ ! -e "$note" ] || return 0
    # shellcheck disable=SC2086
    if clang-tidy --quiet --checks="$less" "$file" -- $flags >/dev/null 2>&1; then
      touch "$note"
      return 0
    fi
  fi
  for source in "$@"; do check "$source" || code=1; done
  return "$code"
}

# The include folders and definitions that the build compiles $1 with.
flags_of() {
  awk -v file="$PWD/$1" '
    /"command":/ { command = $0 }
    index($0, "\"file\": \"" file "\"") { print command; exit }' "$database/compile_commands.json" |
    grep -oE ' (-I|-isystem |-D|-std=)[^ ]+' | sed 's/\\\\\\"/"/g' | tr '\n' ' '
}
export -f check check_group key_of left_out flags_of
groups=$database/tidy
mkdir -p "$groups"
find "$groups" -name '*.cc' -delete
cp .clang-tidy "$groups/"
export cache checks database groups

# One line a group. Alone stand the sources outside the rooms, to whose files the HeaderFilterRegex
# would not look, and those of rooms whose files cannot share one (APART). Tests and sources are
# apart, since other checks are made of them.
grouped() {
  local source kind
  while read -r source; do
    case $source in
      chorus/kernel/* | chorus/transport/* | chorus/launch/*) kind=alone ;;
      chorus/apps/*_test.cc) kind=$(cut -d/ -f2,3 <<<"$source")-test ;;
      chorus/apps/*) kind=$(cut -d/ -f2,3 <<<"$source") ;;
      chorus/*_test.cc) kind=$(cut -d/ -f2 <<<"$source")-test ;;
      chorus/*) kind=$(cut -d/ -f2 <<<"$source") ;;
      *) kind=alone ;;
    esac
    printf '%s\t%s\t%s\n' "$source" "$kind" "$(flags_of "$source")"
  done | awk -F '\t' -v most=8 '
    $2 == "alone" { print $1; next }
    { key = $2 "\t" $3
      line[key] = line[key] (line[key] == "" ? "" : " ") $1
      if (++count[key] % most == 0) { print line[key]; line[key] = "" } }
    END { for (key in line) if (line[key] != "") print line[key] }'
}

# Groups first and the longest of them before all, so that no core ends up alone with one of them.
grouped <<<"$sources" | awk '{ print NF, $0 }' | sort -k 1,1nr -s | cut -d ' ' -f 2- |
  xargs -d '\n' -n 1 -P "$(nproc)" bash -c 'read -ra all <<<"$0"; check_group "${all[@]}"' ||
  { echo "check-tidy: fix the warnings above" >&2; exit 1; }
echo "check-tidy: $(wc -l <<<"$sources") sources are clean"
