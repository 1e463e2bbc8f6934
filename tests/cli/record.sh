#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# gputrace record: what it sets and runs, what it leaves alone. usage: record.sh BUILD NAME
. "$(dirname "$0")/cli.sh"

lib=$build/lib
probe='printf "%s|" "${LD_PRELOAD-unset}" "${GPUTRACE_OUT-unset}" "$@"; echo'

is() { # EXPECTED ACTUAL WHAT
	[ "$2" = "$1" ] || fail "$3: $2 instead of $1"
}

# ---- the list of preloaded libraries ----

cp "$lib/libgputrace-nodeepbind.so" "$work/mine.so" # a library that does no harm
mine=$work/mine.so
for list in "" "$mine" "$mine:$mine" "$mine $mine" "$mine:" ":$mine" " $mine "; do
	expected="$list:$shim"
	[ -n "$list" ] || expected=$shim
	got=$(LD_PRELOAD=$list "$gputrace" record -- bash -c "$probe" probe a "b c" "")
	is "$expected|$work|a|b c||" "$got" "with the list '$list'"
done
# Twice is once, also by another name of the same file; a name that only begins like it is another.
ln -s "$shim" "$work/other-name.so"
for list in "$shim" "$mine $shim" "$work/other-name.so:$mine"; do
	got=$(LD_PRELOAD=$list "$gputrace" record -- bash -c "$probe" probe)
	is "$list|$work|" "$got" "with ours in the list"
done
cp "$mine" "$work/libgputrace.so.old"
got=$(LD_PRELOAD=$work/libgputrace.so.old "$gputrace" record -- bash -c "$probe" probe)
is "$work/libgputrace.so.old:$shim|$work|" "$got" "with another library of a like name"
got=$(LD_PRELOAD=$mine "$gputrace" record --no-deepbind -- bash -c "$probe" probe)
is "$mine:$lib/libgputrace-nodeepbind.so:$shim|$work|" "$got" "with --no-deepbind"

# ---- --dry-run: the whole truth, and nothing happens ----

cat >expected.txt <<END
mkdir $work/new
LD_PRELOAD='$mine $mine:$shim'
GPUTRACE_OUT=$work/new
GPUTRACE_NAME='a b'
GPUTRACE_GPU=off
GPUTRACE_KEEP_LAST=10m
GPUTRACE_MAX_SIZE=2G
sh -c 'echo "it'\\''s"; touch ran' ''
END
LD_PRELOAD="$mine $mine" "$gputrace" record -o new --name "a b" --gpu off --keep-last 10m \
	--max-size 2G --dry-run -- sh -c "echo \"it's\"; touch ran" "" >dry.txt 2>dry-err.txt ||
	fail "exit code $? of --dry-run: $(cat dry-err.txt)"
cmp -s expected.txt dry.txt || fail "$(diff expected.txt dry.txt)"
[ ! -e new ] && [ ! -e ran ] || fail "--dry-run did something"
# What it prints is what a real run has; read by a shell it does the same.
{
	echo set -ae
	sed -n '/^mkdir/p; /^[A-Z_]*=/p' dry.txt
	sed '/^mkdir/d; /^[A-Z_]*=/d' dry.txt
} >dry.sh
(unset LD_PRELOAD && sh dry.sh >ran.txt) || fail "the printed commands do not run"
is "it's" "$(cat ran.txt)" "the printed command"
[ -d new ] && [ -e ran ] || fail "the printed commands do not do it"
"$gputrace" record -o no/such/folder --dry-run -- true >/dev/null 2>err.txt
is 125 $? "exit code of --dry-run that cannot be done"
is "gputrace record: Cannot create no/such/folder: No such file or directory" "$(cat err.txt)" "its reason"
touch file
"$gputrace" record -o file --dry-run -- true >/dev/null 2>err.txt
is 125 $? "exit code with a file for a folder"

# ---- exit codes and signals are the command's own ----

for code in 0 1 7 77 255; do
	"$gputrace" record -- sh -c "exit $code"
	is $code $? "the command's exit code"
done
"$gputrace" record -- sh -c 'kill -TERM $$' 2>/dev/null
is 143 $? "a signal"
"$gputrace" record -- "$work" 2>/dev/null
is 126 $? "what cannot be executed"
"$gputrace" record -- /no/such/program 2>/dev/null
is 127 $? "what is not there"
pid=$("$gputrace" record -- sh -c 'echo $PPID')
is $$ "$pid" "the process is the shell's own child"

# ---- a path that cannot be preloaded ----

mkdir -p "$work/with space/bin" "$work/with space/lib"
cp "$gputrace" "$work/with space/bin/"
cp "$shim" "$work/with space/lib/"
"$work/with space/bin/gputrace" record -- true 2>err.txt
is 125 $? "exit code where the path has a space"
grep -q "has a space or a colon" err.txt || fail "the reason: $(cat err.txt)"
rm "$work/with space/lib/libgputrace.so"
"$work/with space/bin/gputrace" record -- true 2>err.txt
is 125 $? "exit code without the library"
grep -q "Cannot find libgputrace.so" err.txt || fail "the reason: $(cat err.txt)"
[ -z "$(ls ./*.gtrace new/*.gtrace 2>/dev/null)" ] || fail "a trace of a program without a GPU"
