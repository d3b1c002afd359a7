#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-or-later
# The unit-test harness: what goes wrong in one test is one failed test, with its reason, and the rest go on.
use strict;
use warnings;
use FindBin;
use Test::More;

my $build    = $ENV{NEST_BUILD} // "$FindBin::Bin/../../build";
my $programs = "$build/tests/self";

sub run_program {
	my ($program, @words) = @_;
	open(my $pipe, '-|', 'env', 'UNIT_TIMEOUT=1', "$programs/$program", @words) or die "$program: $!\n";
	my $output = do { local $/; <$pipe> };
	close($pipe);
	return ($output, $? >> 8);
}

my ($output, $status) = run_program('broken_tests');
my @results = $output =~ /^((?:not )?ok \d+ - \w+)/mg;

is($status, 1, 'a failed test fails the program');
like($output, qr/\A1\.\.12\n/, 'the plan comes first');
is_deeply(
	\@results,
	[
		'ok 1 - good',             'not ok 2 - bad_check', 'not ok 3 - no_check', 'not ok 4 - crash',
		'not ok 5 - abort',        'not ok 6 - early_exit', 'not ok 7 - hang',    'ok 8 - skipped',
		'not ok 9 - required',     'ok 10 - noise',        'not ok 11 - wrong_death', 'ok 12 - after_all_that',
	],
	'every test has its line, in the order of the file'
);
like($output, qr/bad_check\n# \S+broken_tests\.c:\d+: 3 of 4 checks failed\n/, 'failed checks are counted');
like($output, qr/^#   \S+:\d+: 2 \+ 2\n#   expected: 5\n#        got: 4$/m,
	'numbers: expected and got, with the place');
like($output, qr/expected: 'right'\n#        got: 'left'/,                  'texts: expected and got');
like($output, qr/expected: -34 \(ERANGE\)\n#        got: -22 \(EINVAL\)/,   'results by the name of their error');
like($output, qr/no_check\n#.*made no check/,                              'a test without a check has failed');
like($output, qr/crash\n#.*ended by signal 11 \(Segmentation fault\)/,     'a crash names its signal');
like($output, qr/abort\n#.*signal 6 \(Aborted\)\n#   last words\n/,        'what was printed before is kept');
like($output, qr/early_exit\n#.*exit status 3/,                            'leaving early is a failure');
like($output, qr/hang\n#.*did not end within 1 s/,                         'a hang is ended');
like($output, qr/^ok 8 - skipped # SKIP because of a reason$/m,            'a skip has its reason');
unlike($output, qr/not reached/, 'REQUIRE ends the test');
unlike($output, qr/^not ok 99/m, 'output of a test is not taken for a result');
like($output, qr/expected: to end with Aborted\n#        got: Terminated/,    'the wrong signal is a failure');
like($output, qr/expected: to end with Aborted\n#        got: exit status 0/, 'and so is no signal');

($output, $status) = run_program('no_tests');
is($status, 1, 'a file without tests fails');
like($output, qr/^1\.\.1\nnot ok 1 - there is a test$/m, 'and says so');

($output, $status) = run_program('broken_tests', 'goo*', 'noise');
is($status, 0, 'patterns choose tests');
is_deeply([$output =~ /^(ok .*)$/mg], ['ok 1 - good', 'ok 2 - noise'], 'only those run');
($output, $status) = run_program('broken_tests', 'nosuch');
is($status, 1, 'a pattern that chooses nothing fails');
($output, $status) = run_program('broken_tests', '-l', 'no*');
is($output, "no_check\nnoise\n", '-l lists names');

done_testing();
