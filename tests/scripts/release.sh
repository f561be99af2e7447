#!/bin/sh
# SPDX-License-Identifier: MIT
# scripts/release.sh in a throwaway clone: what it refuses; a release whose tarball is the same twice and configures without git.
# release.sh SOURCE_DIR
set -eu
. "$(dirname "$0")/clone.sh"

version=$(sed -n 's/^project(tune VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
release() { scripts/release.sh "$version" --checks words "$@"; }

# A changelog of a version that is ready.
sed -i '/^## Unreleased/,$d' CHANGELOG.md
printf '## %s (2026-01-02)\n\n### Added\n\n- A line of the notes.\n\n## 0.0.1 (2026-01-01)\n\n- Not of the notes.\n' "$version" >>CHANGELOG.md
printf '#!/bin/sh\n' >scripts/install_deps.sh # nothing is installed here
git commit -q -a -m "ready"

refuses "expected a version" scripts/release.sh
refuses "CMakeLists.txt says $version" scripts/release.sh 9.9.9
echo "changed" >>README.md
refuses "changes that are not committed" release
git checkout -q README.md

sed -i 's/^## .*(2026-01-02)/## 7.7.7 (2026-01-02)/' CHANGELOG.md
git commit -q -a -m "another version"
refuses "has no line '## $version (YYYY-MM-DD)'" release
git reset -q --hard HEAD~1
sed -i '3a ## Unreleased\n\n- Something.\n' CHANGELOG.md
git commit -q -a -m "more to come"
refuses "changes under 'Unreleased'" release
git reset -q --hard HEAD~1
printf '%s \n' "a space at the end" >>README.md
git commit -q -a -m "untidy"
refuses "a check failed" release
git reset -q --hard HEAD~1
[ -z "$(git tag)" ] || fail "a refused release left a tag"

release --dry-run --out "$dir/first" >"$dir/said.out" 2>&1 || fail "a dry run failed"
[ -z "$(git tag)" ] || fail "a dry run left a tag"
sleep 1 # gzip and tar could note the time
release --out "$dir/second" >"$dir/said.out" 2>&1 || fail "a release failed"
[ "$(git cat-file -t "v$version")" = tag ] || fail "v$version is no annotated tag"
[ "$(git rev-parse "v$version^{commit}")" = "$(git rev-parse HEAD)" ] || fail "v$version is another commit"
cmp "$dir/first/tune-$version.tar.gz" "$dir/second/tune-$version.tar.gz" || fail "two runs gave two tarballs"
(cd "$dir/second" && sha256sum -c SHA256SUMS) >"$dir/said.out" || fail "SHA256SUMS"
grep -q '^- A line of the notes' "$dir/second/NOTES.md" || fail "the notes lack their line"
if grep -q 'Not of the notes' "$dir/second/NOTES.md"; then fail "the notes have those of another version"; fi
refuses "there is a tag v$version already" release

tar -xzf "$dir/second/tune-$version.tar.gz" -C "$dir"
rm -rf "$dir/clone/.git"
cd "$dir/tune-$version"
mkdir "$dir/no-git"
printf '#!/bin/sh\nexit 127\n' >"$dir/no-git/git"
chmod +x "$dir/no-git/git"
PATH="$dir/no-git:$PATH"
cmake -G Ninja -S . -B "$dir/build" >"$dir/said.out" 2>&1 || fail "the tarball does not configure"
cmake --build "$dir/build" --target core search_space >"$dir/said.out" 2>&1 || fail "the tarball does not build"
echo "refusals, tag, notes and tarball of $version are right"
