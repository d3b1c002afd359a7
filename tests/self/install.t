#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# timeout: 120
# What make install puts where, that manual pages and completions are understood by those who read them, and that a
# table whose member does not fit its kind does not compile.
. "$(dirname "$0")/lib.sh"

# refuses PATTERN FILE: the compiler does, and says so.
refuses() {
	! gcc -std=gnu17 -D_GNU_SOURCE -I"$root/src" -fsyntax-only "$2" 2>"$room/compiler" &&
		grep -q "$1" "$room/compiler"
}

check 'the program and its pages are installed' make -C "$root" BUILD="$build" install DESTDIR="$room/d" PREFIX=/usr
share=$room/d/usr/share
check 'the installed program runs' "$room/d/usr/bin/nest" version
# renders COMMAND: its page, without a warning.
renders() {
	! LC_ALL=C man --warnings=w -E UTF-8 -l "$share/man/man8/nest-$1.8" 2>&1 >/dev/null | grep .
}
# names_options COMMAND: its page has every option of its help.
names_options() {
	LC_ALL=C MANWIDTH=1000 man -l "$share/man/man8/nest-$1.8" 2>/dev/null | col -b | tr -d '\n' |
		tr -s ' ' >"$room/page"
	"$build/nest" "$1" --help | grep -oE -- '--[a-z-]+' | sort -u | while read -r option; do
		grep -qF -- "$option" "$room/page" || { echo "$option" && return 1; }
	done
}
for command in $("$build/nest" help | sed -n '/^Commands:/,/^$/{s/^  \([a-z]*\) .*/\1/p}'); do
	check "nest-$command(8) is rendered without complaint" renders "$command"
	check "nest-$command(8) names its options" names_options "$command"
done
check 'bash reads its completion' bash -n "$share/bash-completion/completions/nest"
check 'zsh reads its completion' zsh -n "$share/zsh/site-functions/_nest"
check 'fish reads its completion' fish -n "$share/fish/vendor_completions.d/nest.fish"
# completes WORD ... WANT: what bash makes of the last word but one.
completes() {
	bash -c '. "$0"; COMP_WORDS=("${@:1:$#-1}"); COMP_CWORD=$(($# - 2)); _nest
		[ "${COMPREPLY[*]}" = "${*: -1}" ]' \
		"$share/bash-completion/completions/nest" "$@"
}
check 'bash completes a command' completes nest doc doctor
check 'bash completes an option' completes nest diagnose --fail --fail-on
# completes_fish LINE WANT: fish offers WANT for a command line.
completes_fish() {
	fish --no-config -c "source '$share/fish/vendor_completions.d/nest.fish'; complete -C '$1'" | grep -q -e "^$2"
}
check 'fish completes an option' completes_fish 'nest diagnose --fail' --fail-on
check 'fish completes the options of every command' completes_fish 'nest diagnose --verb' --verbose
check 'fish completes their letters' completes_fish 'nest diagnose -' -v

cat >"$room/field.c" <<'END'
#include "record/field.h"
struct wrong { float share; char name[8]; };
static const struct field fields[] = {FIELD(struct wrong, share, RATIO, "a float is not a double")};
int main(void) { return (int)fields[0].size; }
END
check 'a field of an unsupported type does not compile' \
	refuses 'member share has a type that KIND_RATIO does not support' "$room/field.c"
sed -i 's/share, RATIO/name, TEXT/' "$room/field.c"
check 'and a supported one does' gcc -std=gnu17 -D_GNU_SOURCE -I"$root/src" -fsyntax-only "$room/field.c"
cat >"$room/option.c" <<'END'
#include "base/option.h"
struct config { int count; };
static const struct option_spec options[] = {
	OPTION(struct config, count, UINT, "count", 'c', "N", "an int is not a uint64_t"),
};
int main(void) { return (int)options[0].offset; }
END
check 'nor does an option' refuses 'option member count does not have the type of OPT_UINT' "$room/option.c"
finish
