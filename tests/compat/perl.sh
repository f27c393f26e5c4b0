#!/bin/bash
# perl.sh - perl: File::Temp, fork, pipes; sockets fail with their errno.
. "$(dirname "$0")/compat.sh"
need perl

cat >"$w/t.pl" <<'PERL'
use strict; use warnings; use Errno qw(EPERM EACCES EROFS ENETUNREACH); use File::Temp qw(tempfile tempdir); use IPC::Open3; use POSIX ":sys_wait_h";
use File::Copy; use File::Path qw(make_path remove_tree); use Socket; use Fcntl ':flock';
my ($n, $bad) = (0, 0);
sub ok { my ($good, $name) = @_; $n++; unless ($good) { $bad++; print "failed: $name: $!\n" } }
my ($fh, $name) = tempfile(UNLINK => 1); print $fh "x"; close $fh; ok(-s $name == 1 && index($name, $ENV{TMPDIR}) == 0, 'tempfile');
my $dir = tempdir(CLEANUP => 1); make_path("$dir/a/b"); ok(-d "$dir/a/b", 'tempdir'); remove_tree("$dir/a");
open(my $anonymous, '+>', undef) or ok(0, 'an anonymous file'); print $anonymous "x"; ok(flock($anonymous, LOCK_EX), 'a lock');
my $pid = fork; exit 7 unless $pid; waitpid $pid, 0; ok($? >> 8 == 7, 'fork');
ok(`echo out` eq "out\n" && $? == 0, 'backticks'); open(my $p, '-|', 'cat', $0) or die; my @lines = <$p>; ok(@lines > 5, 'a pipe');
my $o = open3(my $in, my $out, undef, 'cat'); print $in "hello"; close $in; ok(<$out> eq 'hello', 'open3'); waitpid $o, 0;
my $hit = 0; local $SIG{ALRM} = sub { $hit++ }; alarm 1; select undef, undef, undef, 3; ok($hit == 1, 'an alarm');
socketpair(my $a, my $b, AF_UNIX, SOCK_STREAM, 0) or ok(0, 'socketpair'); syswrite $a, 'x'; ok(sysread($b, my $x, 1) == 1, 'a pair of sockets');
require IO::Socket::INET;
if ($ARGV[0]) { # a view and a loopback of its own
    my $server = IO::Socket::INET->new(Listen => 1, LocalAddr => '127.0.0.1') or ok(0, 'a server on loopback');
    my $client = IO::Socket::INET->new('127.0.0.1:' . $server->sockport); ok($client && $server->accept, 'a client on loopback');
    ok(!IO::Socket::INET->new(PeerAddr => '192.0.2.1:9', Timeout => 60) && $! == ENETUNREACH, "no other network: $!");
    ok(!open(my $w, '>', "$ARGV[0]/x") && $! == EROFS, 'outside is refused with EROFS');
} else {
    ok(!socket(my $s, PF_INET, SOCK_STREAM, 0) && $! == EPERM, 'an INET socket is refused with EPERM');
    ok(!socket($s, PF_INET6, SOCK_DGRAM, 0) && $! == EPERM, 'an INET6 socket is refused with EPERM');
    ok(!IO::Socket::INET->new('127.0.0.1:9'), 'IO::Socket::INET'); ok("$@ $!" =~ /not permitted/, "its message: $@");
    ok(!open(my $w, '>', '/etc/confine-test') && $! == EACCES, 'outside is refused with EACCES');
}
ok(rename('t.tmp', 't.new') || $!{ENOENT}, 'rename'); copy($0, 't.copy'); ok(-s 't.copy' == -s $0, 'copy');
print "$n done\n"; exit($bad ? 1 : 0);
PERL
mkdir "$test_dir/else"
own "$w" "$test_dir/else"
does "File::Temp, fork, pipes, locks, alarms, sockets; writing outside is refused" \
    "perl t.pl $(if views; then echo "$test_dir/else"; fi)"
does "in-place editing, one-liners" 'printf "a\nb\n" >f && perl -pi.bak -e "s/a/c/" f && test "$(head -1 f)" = c && test "$(head -1 f.bak)" = a'
if outside perl -MTest::Harness -e1 2>/dev/null; then
    does "prove" 'mkdir -p t && echo "use Test::More tests => 1; ok 1;" >t/a.t && prove -q t | grep -q PASS'
else
    skip "prove" "this perl has no Test::Harness"
fi
close
