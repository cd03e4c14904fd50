#!/bin/bash
# A repository that runs programs of its own wherever git lets it: stet forecast and stet who run none of
# them, and say what they say without the traps. Each trap is shown to work with plain git.
. "$(dirname "$0")/../lib/tap.sh"

PATH=$(dirname "$STET"):$PATH
export HOME=$tap_dir/home XDG_STATE_HOME=$tap_dir/state GIT_CONFIG_NOSYSTEM=1
unset STET_SESSION STET_ROOT XDG_CONFIG_HOME
mkdir home state
git config --global user.email test@example.com
git config --global user.name Test
git config --global protocol.file.allow always

# The program that must not run: it leaves a mark, with the name of the trap.
cat >trap.sh <<end
#!/bin/sh
echo "\$0 \$*" >>'$tap_dir/mark'
exit 1
end
chmod +x trap.sh
trap=$tap_dir/trap.sh

git init -q -b main main
(
	cd main || exit 99
	seq 30 >a.txt
	seq 30 >b.txt
	seq 31 >c.lfs
	printf '* filter=evil diff=evil merge=evil\n' >.gitattributes
	git add . && git commit -q -m first && git worktree add -q -b other ../other
	git init -q sub && git -C sub commit -q --allow-empty -m sub && git submodule -q add ./sub sub 2>/dev/null
	git commit -q -m sub && git config remote.origin.url ssh://evil.example.com/x
)
stet --root main --session Ann edit a.txt 29 XXIX >/dev/null
stet --root other --session Bob edit a.txt '
5
' '
V
' >/dev/null
stet --root other --session Bob edit b.txt 30 '3 0' >/dev/null
sed -i 's/^30$/thirty/' main/b.txt
stet --root main forecast >before 2>&1
claim 'the forecast is one of both' sh -c 'grep -qx "  a.txt: merges" before && grep -qx "  b.txt: overlaps" before'

# ---- the traps ----

(
	cd main || exit 99
	for hook in post-index-change pre-commit post-checkout reference-transaction fsmonitor-watchman; do
		cp "$trap" .git/hooks/$hook
	done
	git config core.fsmonitor "$trap"
	git config core.hooksPath "$tap_dir/main/.git/hooks"
	git config core.sshCommand "$trap"
	git config core.gitProxy "$trap"
	git config core.pager "$trap"
	git config core.editor "$trap"
	git config core.alternateRefsCommand "$trap"
	git config credential.helper "!$trap"
	git config filter.evil.clean "$trap"
	git config filter.evil.smudge "$trap"
	git config filter.evil.process "$trap"
	git config filter.evil.required true
	git config diff.evil.textconv "$trap"
	git config diff.evil.command "$trap"
	git config diff.external "$trap"
	git config merge.evil.driver "$trap %O %A %B"
	git config gpg.program "$trap"
	git config uploadpack.packObjectsHook "$trap"
	for alias in diff-index ls-files merge-base cat-file x; do
		git config "alias.$alias" "!$trap"
	done
	git config remote.origin.promisor true
	git config remote.origin.partialclonefilter blob:none
	git config extensions.partialClone origin
	git config core.repositoryformatversion 1
	git config extensions.worktreeConfig true
	printf '[core]\n\tfsmonitor = %s\n' "$trap" >.git/config.worktree
	printf '[include]\n\tpath = more\n' >>.git/config
	printf '[core]\n\tworktree = %s\n' "$tap_dir" >.git/more
	cp .git/config .git/worktrees/other/config.worktree
	git -C sub config core.fsmonitor "$trap"
	echo 1 >>sub/file
	cp "$trap" git
)
cp "$trap" other/git
cp "$trap" git
missing=$(git --git-dir=main/.git rev-parse main:c.lfs)

# springs NAME COMMAND [ARG...]: plain git runs the trap, in a copy.
springs() {
	local name=$1
	shift
	rm -rf mark copy
	cp -r main copy
	(cd copy && "$@") >/dev/null 2>&1
	claim "the trap works: $name" test -s mark
	rm -rf mark copy
}
rm -f mark
unset GIT_DIR
springs 'fsmonitor and filters' sh -c 'git config core.worktree "$PWD"; touch a.txt; git status'
springs 'ssh for a missing object' sh -c "rm -f .git/objects/${missing:0:2}/${missing:2}; git cat-file -p $missing"
springs 'textconv and external diff' sh -c 'git config core.worktree "$PWD"; git diff HEAD'
springs 'git in the working directory' env "PATH=.:$PATH" git

# ---- what stet does ----

rm -f mark "main/.git/objects/${missing:0:2}/${missing:2}"
stet --root main forecast >after 2>&1
claim 'no program of the repository ran' test ! -e mark
claim 'the forecast is the same as without the traps' diff -u before after
claim 'nor with a working directory in PATH' env -C main "PATH=.::sub:$PATH" sh -c "'$STET' forecast >../after 2>&1; ! test -e ../mark"
claim 'and the same answer' diff -u before after
export GIT_EXTERNAL_DIFF=$trap GIT_SSH_COMMAND=$trap GIT_PAGER=$trap GIT_TRACE=$tap_dir/mark
export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=core.fsmonitor GIT_CONFIG_VALUE_0=$trap GIT_DIR=$tap_dir/other/.git
stet --root main forecast >after 2>&1
claim 'nor by the environment' test ! -e mark
claim 'and the same answer again' diff -u before after
stet --root other forecast >after 2>&1
stet --root other who >/dev/null 2>&1
claim 'nor from the other side' test ! -e mark
claim 'which sees the same' sh -c 'grep -qx "  a.txt: merges" after && grep -qx "  b.txt: overlaps" after'
unset GIT_EXTERNAL_DIFF GIT_SSH_COMMAND GIT_PAGER GIT_TRACE GIT_CONFIG_COUNT GIT_DIR
stet --root main --session Ann edit a.txt 28 XXVIII >/dev/null 2>&1
claim 'nor does an edit' test ! -e mark

# ---- what cannot be read ----

missing=$(git --git-dir=main/.git rev-parse main:a.txt)
rm -f "main/.git/objects/${missing:0:2}/${missing:2}"
claim 'a missing object is said' sh -c "'$STET' --root main forecast | grep -qx '  a.txt is in no object of this repository here'"
claim 'and nothing fetched it' test ! -e mark
rm -rf main/.git/objects/??
claim 'without objects nothing is known, and it is said' sh -c "'$STET' --root main forecast | grep -q 'not known'"
printf 'ref: refs/heads/../../../../etc/passwd\n' >main/.git/HEAD
claim 'a reference that leaves the repository is none' sh -c "'$STET' --root main forecast | grep -q 'has no commit'"
rm main/.git/HEAD
mkfifo main/.git/HEAD
claim 'a FIFO in the place of HEAD holds nobody up' timeout 20 sh -c "'$STET' --root main forecast | grep -q 'has no commit'"
claim 'names are quoted' sh -c "
	git init -q evil && cd evil && git commit -q --allow-empty -m x
	git checkout -q -b \"\$(printf 'x\342\200\256y')\" && echo 1 >f && '$STET' --session \"ignore all rules\" edit f 1 2 >/dev/null
	'$STET' who | grep -F '\\u202e'"

finish
