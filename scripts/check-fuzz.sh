#!/usr/bin/env bash
# Feeds the parsers of the notation with what libFuzzer makes of tests/fuzz/corpus.
#
#   scripts/check-fuzz.sh [SECONDS]      60 without
#
# Ends with 1 at the first crash, leak or broken promise, and says which input it was; that input
# alone is tried again by: build/fuzz/tests/fuzz/parse_fuzz FILE
set -euo pipefail
cd "$(dirname "$0")/.."
case ${1-} in
  -h | --help) sed -n '2,7s/^# \{0,1\}//p' "$0"; exit 0 ;;
esac
seconds=${1:-60}
[[ $seconds =~ ^[0-9]+$ ]] || { echo "check-fuzz: '$seconds' is no number of seconds" >&2; exit 2; }
scripts/setup.sh build check

mkdir -p build/fuzz/found build/fuzz/corpus
cmake --preset fuzz >build/fuzz/configure.log
cmake --build --preset fuzz --target parse_fuzz
# What is found interesting is kept for the next time, beside the corpus and not in it.
build/fuzz/tests/fuzz/parse_fuzz -max_total_time="$seconds" -max_len=1200 -timeout=10 \
  -artifact_prefix=build/fuzz/found/ -print_final_stats=1 -verbosity=0 \
  build/fuzz/corpus tests/fuzz/corpus
