#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-or-later
# scripts/lint-source: each rule finds what it is there for, and nothing in a file that keeps them all.
use strict;
use warnings;
use File::Path qw(make_path);
use File::Basename qw(dirname);
use File::Temp qw(tempdir);
use FindBin;
use Test::More;

my $lint = "$FindBin::Bin/../../scripts/lint-source";
my $spdx = "/* SPDX-License-Identifier: GPL-2.0-or-later */\n";
chdir(tempdir(CLEANUP => 1)) or die "chdir: $!\n";

sub lint_file {
	my ($path, $text) = @_;
	make_path(dirname($path));
	open(my $file, '>', $path) or die "$path: $!\n";
	print $file $text;
	close($file);
	my $output = `'$lint' '$path' 2>&1`;
	return ($output, $? >> 8);
}

# path, text, what the report must say
my @faults = (
	['src/view/a.c', "${spdx}int a = sprintf(b, c);\n",          qr/^src\/view\/a\.c:2: sprintf/],
	['src/view/b.c', "${spdx}x = strcpy (b, c);\n",              qr/:2: strcpy/],
	['src/view/c.c', "${spdx}x = malloc(5);\n",                  qr/:2: malloc/],
	['lab/d.c',      "${spdx}x = strdup(y);\n",                  qr/:2: strdup/],
	['src/cmd/e.c',  "${spdx}x = atoi(y);\n",                    qr/:2: atoi/],
	['src/cmd/f.c',  "${spdx}x = strtoull(y, NULL, 10);\n",      qr/:2: strtoull/],
	['src/base/g.c', "${spdx}#include \"record/value.h\"\n",     qr/base must not include record/],
	['src/kernel/h.c', "${spdx}#include \"cmd/command.h\"\n",    qr/kernel must not include cmd/],
	['src/view/i.c', "${spdx}#include \"kernel/object.h\"\n",    qr/view must not include kernel: .* base, record/],
	['src/diagnose/graph/i.c', "${spdx}#include \"kernel/object.h\"\n", qr/diagnose must not include kernel/],
	['src/snapshot/core/i2.c', "${spdx}#include \"event/core/live.h\"\n", qr/snapshot must not include event/],
	['src/event/core/i3.c', "${spdx}#include \"event/tcp/tcp.h\"\n", qr{event/core must not include event/tcp}],
	['src/event/dns/i4.c', "${spdx}#include \"event/ip/icmp.h\"\n", qr{event/dns must not include event/ip}],
	['src/diagnose/more/i5.c', "${spdx}#include \"diagnose/graph/module.h\"\n", qr{diagnose/more has no floor}],
	['src/new/j.c',  "${spdx}#include \"base/buf.h\"\n",         qr/no place among the rooms/],
	['src/view/u.c', "${spdx}log_warn(\"x\");\n",                qr/:2: log_warn: only cmd/],
	['src/flow/trace/v.c', "${spdx}fputs(x, stderr);\n",         qr/:2: stderr: only cmd/],
	['src/view/w.c', $spdx . "x" x 121 . "\n",                   qr/:2: longer than 120 columns: 121/],
	['tests/w.t',    "#!/bin/bash\n# SPDX-License-Identifier: X\n\t" . "x" x 113 . "\n", qr/:3: longer than 120/],
	['src/view/y.c', "${spdx}x = \"segments sent ag" . "ain\";\n",  qr/:2: "sent again": write retransmitted/],
	['src/view/y2.c', "${spdx}/*\n * segments sent\n * ag" . "ain\n */\n",  qr/:3: "sent again"/],
	['src/view/y3.c', "${spdx}x = \"it is \"\n\t\"to" . "ld\";\n",     qr/:2: "is told": write reported/],
	['src/view/y4.c', "${spdx}f(\"%zu ro" . "ws\", n);\n",          qr/:2: a plural beside 1/],
	['docs/y2.md',   "One.\n\nAll is at\nea" . "se.\n",            qr/:3: "at ease": write healthy/],
	['docs/y.md',    "All is at ea" . "se.\n",                  qr/:1: "at ease": write healthy/],
	['src/diagnose/rules/y.rules', "# SPDX\nbecause: so ma" . "ny\n", qr/:2: "so many": write N/],
	['src/view/x.h', "${spdx}int other_thing(void);\n",          qr/:2: other_thing does not lead back/],
	['src/cmd/k.c',  "${spdx}#include \"nosuch/buf.h\"\n",       qr/no such part/],
	['src/base/l.c', "int x;\n",                                 qr/no SPDX/],
	['tests/m.t',    "#!/bin/bash\necho\n",                      qr/no SPDX/],
	['src/base/n.c', "${spdx}int x; \n",                         qr/:2: blank at the end/],
	['src/base/o.c', "${spdx}int x;",                            qr/no newline at the end/],
	['src/base/p.c', "${spdx}int x;\n\n",                        qr/empty line at the end/],
	['src/base/q.c', "${spdx}{\n        int x;\n}\n",            qr/:3: indented with blanks/],
	['src/base/r.c', "${spdx}/* TO" . "DO: more */\n",           qr/:2: unfinished/],
	['src/base/s.c', "${spdx}x = \"/ho" . "me/me/x\";\n",        qr/:2: a path of one machine/],
	['README.md',    "See /wo" . "rk/main.\n",                   qr/:1: a path of one machine/],
	['src/base/t.c', "${spdx}int x;\r\n",                        qr/carriage return/],
);
for my $case (@faults) {
	my ($path, $text, $want) = @$case;
	my ($output, $status) = lint_file($path, $text);
	is($status, 1, "$path is refused");
	like($output, $want, "$path: and the reason given");
}

# Names are compared between files.
make_path('src/view', 'src/flow/draw');
my @pairs = (
	['two_shapes.h', 'two_shapes.h', qr/has the same name/],
	['square.h',     'cube.h',       qr/two public types of one name/],
);
for my $case (@pairs) {
	my ($one, $other, $want) = @$case;
	for my $path ("src/view/$one", "src/flow/draw/$other") {
		open(my $file, '>', $path) or die "$path: $!\n";
		print $file "${spdx}struct form {\n\tint x;\n};\n";
		close($file);
	}
	like(`'$lint' 'src/view/$one' 'src/flow/draw/$other' 2>&1`, $want, "$one and $other");
}

my @good = (
	['src/base/alloc.c', "${spdx}p = malloc(n);\nq = strtod(s, NULL);\n"],
	['src/cmd/good.c',   "${spdx}#include \"kernel/object.h\"\n#include \"view/tree.h\"\n"
		  . "/*\n * malloc(5) in words\n */\nputs(\"sprintf(x)\");\nmy_malloc(3);\n"],
	['src/event/tcp/x.c', "${spdx}#include \"event/bpf/tcp.bpf.h\"\n#include \"kernel/object.h\"\n\tint x;\n"],
	['src/event/new/x.c', "${spdx}#include \"event/core/event.h\"\n\tint x;\n"],
	['src/run/x.c',       "${spdx}log_warn(\"x\");\n"],
	['src/view/tall_tree.h', "${spdx}struct leaf {\n\tint x;\n};\n/* not_this(x) */\n"
		  . "int tree_draw(void);\nint leaf_fall(int x);\n"],
	['tests/x.t',        "#!/bin/bash\n# SPDX-License-Identifier: GPL-2.0-or-later\necho\n"],
	['docs/x.md',        "Text /proc/net and a/work/b.\n"],
);
for my $case (@good) {
	my ($path, $text) = @$case;
	my ($output, $status) = lint_file($path, $text);
	is($output, '', "$path is fine");
	is($status, 0,  "$path: exit status");
}

done_testing();
