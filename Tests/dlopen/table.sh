#!/usr/bin/env bash
# Prints what the last run of every language came to:  table.sh <work directory>
# Fails where SERVICEKIT_ALL_LANGUAGES is set and one has no result.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
good=0 all=0
while IFS='|' read -r language title packages; do
  all=$((all + 1))
  result=$(cat "$1/$language/result" 2>/dev/null || echo "not run")
  printf '  %-36s %s\n' "$title" "$result"
  [[ $result == *" points" && $result != FAILED* ]] && good=$((good + 1))
done < <(grep -v '^#' "$here/languages.txt")
echo "$good of $all languages passed"
[ -z "${SERVICEKIT_ALL_LANGUAGES:-}" ] || [ "$good" = "$all" ]
