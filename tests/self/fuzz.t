#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-or-later
# The fuzz runner: a target that fails, dies or does nothing is a failure.
use strict;
use warnings;
use File::Temp qw(tempdir);
use FindBin;
use Test::More;

my $run  = "$FindBin::Bin/../fuzz/run";
my $room = tempdir(CLEANUP => 1);

# Runs a pretended target with the name of one that has a corpus.
sub target {
	my ($name, $text, @limit) = @_;
	@limit = qw(--seconds 1) if !@limit;
	open(my $file, '>', "$room/fuzz_$name") or die "$name: $!\n";
	print $file "#!/bin/bash\n$text\n";
	close($file);
	chmod(0755, "$room/fuzz_$name");
	my $output = `'$run' @limit '$room/fuzz_$name' 2>&1`;
	return ($output, $? >> 8);
}

my ($output, $status) = target('addr', 'echo "stat::number_of_executed_units: 17" >&2');
is($status, 0, 'a target that runs is fine');
like($output, qr/^1\.\.2\nok 1 - addr: \d+ known inputs\nok 2 - addr: 17 inputs in 1 s, 0 s of CPU\n\z/,
	'with both its lines');

($output, $status) = target('addr', 'echo "found it" >&2; exit 77');
is($status, 1, 'a finding fails');
like($output, qr/^not ok 1 .*\n#   found it\nnot ok 2 .*\n#   found it\n\z/m, 'and is shown');

($output, $status) = target('addr', 'kill -9 $$');
is($status, 1, 'a target that is killed fails');
($output, $status) = target('addr', 'true');
like($output, qr/^not ok 2 - addr: 0 inputs/m, 'a target that tries nothing fails');
($output, $status) = target('nosuch', 'echo "stat::number_of_executed_units: 17"');
like($output, qr/^not ok 1 .*\n#   there is no corpus/m, 'a target without a corpus fails');
# Each run of it takes some CPU, and is noted.
my $busy = 'for ((i = 0; i < 200000; i++)); do :; done; echo "stat::number_of_executed_units: 1" >&2';
$busy .= qq{; [[ "\$*" != *max_total_time* ]] || echo >>'$room/runs'};
($output, $status) = target('addr', $busy, qw(--cpu 1));
my $runs = -s "$room/runs";
like($output, qr/^ok 2 - addr: $runs inputs, [1-9] s of CPU in all\n\z/m, 'a target runs until it had its time');
($output, $status) = target('addr', $busy, qw(--cpu 1));
ok(-s "$room/runs" > $runs, 'again when it was built again');
$runs = -s "$room/runs";
$output = `'$run' --cpu 1 '$room/fuzz_addr' 2>&1`;
like($output, qr/^ok 2 - addr: 0 inputs, [1-9] s of CPU in all\n\z/m, 'and not again otherwise');
is(-s "$room/runs", $runs, 'which is true');

is(system("'$run' '$room/none' >/dev/null 2>&1") >> 8 != 0, 1, 'a target that is not there fails');
is(system("'$run' --seconds x '$room/fuzz_addr' >/dev/null 2>&1") >> 8 != 0, 1, 'and so does a time that is none');

done_testing();
