<?php
// The scenario in PHP: FFI, with stream_select as the event loop. One thread: PHP has no more.
declare(strict_types=1);

$svk = FFI::cdef(<<<'C'
typedef int32_t (*svk_create_fn)(void *resolver, void **instance, void *user_data);
typedef void (*svk_destroy_fn)(void *instance, void *user_data);
typedef void (*svk_free_fn)(void *user_data);
typedef struct { uint64_t version; const void *data; size_t size; uint64_t dropped; } svk_state;
typedef void (*svk_state_fn)(const svk_state *state, void *user_data);
typedef struct {
  uint32_t size, flags; svk_create_fn create; svk_destroy_fn destroy; void *user_data; svk_free_fn user_data_free;
  int32_t scope; void *custom_scope; uint64_t time_to_live_ns; const char *type; const char *const *required_keys;
} svk_factory_options;
typedef struct {
  uint32_t size, flags; const void *api; const void *initial; size_t initial_size; void *stream; int32_t delivery;
  void *dispatcher; svk_state_fn on_state; svk_free_fn on_finish; void *user_data; svk_free_fn user_data_free;
} svk_service_options;
typedef struct {
  uint32_t size, flags; int32_t delivery; void *dispatcher; int32_t buffering; size_t capacity;
  svk_state_fn on_state; svk_free_fn on_finish; void *user_data; svk_free_fn user_data_free;
} svk_observer_options;
uint32_t svk_version(void);
const char *svk_version_string(void);
int32_t svk_constant(const char *name, int64_t *value);
const char *svk_status_name(int32_t status);
const char *svk_last_error(void);
int32_t svk_container_create(void **container);
int32_t svk_container_destroy(void *container);
int32_t svk_container_set_contexts(void *container, const char *contexts);
int32_t svk_register(void *container, const char *key, const svk_factory_options *options);
int32_t svk_register_for(void *container, const char *key, const char *context, const svk_factory_options *options);
int32_t svk_resolve(void *container, const char *key, void **handle);
int32_t svk_require(void *resolver, const char *key, void **instance);
void *svk_instance(void *handle);
int32_t svk_release(void *handle);
int32_t svk_stream_create(const void *options, void **stream);
int32_t svk_stream_send(void *stream, const void *data, size_t size);
int32_t svk_stream_finish(void *stream);
int32_t svk_stream_destroy(void *stream);
int32_t svk_service_create(const svk_service_options *options, void **service);
int32_t svk_service_close(void *service);
int32_t svk_service_read(void *service, void *buffer, size_t capacity, size_t *size, uint64_t *version);
int32_t svk_service_observe(void *service, const svk_observer_options *options, void **subscription);
int32_t svk_subscription_cancel(void *subscription);
int32_t svk_subscription_next_copy(void *subscription, int64_t timeout_ns, void *buffer, size_t capacity, size_t *size,
                                   uint64_t *version, uint64_t *dropped);
int32_t svk_subscription_dropped(void *subscription, uint64_t *total);
int32_t svk_dispatcher_create(void **dispatcher);
int32_t svk_dispatcher_destroy(void *dispatcher);
int32_t svk_dispatcher_fd(void *dispatcher);
int32_t svk_dispatcher_dispatch(void *dispatcher, size_t max, int64_t timeout_ns, size_t *count);
C, $argv[1]);

function point(bool $ok, string $name): void {
  static $points = 0;
  printf("%s %d - %s\n", $ok ? 'ok' : 'not ok', ++$points, $name);
}

// A cell for an out-parameter, and what is in a cell or at an address.
function cell(string $type, int $value = 0): FFI\CData {
  $cell = FFI::new($type);
  if ($type !== 'void *') $cell->cdata = $value;
  return $cell;
}
function number(FFI\CData $pointer): int { return FFI::cast('int64_t *', $pointer)[0]; }
function address(?FFI\CData $pointer): int {
  return $pointer === null ? 0 : FFI::cast('intptr_t', $pointer)->cdata;
}

final class Status extends Exception {}

final class Names { public array $is = []; }
$names = new Names();
foreach (['INVALID_HANDLE', 'NOT_FOUND', 'CYCLE', 'CLOSED', 'TIMEOUT', 'FACTORY_ERROR_BASE', 'SCOPE_UNIQUE',
    'SCOPE_CACHED', 'DELIVER_DISPATCHER', 'DELIVER_PULL', 'BUFFER_NEWEST'] as $name) {
  $value = cell('int64_t');
  if ($svk->svk_constant("SVK_$name", FFI::addr($value)) === 0) $names->is[$name] = $value->cdata;
}
$is = $names->is;

echo "1..24\n";
$version = $svk->svk_version();
point($version >> 16 === 1 &&
  $svk->svk_version_string() === implode('.', [$version >> 16, $version >> 8 & 255, $version & 255]), 'version');
point(count($is) === 11 && $is['SCOPE_CACHED'] === 2, 'constants');
$unknown = cell('int64_t');
point($svk->svk_constant('SVK_NO_SUCH', FFI::addr($unknown)) === $is['NOT_FOUND'], 'unknown constant');
point($svk->svk_status_name($is['CYCLE']) === 'SVK_CYCLE', 'status name');

// ---- factories ----

final class Counts {
  public int $made = 0;
  public int $freed = 0;
  public int $observerFreed = 0;
  public array $ended = [];
  public array $thrown = [];
  public array $required = [];
  public array $alive = [];
  public array $seen = [];
}
$counts = new Counts();

// $build gets the resolver and gives an instance; a Status that it throws is answered as it is.
$factory = function (string $name, int $scope, callable $build, ?callable $destroy = null, ?callable $free = null)
    use ($svk, $counts, $is): FFI\CData {
  $options = $svk->new('svk_factory_options', false, true);
  $options->size = FFI::sizeof($options);
  $options->scope = $scope;
  $options->create = function ($resolver, $instance) use ($build, $counts, $is): int {
    try {
      $instance[0] = $build($resolver);
      return 0;
    } catch (Status $status) {
      return $status->getCode();
    } catch (Throwable $thrown) {
      $counts->thrown[] = $thrown->getMessage();
      return $is['FACTORY_ERROR_BASE'] + 8;
    }
  };
  $options->destroy = function ($instance) use ($name, $destroy, $counts): void {
    $counts->ended[] = $name;
    if ($destroy !== null) $destroy($instance);
    else unset($counts->alive[address($instance)]);
  };
  if ($free !== null) $options->user_data_free = $free;
  return $options;
};
$instance = function (int $value) use ($counts): FFI\CData {
  $counts->made++;
  $block = cell('int64_t', $value);
  $pointer = FFI::cast('void *', FFI::addr($block));
  $counts->alive[address($pointer)] = $block;
  return $pointer;
};
$require = function (FFI\CData $resolver, string $key) use ($svk): FFI\CData {
  $found = cell('void *');
  $status = $svk->svk_require($resolver, $key, FFI::addr($found));
  if ($status !== 0) throw new Status('', $status);
  return $found;
};

[$container, $stream, $pull, $dispatcher, $subscription] =
  [cell('void *'), cell('void *'), cell('void *'), cell('void *'), cell('void *')];
$svk->svk_container_create(FFI::addr($container));
$svk->svk_stream_create(null, FFI::addr($stream));
$factories = [
  'logger' => $factory('logger', $is['SCOPE_CACHED'], fn () => $instance(1), null,
    function () use ($counts): void { $counts->freed++; }),
  'worker' => $factory('worker', $is['SCOPE_UNIQUE'], function ($resolver) use ($require, $instance, $counts) {
    $counts->required[] = address($require($resolver, 'logger'));
    return $instance(2);
  }),
  'a' => $factory('a', 0, fn ($resolver) => $require($resolver, 'b')),
  'b' => $factory('b', 0, fn ($resolver) => $require($resolver, 'a')),
  'place' => $factory('place', $is['SCOPE_UNIQUE'], fn () => $instance(10)),
  'broken' => $factory('broken', 0, fn () => throw new Status('', $is['FACTORY_ERROR_BASE'] + 7)),
  'throws' => $factory('throws', 0, fn () => throw new RuntimeException('disk full')),
  'counter' => $factory('counter', $is['SCOPE_CACHED'], function () use ($svk, $stream, $counts) {
    $counts->made++;
    $initial = cell('int64_t');
    $options = $svk->new('svk_service_options');
    $options->size = FFI::sizeof($options);
    $options->initial = FFI::addr($initial);
    $options->initial_size = 8;
    $options->stream = $stream;
    $service = cell('void *');
    $status = $svk->svk_service_create(FFI::addr($options), FFI::addr($service));
    if ($status !== 0) throw new Status('', $status);
    return $service;
  }, fn ($service) => $svk->svk_service_close($service)),
];
foreach ($factories as $key => $options) $svk->svk_register($container, $key, FFI::addr($options));
foreach (['preview' => 20, 'test' => 30] as $context => $value) {
  $place = $factory('place', $is['SCOPE_UNIQUE'], fn () => $instance($value));
  $svk->svk_register_for($container, 'place', $context, FFI::addr($place));
}

$resolve = function (string $key) use ($svk, $container): array {
  $handle = cell('void *');
  return [$svk->svk_resolve($container, $key, FFI::addr($handle)), $handle];
};
$logger = $resolve('logger')[1];
$again = $resolve('logger')[1];
$shared = $svk->svk_instance($logger);
point($shared !== null && address($shared) === address($svk->svk_instance($again)) && number($shared) === 1, 'cached');
$worker = $resolve('worker')[1];
$other = $resolve('worker')[1];
point(address($svk->svk_instance($worker)) !== 0 &&
  address($svk->svk_instance($worker)) !== address($svk->svk_instance($other)), 'unique');
point($counts->required === [address($shared), address($shared)], 'require');
point($resolve('a')[0] === $is['CYCLE'] && str_contains($svk->svk_last_error(), 'a → b → a'), 'cycle');
point($resolve('nobody')[0] === $is['NOT_FOUND'] && str_contains($svk->svk_last_error(), 'nobody'), 'missing');
foreach (['live' => 10, 'preview' => 20, 'test' => 30] as $context => $value) {
  $svk->svk_container_set_contexts($container, $context);
  [$status, $place] = $resolve('place');
  point($status === 0 && number($svk->svk_instance($place)) === $value, $context);
  $svk->svk_release($place);
}
point($resolve('broken')[0] === $is['FACTORY_ERROR_BASE'] + 7, 'own status');
point($resolve('throws')[0] === $is['FACTORY_ERROR_BASE'] + 8 && $counts->thrown === ['disk full'], 'exception');
point($svk->svk_release($worker) === 0 && $svk->svk_release($worker) === $is['INVALID_HANDLE'] &&
  $svk->svk_instance($worker) === null, 'stale handle');

// ---- states ----

$send = function (int $value) use ($svk, $stream): int {
  $state = cell('int64_t', $value);
  return $svk->svk_stream_send($stream, FFI::addr($state), 8);
};
$counter = $resolve('counter')[1];
$service = $svk->svk_instance($counter);
$read = function () use ($svk, $service): array {
  [$value, $version] = [cell('int64_t', -1), cell('uint64_t', 99)];
  $svk->svk_service_read($service, FFI::addr($value), 8, null, FFI::addr($version));
  return [$value->cdata, $version->cdata];
};
point($read() === [0, 0], 'service');
$options = $svk->new('svk_observer_options');
$options->size = FFI::sizeof($options);
$options->delivery = $is['DELIVER_PULL'];
$options->buffering = $is['BUFFER_NEWEST'];
$options->capacity = 2;
$svk->svk_service_observe($service, FFI::addr($options), FFI::addr($pull));
$pulled = function () use ($svk, $pull): array|int {
  [$value, $dropped] = [cell('int64_t'), cell('uint64_t')];
  $status = $svk->svk_subscription_next_copy($pull, 0, FFI::addr($value), 8, null, null, FFI::addr($dropped));
  return $status === 0 ? [$value->cdata, $dropped->cdata] : $status;
};
foreach (range(1, 5) as $value) $send($value);
point([$pulled(), $pulled(), $pulled()] === [[4, 3], [5, 0], $is['TIMEOUT']], 'pull');
point($read() === [5, 5], 'read');

$svk->svk_dispatcher_create(FFI::addr($dispatcher));
$options = $svk->new('svk_observer_options');
$options->size = FFI::sizeof($options);
$options->delivery = $is['DELIVER_DISPATCHER'];
$options->dispatcher = $dispatcher;
$options->on_state = function ($state) use ($counts): void { $counts->seen[] = number($state->data); };
$options->user_data_free = function () use ($counts): void { $counts->observerFreed++; };
$svk->svk_service_observe($service, FFI::addr($options), FFI::addr($subscription));
foreach (range(6, 8) as $value) $send($value);
$early = $counts->seen;
$watched = fopen('php://fd/' . $svk->svk_dispatcher_fd($dispatcher), 'r');
do {
  [$readable, $none] = [[$watched], null];
  $woken = stream_select($readable, $none, $none, 30);
  if ($woken) $svk->svk_dispatcher_dispatch($dispatcher, 0, 0, null);
} while ($woken && count($counts->seen) < 3);
point($early === [] && $counts->seen === [6, 7, 8], 'event loop');
point($svk->svk_subscription_cancel($subscription) === 0 && $counts->observerFreed === 1 && $send(9) === 0 &&
  $svk->svk_dispatcher_dispatch($dispatcher, 0, 0, null) === $is['TIMEOUT'] && count($counts->seen) === 3, 'cancel');
$svk->svk_stream_finish($stream);
point([$pulled(), $pulled(), $pulled()] === [[8, 2], [9, 0], $is['CLOSED']], 'end');
$total = cell('uint64_t');
point($svk->svk_subscription_dropped($pull, FFI::addr($total)) === 0 && $total->cdata === 5, 'drops');
$ends = [$svk->svk_subscription_cancel($pull)];
foreach ([$counter, $other, $logger, $again] as $handle) $ends[] = $svk->svk_release($handle);
array_push($ends, $svk->svk_container_destroy($container), $svk->svk_stream_destroy($stream),
  $svk->svk_dispatcher_destroy($dispatcher));
point($ends === array_fill(0, 8, 0) && $resolve('logger')[0] === $is['INVALID_HANDLE'], 'destroy');
$last = array_flip($counts->ended);
point($counts->made === 7 && count($counts->ended) === 7 && $counts->alive === [] &&
  $last['worker'] < $last['logger'] && $counts->freed === 1, 'nothing leaked');
