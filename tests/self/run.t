#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-or-later
# The runner: nothing that goes wrong in a test file may look like success.
use strict;
use warnings;
use File::Temp qw(tempdir);
use FindBin;
use Test::More;

my $run  = "$FindBin::Bin/../run";
my $room = tempdir(CLEANUP => 1);

# Writes an executable test script and returns its path.
sub script {
	my ($name, $text) = @_;
	open(my $file, '>', "$room/$name.t") or die "$name: $!\n";
	print $file "#!/bin/bash\n$text\n";
	close($file);
	chmod(0755, "$room/$name.t");
	return "$room/$name.t";
}

sub runs {
	my @words = @_;
	open(my $pipe, '-|', 'env', '-u', 'NEST_BUILD', $run, @words) or die "run: $!\n";
	my $output = do { local $/; <$pipe> };
	close($pipe);
	return ($output, $? >> 8, (split(/\n/, $output))[-1]);
}

my @cases = (
	# name, script, how many passed, failed, were skipped, exit status, something the output must hold
	['good',      "echo 1..2; echo ok 1 - a; echo ok 2 - b",              [2, 0, 0], 0, qr/^ok /],
	['bad',       "echo 1..2; echo ok 1 - a; echo not ok 2 - b; echo '# why'", [1, 1, 0], 1,
		qr/not ok 2 - b\n\s+# why/],
	['silent',    "true",                                                 [0, 1, 0], 1, qr/no test ran/],
	['short',     "echo 1..3; echo ok 1 - a",                             [1, 1, 0], 1, qr/planned 3/],
	['long',      "echo 1..1; echo ok 1 - a; echo ok 2 - b",              [2, 1, 0], 1, qr/planned 1/],
	['planless',  "echo ok 1 - a",                                        [1, 1, 0], 1, qr/No plan/i],
	['dies',      "echo 1..1; echo ok 1 - a; echo oops >&2; exit 7",      [1, 1, 0], 1, qr/# stderr: oops/],
	['killed',    "echo 1..1; echo ok 1 - a; kill -9 \$\$",               [1, 1, 0], 1, qr/signal 9/],
	['skips',     "echo 1..2; echo ok 1 - a; echo 'ok 2 - b # SKIP no kprobes'", [1, 0, 1], 0,
		qr/skipped:\n.*b: no kprobes/],
	['skips_all', "echo '1..0 # SKIP not root'",                          [0, 0, 1], 0, qr/skipped:\n.*not root/],
	['todo',      "echo 1..1; echo 'not ok 1 - a # TO''DO later'",        [0, 2, 0], 1, qr/only planned/],
	['late',      "# timeout: 1\necho 1..1; echo ok 1 - a; exec sleep 60", [1, 2, 0], 1, qr/longer than 1 s/],
	['clings',    "echo 1..1; sleep 60 & echo ok 1 - a",                  [1, 0, 0], 0, qr/^ok /],
	['bails',     "echo 1..2; echo ok 1 - a; echo 'Bail out! broken'",    [1, 1, 0], 1, qr/broken/],
);

for my $case (@cases) {
	my ($name, $text, $counts, $want_status, $want_text) = @$case;
	my $started = time();
	my ($output, $status, $last) = runs(script($name, $text));
	is($last, sprintf('%d passed, %d failed, %d skipped', @$counts), "$name: the last line");
	is($status, $want_status, "$name: the exit status");
	like($output, $want_text, "$name: the rest");
	cmp_ok(time() - $started, '<', 20, "$name: in time");
}

my ($output, $status, $last) = runs(map { "$room/$_.t" } qw(good bad skips));
is($last, '4 passed, 1 failed, 1 skipped', 'files add up');
($output, $status, $last) = runs("$room/nosuch.t");
is($status, 1, 'a file that is not there fails');
is($last, '0 passed, 1 failed, 0 skipped', 'and is counted');
($output, $status, $last) = runs();
is($status, 1, 'no test at all fails');
is($last, '0 passed, 0 failed, 0 skipped', 'with zeros');

# One that fails first and passes then, as a busy machine makes it.
mkdir("$room/live") or die "live: $!\n";
my $first = "echo 1..1; if mkdir '$room'/once; then echo not ok 1 - a; else echo ok 1 - a; fi";
my @live  = (script('live/unsteady', $first), script('live/bad', 'echo 1..1; echo not ok 1 - b'));
($output, $status, $last) = runs('-r', 2, $live[0]);
is($last, '1 passed, 0 failed, 0 skipped', 'a live test may run once more');
is($status, 0, 'with success');
like($output, qr/^bad .*\n\s+not ok 1 - a/m, 'and its first failure is shown');
like($output, qr/^passed only in a second run: .*unsteady/m, 'and named in the end');
($output, $status, $last) = runs('-r', 2, $live[1]);
is($last, '0 passed, 1 failed, 0 skipped', 'one that fails twice fails');
is($status, 1, 'with its status');
rmdir("$room/once");
($output, $status, $last) = runs('-r', 1, @live);
is($last, '0 passed, 2 failed, 0 skipped', 'more failures than allowed are none of the machine');
($output, $status, $last) = runs('-r', 2, "$room/bad.t");
is($last, '1 passed, 1 failed, 0 skipped', 'other tests run once');

# Live tests run alone, those that mostly wait beside each other: each of these passes when it has met as many.
sub meets {
	my ($name, $head, $others) = @_;
	return script("tests/live/$name", "$head\nmkdir '$room/here-$name'; for i in {1..40}; do " .
		"n=\$(ls -d '$room'/here-* | wc -l); [ \$n -gt $others ] && break; sleep 0.05; done; echo 1..1; " .
		"[ \$n -eq $others ] || echo -n 'not '; echo ok 1 - \$n; sleep 0.2; rmdir '$room/here-$name'");
}
mkdir("$room/$_") or die "$_: $!\n" for qw(tests tests/live);
($output, $status, $last) = runs(map { meets("alone-$_", '', 1) } 1 .. 3);
is($last, '3 passed, 0 failed, 0 skipped', 'live tests run alone');
($output, $status, $last) = runs(map { meets("beside-$_", '# runs beside others', 3) } 1 .. 3);
is($last, '3 passed, 0 failed, 0 skipped', 'those that say so run beside others');

done_testing();
