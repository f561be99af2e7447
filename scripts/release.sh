#!/bin/sh
# SPDX-License-Identifier: MIT
# release.sh - makes a release of what is committed: the checks, an annotated tag, a source tarball, its checksum, release notes.
#   release.sh VERSION [--dry-run] [--out DIR] [--checks "STEP..."]
#   --dry-run   all but the tag
#   --out       where the tarball, SHA256SUMS and the notes go (out/release-VERSION)
#   --checks    these steps of scripts/check.sh, instead of all of them
# Refused: a tree with changes, a version that CMakeLists.txt or CHANGELOG.md does not have, changes that are still unreleased, a tag
# that is at another commit, a check that fails. The same commit gives the same bytes. Nothing is pushed: the last lines say how.
set -eu
cd "$(dirname "$0")/.."
. scripts/common.sh

version="" dry="" out="" checks=""
while [ $# -gt 0 ]; do
    case "$1" in
    --help | -h) head_comment "scripts/$(basename "$0")" ;;
    --dry-run) dry=yes ;;
    --out | --checks)
        [ $# -gt 1 ] || fail "$1 needs a value"
        case "$1" in
        --out) out=$2 ;;
        --checks) checks=$2 ;;
        esac
        shift
        ;;
    -*) fail "unknown option '$1'; --help tells them" ;;
    *)
        [ -z "$version" ] || fail "two versions, $version and $1"
        version=$1
        ;;
    esac
    shift
done
[ -n "$version" ] || fail "expected a version, e.g. 0.2.0; --help tells more"
tag=v$version
name=tune-$version
out=${out:-out/release-$version}

# section TITLE: its part of CHANGELOG.md, without the title.
section() {
    awk -v title="## $1" '/^## / { on = $0 == title || index($0, title " (") == 1; next } on' CHANGELOG.md | sed -e '/./,$!d'
}

# ---- what is refused ----
changes=$(git status --porcelain)
[ -z "$changes" ] || fail "the tree has changes that are not committed:
$changes"
of_cmake=$(sed -n 's/^project(tune VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
[ "$of_cmake" = "$version" ] || fail "version $version: CMakeLists.txt says $of_cmake"
grep -qE "^## $version \([0-9]{4}-[0-9]{2}-[0-9]{2}\)\$" CHANGELOG.md || fail "CHANGELOG.md has no line '## $version (YYYY-MM-DD)'"
[ -n "$(section "$version")" ] || fail "CHANGELOG.md says nothing of $version"
[ -z "$(section Unreleased)" ] || fail "CHANGELOG.md has changes under 'Unreleased': move them under $version"
tagged=$(git rev-parse -q --verify "$tag^{commit}" || true)
if [ -n "$tagged" ] && { [ -z "$dry" ] || [ "$tagged" != "$(git rev-parse HEAD)" ]; }; then
    fail "there is a tag $tag already, at $tagged"
fi
# shellcheck disable=SC2086 # a list of steps is meant
scripts/check.sh $checks || fail "$version is not released: a check failed"

# ---- what is made ----
mkdir -p "$out"
git -c tar.umask=0022 archive --format=tar --prefix="$name/" HEAD | gzip -9n >"$out/$name.tar.gz"
(cd "$out" && sha256sum "$name.tar.gz" >SHA256SUMS)
{
    echo "tune $version"
    echo
    section "$version"
} >"$out/NOTES.md"
if [ -z "$dry" ]; then
    git tag -a "$tag" -F "$out/NOTES.md" --cleanup=verbatim
fi

say "tune $version, $(git rev-parse HEAD)"
cat "$out/SHA256SUMS"
echo "$out: $name.tar.gz, SHA256SUMS, NOTES.md"
if [ -n "$dry" ]; then
    echo "dry run: no tag $tag was made"
else
    echo "tag $tag made; publish it with: git push origin $tag"
fi
