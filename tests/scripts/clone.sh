# SPDX-License-Identifier: MIT
# clone.sh - a repository $dir/clone of the tree $1 as it lies there, or of the folders and files $parts in it, one commit; sourced. Exit
# 77 without git, or in a tree from a tarball.
. "$(dirname "$0")/../scratch.sh"

git -C "$1" ls-files --error-unmatch CMakeLists.txt >"$dir/git.out" 2>&1 || {
    echo "skipped: $1 is no checkout of git: $(cat "$dir/git.out")"
    exit 77
}
export GIT_CONFIG_GLOBAL=/dev/null GIT_AUTHOR_NAME=test GIT_AUTHOR_EMAIL=test@localhost GIT_COMMITTER_NAME=test GIT_COMMITTER_EMAIL=test@localhost
mkdir "$dir/clone"
# shellcheck disable=SC2086 # a list is meant
(cd "$1" && git ls-files -z --cached --others --exclude-standard -- ${parts:-} | tar -cf - --null --ignore-failed-read -T - 2>"$dir/tar.out") | tar -xf - -C "$dir/clone"
cd "$dir/clone"
git init -q -b main .
git add -A
git commit -q -m "as it is"

# refuses WORDS COMMAND...: fails, and says WORDS.
refuses() {
    words=$1
    shift
    if "$@" >"$dir/said.out" 2>&1; then fail "not refused: $*"; fi
    grep -qF -- "$words" "$dir/said.out" || fail "$*: no words '$words'"
}
