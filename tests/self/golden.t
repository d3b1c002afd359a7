#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-or-later
# The golden runner: it compares what it should, and UPDATE=1 writes files that then pass.
use strict;
use warnings;
use File::Temp qw(tempdir);
use FindBin;
use Test::More;

my $run  = "$FindBin::Bin/../golden/run";
my $room = tempdir(CLEANUP => 1);

sub write_golden {
	my ($text) = @_;
	open(my $file, '>', "$room/x.golden") or die "x.golden: $!\n";
	print $file $text;
	close($file);
}

sub read_golden {
	open(my $file, '<', "$room/x.golden") or die "x.golden: $!\n";
	local $/;
	return scalar(<$file>);
}

sub golden {
	my ($update, $text) = @_;
	write_golden($text) if defined $text;
	local $ENV{UPDATE} = $update;
	my $output = `'$run' '$room/x.golden' 2>&1`;
	return ($output, $? >> 8);
}

my ($output, $status) = golden('', <<'END');
Words, then commands.

  $ echo one; echo; echo two
  one

  two
  $ printf 'a b'; exit 3
  a b (no-eol)
  [3]
  $ true

  $ echo "$TZ $LC_ALL $COLUMNS ${NO_COLOR-unset}"
  UTC C.UTF-8 100 unset
  $ echo hidden >&2
  $ (echo seen >&2) 2>&1
  seen
  $ printf 'tab\tand blank \n'
  tab\x09and blank\x20 (esc)
  $ printf 'tab\tonly\n'
  tab	only
  $ echo 4711
  [0-9]+ (re)
  $ for i in 1 2; do
  >   echo $i
  > done
  1
  2
END
is($status, 0, 'what is as expected passes') or diag($output);
like($output, qr/^1\.\.10\n/, 'one test a command');

for my $case (
	['another word',       "  \$ echo one\n  two\n"],
	['a missing line',     "  \$ echo one; echo two\n  one\n"],
	['a line too many',    "  \$ echo one\n  one\n  two\n"],
	['another status',     "  \$ exit 2\n  [3]\n"],
	['an unexpected one',  "  \$ exit 2\n"],
	['a success that was to fail', "  \$ true\n  [1]\n"],
	['a pattern in part',  "  \$ echo 4711x\n  [0-9]+ (re)\n"],
	['a missing newline',  "  \$ printf one\n  one\n"],
	['no command',         "Only words.\n"],
  ) {
	my ($name, $text) = @$case;
	my ($report, $code) = golden('', $text);
	is($code, 1, "$name fails");
	like($report, qr/^not ok 1/m, "$name has its line");
}

my $hard = <<'END';
Head.

  $ printf '$ x\n> y\n[1]\n\033[1m \n\n\\ (re)\n\n'; exit 4
  $ printf '\xff\n'

Tail.
  $ echo '(esc)'; echo 'a (esc)'

END
($output, $status) = golden('1', $hard);
is($status, 0, 'UPDATE succeeds');
my $written = read_golden();
like($written, qr/^Head\.\n\n  \$ printf.*\nTail\.\n  \$ echo/s, 'prose and commands stay');
like($written, qr/^  \\x1b\[1m\\x20 \(esc\)$/m,                  'what cannot be seen is escaped');
unlike($written, qr/[ \t]$/m, 'no line ends with a blank');
($output, $status) = golden('');
is($status, 0, 'and what it wrote passes') or diag($output, $written);
golden('1');
is(read_golden(), $written, 'a second UPDATE changes nothing');

done_testing();
