#!/usr/bin/env bash
# Checks that every C++ file is laid out as .clang-format says.
#
#   scripts/check-format.sh          names each place that is not
#   scripts/check-format.sh --fix    lays the files out anew
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/setup.sh check

how=(--dry-run -Werror)
case ${1-} in
  "") ;;
  --fix) how=(-i) ;;
  *) sed -n '2,5s/^# \{0,1\}//p' "$0"; [ "$1" = --help ] && exit 0 || exit 2 ;;
esac
git ls-files -z --cached --others --exclude-standard '*.h' '*.cc' |
  xargs -0 -r -n 40 -P "$(nproc)" clang-format "${how[@]}"
