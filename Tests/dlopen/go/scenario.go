// The scenario in Go: cgo, linked, with Go's own network poller as the event loop.
package main

/*
#cgo LDFLAGS: -lservicekit
#include <servicekit.h>
#include <stdlib.h>
#include "callbacks.h"
*/
import "C"

import (
	"fmt"
	"os"
	"reflect"
	"runtime"
	"runtime/cgo"
	"strings"
	"syscall"
	"time"
	"unsafe"
)

var points int

func point(ok bool, name string) {
	points++
	word := "ok"
	if !ok {
		word = "not ok"
	}
	fmt.Printf("%s %d - %s\n", word, points, name)
}

// name gives a C string that lives as long as the program: its names are few.
var names = map[string]*C.char{}

func name(text string) *C.char {
	if names[text] == nil {
		names[text] = C.CString(text)
	}
	return names[text]
}

var (
	made, freed, observerFreed int
	ended, thrown              []string
	required                   []unsafe.Pointer
	stream                     *C.svk_stream
)

// A factory's user_data holds the cgo.Handle of one of these.
type factory struct {
	name  string
	build func(*C.svk_resolver) (unsafe.Pointer, C.svk_status)
}

func factoryOf(userData unsafe.Pointer) factory {
	return (*(*cgo.Handle)(userData)).Value().(factory)
}

//export goCreate
func goCreate(resolver *C.svk_resolver, instance *unsafe.Pointer, userData unsafe.Pointer) (status C.svk_status) {
	defer func() {
		if reason := recover(); reason != nil {
			thrown = append(thrown, fmt.Sprint(reason))
			status = C.SVK_FACTORY_ERROR_BASE + 8
		}
	}()
	*instance, status = factoryOf(userData).build(resolver)
	return status
}

//export goDestroy
func goDestroy(instance, userData unsafe.Pointer) {
	factory := factoryOf(userData)
	ended = append(ended, factory.name)
	if factory.name == "counter" {
		C.svk_service_close((*C.svk_service)(instance))
	} else {
		C.free(instance)
	}
}

//export goFreeFactory
func goFreeFactory(userData unsafe.Pointer) {
	if factoryOf(userData).name == "logger" {
		freed++
	}
	(*(*cgo.Handle)(userData)).Delete()
	C.free(userData)
}

type sight struct {
	value  int64
	thread int
}

var seen []sight

//export goOnState
func goOnState(state *C.svk_state, _ unsafe.Pointer) {
	seen = append(seen, sight{*(*int64)(state.data), syscall.Gettid()})
}

//export goFreeObserver
func goFreeObserver(unsafe.Pointer) { observerFreed++ }

func instanceOf(value int64) (unsafe.Pointer, C.svk_status) {
	made++
	block := C.malloc(8)
	*(*int64)(block) = value
	return block, C.SVK_OK
}

func require(resolver *C.svk_resolver, key string) (instance unsafe.Pointer, status C.svk_status) {
	status = C.svk_require(resolver, name(key), &instance)
	return
}

func options(name string, scope C.int32_t,
	build func(*C.svk_resolver) (unsafe.Pointer, C.svk_status)) *C.svk_factory_options {
	userData := C.malloc(C.size_t(unsafe.Sizeof(cgo.Handle(0))))
	*(*cgo.Handle)(userData) = cgo.NewHandle(factory{name, build})
	options := (*C.svk_factory_options)(C.calloc(1, C.sizeof_svk_factory_options)) // cgo wants no Go memory in C's
	options.size = C.sizeof_svk_factory_options
	options.create = C.svk_create_fn(C.goCreate)
	options.destroy = C.svk_destroy_fn(C.goDestroy)
	options.user_data = userData
	options.user_data_free = C.svk_free_fn(C.goFreeFactory)
	options.scope = scope
	return options
}

func send(value int64) C.svk_status {
	return C.svk_stream_send(stream, unsafe.Pointer(&value), 8)
}

func main() {
	runtime.LockOSThread() // svk_last_error belongs to the thread
	fmt.Println("1..24")
	version := C.svk_version()
	text := fmt.Sprintf("%d.%d.%d", version>>16, version>>8&255, version&255)
	point(version>>16 == 1 && C.GoString(C.svk_version_string()) == text, "version")
	constant := func(text string) (value C.int64_t) {
		C.svk_constant(name(text), &value)
		return
	}
	point(constant("SVK_SCOPE_CACHED") == 2 && C.SVK_SCOPE_CACHED == 2 && constant("SVK_CYCLE") == C.SVK_CYCLE &&
		constant("SVK_DELIVER_PULL") == C.SVK_DELIVER_PULL && constant("SVK_BUFFER_NEWEST") == C.SVK_BUFFER_NEWEST &&
		constant("SVK_FACTORY_ERROR_BASE") == C.SVK_FACTORY_ERROR_BASE, "constants")
	var unknown C.int64_t
	point(C.svk_constant(name("SVK_NO_SUCH"), &unknown) == C.SVK_NOT_FOUND, "unknown constant")
	point(C.GoString(C.svk_status_name(C.SVK_CYCLE)) == "SVK_CYCLE", "status name")

	var container *C.svk_container
	C.svk_container_create(&container)
	C.svk_stream_create(nil, &stream)
	register := func(key string, scope C.int32_t, build func(*C.svk_resolver) (unsafe.Pointer, C.svk_status)) {
		options := options(key, scope, build)
		C.svk_register(container, name(key), options)
		C.free(unsafe.Pointer(options))
	}
	value := func(value int64) func(*C.svk_resolver) (unsafe.Pointer, C.svk_status) {
		return func(*C.svk_resolver) (unsafe.Pointer, C.svk_status) { return instanceOf(value) }
	}
	requires := func(key string) func(*C.svk_resolver) (unsafe.Pointer, C.svk_status) {
		return func(resolver *C.svk_resolver) (unsafe.Pointer, C.svk_status) { return require(resolver, key) }
	}
	register("logger", C.SVK_SCOPE_CACHED, value(1))
	register("worker", C.SVK_SCOPE_UNIQUE, func(resolver *C.svk_resolver) (unsafe.Pointer, C.svk_status) {
		logger, status := require(resolver, "logger")
		if status != C.SVK_OK {
			return nil, status
		}
		required = append(required, logger)
		return instanceOf(2)
	})
	register("a", C.SVK_SCOPE_DEFAULT, requires("b"))
	register("b", C.SVK_SCOPE_DEFAULT, requires("a"))
	register("place", C.SVK_SCOPE_UNIQUE, value(10))
	for context, number := range map[string]int64{"preview": 20, "test": 30} {
		place := options("place", C.SVK_SCOPE_UNIQUE, value(number))
		C.svk_register_for(container, name("place"), name(context), place)
		C.free(unsafe.Pointer(place))
	}
	register("broken", C.SVK_SCOPE_DEFAULT, func(*C.svk_resolver) (unsafe.Pointer, C.svk_status) {
		return nil, C.SVK_FACTORY_ERROR_BASE + 7
	})
	register("throws", C.SVK_SCOPE_DEFAULT, func(*C.svk_resolver) (unsafe.Pointer, C.svk_status) { panic("disk full") })
	register("counter", C.SVK_SCOPE_CACHED, func(*C.svk_resolver) (unsafe.Pointer, C.svk_status) {
		made++
		initial := C.calloc(1, 8)
		defer C.free(initial)
		options := (*C.svk_service_options)(C.calloc(1, C.sizeof_svk_service_options))
		defer C.free(unsafe.Pointer(options))
		options.size = C.sizeof_svk_service_options
		options.initial, options.initial_size, options.stream = initial, 8, stream
		var service *C.svk_service
		status := C.svk_service_create(options, &service)
		return unsafe.Pointer(service), status
	})

	resolve := func(key string) (handle *C.svk_handle, status C.svk_status) {
		status = C.svk_resolve(container, name(key), &handle)
		return
	}
	lastError := func() string { return C.GoString(C.svk_last_error()) }
	logger, _ := resolve("logger")
	again, _ := resolve("logger")
	shared := C.svk_instance(logger)
	point(shared != nil && shared == C.svk_instance(again) && *(*int64)(shared) == 1, "cached")
	worker, _ := resolve("worker")
	other, _ := resolve("worker")
	point(C.svk_instance(worker) != nil && C.svk_instance(worker) != C.svk_instance(other), "unique")
	point(reflect.DeepEqual(required, []unsafe.Pointer{shared, shared}), "require")
	_, status := resolve("a")
	point(status == C.SVK_CYCLE && strings.Contains(lastError(), "a → b → a"), "cycle")
	_, status = resolve("nobody")
	point(status == C.SVK_NOT_FOUND && strings.Contains(lastError(), "nobody"), "missing")
	for index, context := range []string{"live", "preview", "test"} {
		C.svk_container_set_contexts(container, name(context))
		place, status := resolve("place")
		point(status == C.SVK_OK && *(*int64)(C.svk_instance(place)) == int64(10*(index+1)), context)
		C.svk_release(place)
	}
	_, status = resolve("broken")
	point(status == C.SVK_FACTORY_ERROR_BASE+7, "own status")
	_, status = resolve("throws")
	point(status == C.SVK_FACTORY_ERROR_BASE+8 && reflect.DeepEqual(thrown, []string{"disk full"}), "exception")
	point(C.svk_release(worker) == C.SVK_OK && C.svk_release(worker) == C.SVK_INVALID_HANDLE &&
		C.svk_instance(worker) == nil, "stale handle")

	counter, _ := resolve("counter")
	service := (*C.svk_service)(C.svk_instance(counter))
	read := func() [2]int64 {
		value, version := int64(-1), C.uint64_t(99)
		C.svk_service_read(service, unsafe.Pointer(&value), 8, nil, &version)
		return [2]int64{value, int64(version)}
	}
	point(read() == [2]int64{0, 0}, "service")
	observing := (*C.svk_observer_options)(C.calloc(1, C.sizeof_svk_observer_options))
	observing.size = C.sizeof_svk_observer_options
	observing.delivery, observing.buffering, observing.capacity = C.SVK_DELIVER_PULL, C.SVK_BUFFER_NEWEST, 2
	var pull, subscription *C.svk_subscription
	C.svk_service_observe(service, observing, &pull)
	pulled := func(value int64, dropped uint64) bool {
		gotValue, gotDropped := int64(-1), C.uint64_t(0)
		status := C.svk_subscription_next_copy(pull, 0, unsafe.Pointer(&gotValue), 8, nil, nil, &gotDropped)
		return status == C.SVK_OK && gotValue == value && uint64(gotDropped) == dropped
	}
	pullStatus := func() C.svk_status { return C.svk_subscription_next_copy(pull, 0, nil, 0, nil, nil, nil) }
	for value := int64(1); value <= 5; value++ {
		send(value)
	}
	point(pulled(4, 3) && pulled(5, 0) && pullStatus() == C.SVK_TIMEOUT, "pull")
	point(read() == [2]int64{5, 5}, "read")

	var dispatcher *C.svk_dispatcher
	C.svk_dispatcher_create(&dispatcher)
	*observing = C.svk_observer_options{size: C.sizeof_svk_observer_options, delivery: C.SVK_DELIVER_DISPATCHER,
		dispatcher: dispatcher, on_state: C.svk_state_fn(C.goOnState), user_data_free: C.svk_free_fn(C.goFreeObserver)}
	C.svk_service_observe(service, observing, &subscription)
	C.free(unsafe.Pointer(observing))
	sent := make(chan bool)
	go func() {
		defer close(sent)
		for value := int64(6); value <= 8; value++ {
			send(value)
		}
	}()
	// A duplicate for Go's poller, which closes what it watches. Its Read waits until the function says true.
	copied, _ := syscall.Dup(int(C.svk_dispatcher_fd(dispatcher)))
	watched := os.NewFile(uintptr(copied), "dispatcher")
	watched.SetReadDeadline(time.Now().Add(30 * time.Second))
	poller, _ := watched.SyscallConn()
	poller.Read(func(uintptr) bool {
		C.svk_dispatcher_dispatch(dispatcher, 0, 0, nil)
		return len(seen) >= 3
	})
	watched.Close()
	<-sent
	here := syscall.Gettid()
	point(reflect.DeepEqual(seen, []sight{{6, here}, {7, here}, {8, here}}), "event loop")
	point(C.svk_subscription_cancel(subscription) == C.SVK_OK && observerFreed == 1 && send(9) == C.SVK_OK &&
		C.svk_dispatcher_dispatch(dispatcher, 0, 0, nil) == C.SVK_TIMEOUT && len(seen) == 3, "cancel")
	C.svk_stream_finish(stream)
	point(pulled(8, 2) && pulled(9, 0) && pullStatus() == C.SVK_CLOSED, "end")
	var total C.uint64_t
	point(C.svk_subscription_dropped(pull, &total) == C.SVK_OK && total == 5, "drops")
	ends := []C.svk_status{C.svk_subscription_cancel(pull)}
	for _, handle := range []*C.svk_handle{counter, other, logger, again} {
		ends = append(ends, C.svk_release(handle))
	}
	ends = append(ends, C.svk_container_destroy(container), C.svk_stream_destroy(stream),
		C.svk_dispatcher_destroy(dispatcher))
	_, status = resolve("logger")
	point(reflect.DeepEqual(ends, make([]C.svk_status, 8)) && status == C.SVK_INVALID_HANDLE, "destroy")
	last := map[string]int{}
	for index, name := range ended {
		last[name] = index
	}
	point(made == 7 && len(ended) == 7 && last["worker"] < last["logger"] && freed == 1, "nothing leaked")
}
