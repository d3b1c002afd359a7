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
	my ($name, $text) = @_;
	open(my $file, '>', "$room/fuzz_$name") or die "$name: $!\n";
	print $file "#!/bin/bash\n$text\n";
	close($file);
	chmod(0755, "$room/fuzz_$name");
	my $output = `'$run' --seconds 1 '$room/fuzz_$name' 2>&1`;
	return ($output, $? >> 8);
}

my ($output, $status) = target('addr', 'echo "stat::number_of_executed_units: 17" >&2');
is($status, 0, 'a target that runs is fine');
like($output, qr/^1\.\.2\nok 1 - addr: \d+ known inputs\nok 2 - addr: 17 inputs in 1 s\n\z/, 'with both its lines');

($output, $status) = target('addr', 'echo "found it" >&2; exit 77');
is($status, 1, 'a finding fails');
like($output, qr/^not ok 1 .*\n#   found it\nnot ok 2 .*\n#   found it\n\z/m, 'and is shown');

($output, $status) = target('addr', 'kill -9 $$');
is($status, 1, 'a target that is killed fails');
($output, $status) = target('addr', 'true');
like($output, qr/^not ok 2 - addr: no inputs/m, 'a target that tries nothing fails');
($output, $status) = target('nosuch', 'echo "stat::number_of_executed_units: 17"');
like($output, qr/^not ok 1 .*\n#   there is no corpus/m, 'a target without a corpus fails');
is(system("'$run' '$room/none' >/dev/null 2>&1") >> 8 != 0, 1, 'a target that is not there fails');
is(system("'$run' --seconds x '$room/fuzz_addr' >/dev/null 2>&1") >> 8 != 0, 1, 'and so does a time that is none');

done_testing();
