#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# timeout: 120
# What make install puts where, that manual pages and completions are understood by those who read them, and that a
# table whose member does not fit its kind does not compile.
set -u
root=$(cd "$(dirname "$0")/../.." && pwd)
build=$(cd "${NEST_BUILD:-$root/build}" && pwd)
room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT
number=0

# check NAME COMMAND ...: the command succeeds.
check() {
	local name=$1
	shift
	number=$((number + 1))
	if "$@" >"$room/out" 2>&1; then
		echo "ok $number - $name"
	else
		echo "not ok $number - $name"
		sed 's/^/# /' "$room/out" | head -20
	fi
}

# refuses PATTERN FILE: the compiler does, and says so.
refuses() {
	! gcc -std=gnu17 -D_GNU_SOURCE -I"$root/src" -fsyntax-only "$2" 2>"$room/compiler" &&
		grep -q "$1" "$room/compiler"
}

check 'the program and its pages are installed' make -C "$root" BUILD="$build" install DESTDIR="$room/d" PREFIX=/usr
share=$room/d/usr/share
check 'the installed program runs' "$room/d/usr/bin/nest" version
for command in $("$build/nest" help | sed -n '/^Commands:/,/^$/{s/^  \([a-z]*\) .*/\1/p}'); do
	check "nest-$command(8) is rendered without complaint" bash -c \
		"LC_ALL=C man --warnings=w -E UTF-8 -l '$share/man/man8/nest-$command.8' 2>&1 >/dev/null | grep . && exit 1 || exit 0"
	check "nest-$command(8) names its options" bash -c \
		"'$build/nest' $command --help | grep -oE -- '--[a-z-]+' | sort -u | while read -r option; do
			LC_ALL=C MANWIDTH=1000 man -l '$share/man/man8/nest-$command.8' 2>/dev/null | col -b | tr -d '\n' | tr -s ' ' | grep -qF -- \"\$option\" || { echo \"\$option\"; exit 1; }
		done"
done
check 'bash reads its completion' bash -n "$share/bash-completion/completions/nest"
check 'zsh reads its completion' zsh -n "$share/zsh/site-functions/_nest"
check 'fish reads its completion' fish -n "$share/fish/vendor_completions.d/nest.fish"
check 'bash completes a command' bash -c \
	". '$share/bash-completion/completions/nest'; COMP_WORDS=(nest doc); COMP_CWORD=1; _nest; [ \"\${COMPREPLY[*]}\" = doctor ]"
check 'bash completes an option' bash -c \
	". '$share/bash-completion/completions/nest'; COMP_WORDS=(nest diagnose --fail); COMP_CWORD=2; _nest; [ \"\${COMPREPLY[*]}\" = --fail-on ]"

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
static const struct option_spec options[] = {OPTION(struct config, count, UINT, "count", 'c', "N", "an int is not a uint64_t")};
int main(void) { return (int)options[0].offset; }
END
check 'nor does an option' refuses 'option member count does not have the type of OPT_UINT' "$room/option.c"

# A record type, a command and a test are new files, nothing else: the tree is built with
# them and is as clean as before.
check 'a copy of the tree' \
	bash -c "mkdir '$room/tree' && cd '$root' && git ls-files -z | xargs -0 cp -p --parents -t '$room/tree'"
cat >"$room/tree/src/cmd/dummy.c" <<'END'
#include "run/command.h"
#include "view/output.h"
struct dummy { uint64_t lat_ns; };
static const struct field dummy_fields[] = {FIELD(struct dummy, lat_ns, DURATION, "how long it took")};
static RECORD_TYPE(dummy_type, "dummy", struct dummy, dummy_fields, "nothing much");
static const struct option_spec options[] = {OPTION_GROUP(struct output_options, json, output_option_table), OPTION_END};
static int run(const void *config)
{
	struct dummy d = {1500};
	struct record record = RECORD_OF(&d);
	struct shape shape = SHAPE_OF(&dummy_type);
	struct output *output;
	if (output_open(config, &shape, &output, NULL) < 0)
		return EXIT_USAGE;
	(void)output_record(output, &record);
	return output_exit_code(output_close(output));
}
static const struct command dummy_command = {
	.name = "dummy", .summary = "show nothing much", .options = options, .config_size = sizeof(struct output_options), .run = run};
COMMAND(dummy_command);
END
cat >"$room/tree/tests/unit/test_dummy.c" <<'END'
#include "unit.h"
TEST(dummy) { CHECK(true); }
END
# What is built already need not be built again.
mkdir "$room/tree/build"
cp -a "$build"/{obj,bpf,.packages,.objects} "$room/tree/build/"
check 'a new record type, command and test build without an edit' \
	make -s -C "$room/tree" -j2 all build/tests/unit/test_dummy
check 'the new command shows its record' \
	bash -c "[ \"\$('$room/tree/build/nest' dummy --json --where 'lat > 1us')\" = '{\"lat_ns\":1500}' ]"
check 'the new command is in the help' bash -c "'$room/tree/build/nest' help | grep -q 'dummy  *show nothing much'"
check 'the new test runs' "$room/tree/build/tests/unit/test_dummy"
echo "1..$number"
