# The scenario in Perl: FFI::Platypus, with IO::Select as the event loop. One thread, the interpreter's.
use strict;
use warnings;
use utf8;
use FFI::Platypus 1.00;
use FFI::Platypus::Memory qw(malloc free);
use IO::Handle;
use IO::Select;
$| = 1;

my $ffi = FFI::Platypus->new(api => 1, lib => $ARGV[0]);
$ffi->type("(opaque,opaque,opaque)->sint32" => "create");
$ffi->type("(opaque,opaque)->void" => "destroy");
$ffi->type("(opaque)->void" => "free");
my %signatures = (
  version => [[] => "uint32"],
  version_string => [[] => "string"],
  constant => [["string", "sint64*"] => "sint32"],
  status_name => [["sint32"] => "string"],
  last_error => [[] => "string"],
  container_create => [["opaque*"] => "sint32"],
  container_set_contexts => [["opaque", "string"] => "sint32"],
  register => [["opaque", "string", "opaque"] => "sint32"],
  register_for => [["opaque", "string", "string", "opaque"] => "sint32"],
  resolve => [["opaque", "string", "opaque*"] => "sint32"],
  require => [["opaque", "string", "opaque*"] => "sint32"],
  instance => [["opaque"] => "opaque"],
  stream_create => [["opaque", "opaque*"] => "sint32"],
  stream_send => [["opaque", "sint64*", "size_t"] => "sint32"],
  service_create => [["opaque", "opaque*"] => "sint32"],
  service_read => [["opaque", "sint64*", "size_t", "opaque", "uint64*"] => "sint32"],
  service_observe => [["opaque", "opaque", "opaque*"] => "sint32"],
  subscription_next_copy => [["opaque", "sint64", "sint64*", "size_t", "opaque", "opaque", "uint64*"] => "sint32"],
  subscription_dropped => [["opaque", "uint64*"] => "sint32"],
  dispatcher_create => [["opaque*"] => "sint32"],
  dispatcher_fd => [["opaque"] => "sint32"],
  dispatcher_dispatch => [["opaque", "size_t", "sint64", "opaque"] => "sint32"],
  map { $_ => [["opaque"] => "sint32"] } qw(release service_close subscription_cancel stream_finish container_destroy
    stream_destroy dispatcher_destroy),
);
my %svk = map { $_ => $ffi->function("svk_$_", @{ $signatures{$_} }) } keys %signatures;
sub svk { my $name = shift; return $svk{$name}->call(@_) }

# Perl's pack, with the structs of servicekit.h; the padding is written out. The bytes live as long as the program.
my @kept;
sub memory {
  my $bytes = pack(shift, @_);
  push @kept, \$bytes;
  return unpack("Q", pack("P", $bytes));
}
sub factory_options { memory("LLQQQQlx4QQQQ", 80, 0, $_[0], $_[1], 0, $_[2], $_[3], 0, 0, 0, 0) }
sub service_options { memory("LLQQQQlx4QQQQQ", 88, 0, 0, $_[0], 8, $_[1], 0, 0, 0, 0, 0, 0) }
sub observer_options {
  memory("LLlx4Qlx4QQQQQ", 72, 0, @_[0 .. 4], 0, 0, $_[5]);
}
sub number { unpack("q", unpack("P8", pack("Q", shift))) }

my $points = 0;
sub point { my ($ok, $name) = @_; print(($ok ? "ok" : "not ok"), " ", ++$points, " - $name\n") }

my %is;
for my $name (qw(INVALID_HANDLE NOT_FOUND CYCLE CLOSED TIMEOUT FACTORY_ERROR_BASE SCOPE_UNIQUE SCOPE_CACHED
  DELIVER_DISPATCHER DELIVER_PULL BUFFER_NEWEST)) {
  my $value = 0;
  $is{$name} = $value if svk(constant => "SVK_$name", \$value) == 0;
}

print "1..24\n";
my $version = svk("version");
my $words = join ".", $version >> 16, $version >> 8 & 255, $version & 255;
point($version >> 16 == 1 && svk("version_string") eq $words, "version");
point(keys %is == 11 && $is{SCOPE_CACHED} == 2, "constants");
point(svk(constant => "SVK_NO_SUCH", \my $unknown) == $is{NOT_FOUND}, "unknown constant");
point(svk(status_name => $is{CYCLE}) eq "SVK_CYCLE", "status name");
sub last_error { my $text = svk("last_error"); utf8::decode($text); return $text }

# ---- factories ----

my ($made, $freed, $observer_freed, @ended, @thrown, @required, %alive, @seen) = (0, 0, 0);

sub callback {
  my ($type, $body) = @_;
  my $closure = $ffi->closure($body);
  push @kept, $closure;
  return $ffi->cast($type => "opaque", $closure);
}

# $build gets the resolver and gives an instance; it dies with a reference to a status to answer that.
sub factory {
  my ($name, $scope, $build, %more) = @_;
  my $create = callback(create => sub {
    my ($resolver, $instance) = @_;
    my $built = eval { $build->($resolver) };
    if (my $error = $@) {
      return $$error if ref $error;
      push @thrown, $error =~ s/ at .*//sr;
      return $is{FACTORY_ERROR_BASE} + 8;
    }
    $ffi->function(memcpy => ["opaque", "opaque*", "size_t"] => "opaque")->call($instance, \$built, 8);
    return 0;
  });
  my $destroy = callback(destroy => sub {
    my ($instance) = @_;
    push @ended, $name;
    $more{destroy} ? $more{destroy}->($instance) : free(delete $alive{$instance});
  });
  return factory_options($create, $destroy, $more{free} // 0, $scope);
}
sub instance {
  $made++;
  my $block = malloc(8);
  my $value = shift;
  $ffi->function(memcpy => ["opaque", "sint64*", "size_t"] => "opaque")->call($block, \$value, 8);
  return $alive{$block} = $block;
}
sub need {
  my ($resolver, $key) = @_;
  my $status = svk(require => $resolver, $key, \my $found);
  die \$status if $status;
  return $found;
}

$ffi->lib(undef, $ARGV[0]); # memcpy is libc's
svk(container_create => \my $container);
svk(stream_create => undef, \my $stream);
my %factories = (
  logger => factory("logger", $is{SCOPE_CACHED}, sub { instance(1) }, free => callback(free => sub { $freed++ })),
  worker => factory("worker", $is{SCOPE_UNIQUE}, sub { push @required, need(shift, "logger"); instance(2) }),
  a => factory("a", 0, sub { need(shift, "b") }),
  b => factory("b", 0, sub { need(shift, "a") }),
  place => factory("place", $is{SCOPE_UNIQUE}, sub { instance(10) }),
  broken => factory("broken", 0, sub { die \($is{FACTORY_ERROR_BASE} + 7) }),
  throws => factory("throws", 0, sub { die "disk full" }),
  counter => factory("counter", $is{SCOPE_CACHED}, sub {
    $made++;
    my $status = svk(service_create => service_options(memory("q", 0), $stream), \my $service);
    die \$status if $status;
    return $service;
  }, destroy => sub { svk(service_close => shift) }),
);
svk(register => $container, $_, $factories{$_}) for sort keys %factories;
for ([preview => 20], [test => 30]) {
  my ($context, $value) = @$_;
  svk(register_for => $container, "place", $context, factory("place", $is{SCOPE_UNIQUE}, sub { instance($value) }));
}

sub resolve { my $status = svk(resolve => $container, shift, \my $handle); return ($status, $handle) }
my ($logger, $again) = ((resolve("logger"))[1], (resolve("logger"))[1]);
my $shared = svk(instance => $logger);
point($shared && $shared == svk(instance => $again) && number($shared) == 1, "cached");
my ($worker, $other) = ((resolve("worker"))[1], (resolve("worker"))[1]);
point(svk(instance => $worker) && svk(instance => $worker) != svk(instance => $other), "unique");
point("@required" eq "$shared $shared", "require");
point((resolve("a"))[0] == $is{CYCLE} && index(last_error(), "a → b → a") >= 0, "cycle");
point((resolve("nobody"))[0] == $is{NOT_FOUND} && index(last_error(), "nobody") >= 0, "missing");
for ([live => 10], [preview => 20], [test => 30]) {
  svk(container_set_contexts => $container, $_->[0]);
  my ($status, $place) = resolve("place");
  point($status == 0 && number(svk(instance => $place)) == $_->[1], $_->[0]);
  svk(release => $place);
}
point((resolve("broken"))[0] == $is{FACTORY_ERROR_BASE} + 7, "own status");
point((resolve("throws"))[0] == $is{FACTORY_ERROR_BASE} + 8 && "@thrown" eq "disk full", "exception");
point(svk(release => $worker) == 0 && svk(release => $worker) == $is{INVALID_HANDLE} &&
  !defined svk(instance => $worker), "stale handle");

# ---- states ----

sub send_state { my $value = shift; return svk(stream_send => $stream, \$value, 8) }
my $counter = (resolve("counter"))[1];
my $service = svk(instance => $counter);
sub read_state {
  my ($value, $at) = (-1, 99);
  svk(service_read => $service, \$value, 8, undef, \$at);
  return "$value $at";
}
point(read_state() eq "0 0", "service");
svk(service_observe => $service, observer_options($is{DELIVER_PULL}, 0, $is{BUFFER_NEWEST}, 2, 0, 0), \my $pull);
sub pulled {
  my ($value, $dropped) = (0, 0);
  my $status = svk(subscription_next_copy => $pull, 0, \$value, 8, undef, undef, \$dropped);
  return $status == 0 ? "$value-$dropped" : $status;
}
send_state($_) for 1 .. 5;
point(join(" ", pulled(), pulled(), pulled()) eq "4-3 5-0 $is{TIMEOUT}", "pull");
point(read_state() eq "5 5", "read");

svk(dispatcher_create => \my $dispatcher);
my $on_state = callback(destroy => sub { push @seen, number(unpack("x8Q", unpack("P16", pack("Q", shift)))) });
my $free = callback(free => sub { $observer_freed++ });
svk(service_observe => $service, observer_options($is{DELIVER_DISPATCHER}, $dispatcher, 0, 0, $on_state, $free),
  \my $subscription);
send_state($_) for 6 .. 8;
my $early = @seen;
open(my $watched, "<&", svk(dispatcher_fd => $dispatcher)) or die; # a duplicate: Perl closes what it opens
my $select = IO::Select->new($watched);
while (@seen < 3 && $select->can_read(30)) { svk(dispatcher_dispatch => $dispatcher, 0, 0, undef) }
point($early == 0 && "@seen" eq "6 7 8", "event loop");
point(svk(subscription_cancel => $subscription) == 0 && $observer_freed == 1 && send_state(9) == 0 &&
  svk(dispatcher_dispatch => $dispatcher, 0, 0, undef) == $is{TIMEOUT} && @seen == 3, "cancel");
svk(stream_finish => $stream);
point(join(" ", pulled(), pulled(), pulled()) eq "8-2 9-0 $is{CLOSED}", "end");
my $total = 0;
point(svk(subscription_dropped => $pull, \$total) == 0 && $total == 5, "drops");
my @ends = (svk(subscription_cancel => $pull), map({ svk(release => $_) } $counter, $other, $logger, $again),
  svk(container_destroy => $container), svk(stream_destroy => $stream), svk(dispatcher_destroy => $dispatcher));
point("@ends" eq "0 0 0 0 0 0 0 0" && (resolve("logger"))[0] == $is{INVALID_HANDLE}, "destroy");
my %last = map { $ended[$_] => $_ } 0 .. $#ended;
point($made == 7 && @ended == 7 && !%alive && $last{worker} < $last{logger} && $freed == 1, "nothing leaked");
