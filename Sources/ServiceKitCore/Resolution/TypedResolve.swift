import CServiceKit
import Synchronization

/// Resolving for a face with typed keys. Its instances are references that it counts itself, so it keeps no leases: it
/// takes a hold of its own on the instance, and ends the lease at once.
package enum TypedResolve {
  /// An instance that cannot end until ``end(_:)``.
  package struct Ready {
    package let value: UnsafeMutableRawPointer
    fileprivate let thread: UnsafeMutablePointer<ThreadRecord>
  }

  /// The instance that a container holds ready for who asks in this way; nil if there is none. Not nil: the caller
  /// takes its hold and then calls ``end(_:)``. It must not call the program meanwhile.
  @inline(__always)
  package static func begin(_ key: KeyView, asked: UInt, in container: Container) -> Ready? {
    let thread = ThreadRecord.current
    ReadSection.enter(thread)
    // `hitAsked` is read on both sides of the instance, and changed while there is none: see ``Resolve/offer``.
    if let cell = container.table.pointee.find(key),
      cell.pointee.hitAsked.load(ordering: .sequentiallyConsistent) == asked,
      cell.pointee.hitVersion.load(ordering: .acquiring) == Answers.version,
      let instance = cell.pointee.hit.load(ordering: .sequentiallyConsistent),
      cell.pointee.hitAsked.load(ordering: .sequentiallyConsistent) == asked
    {
      return Ready(value: instance.pointee.value, thread: thread)
    }
    ReadSection.leave(thread)
    return nil
  }

  @inline(__always)
  package static func end(_ ready: Ready) { ReadSection.leave(ready.thread) }

  /// Where an instance came from.
  package enum Source { case context, registration, definition, cache }

  package struct Answer {
    package let lease: Token
    package let value: UnsafeMutableRawPointer
    package let source: Source
    package let decorator: Decorator?
  }

  /// The whole way. The caller ends the lease.
  package static func find(
    _ key: KeyView, parameter: Parameter?, _ definition: Definition, in container: Container
  ) throws(Failure) -> Answer {
    let thread = ThreadRecord.current
    thread.pointee.resolution.innermost?.pointee.cell.noteRequirement(of: key.bytes)
    var request = Request(container: container, key: key)
    request.parameter = parameter
    request.marks = LeaseSlot.Mark.dependency
    request.definition = definition
    let found = try Resolve.find(request, on: thread)
    let source: Source =
      !found.isNew
      ? .cache
      : found.registration.context != nil ? .context : found.registration.isDefinition ? .definition : .registration
    return Answer(
      lease: found.resolved.lease, value: found.resolved.value, source: source, decorator: found.decorator)
  }

  package static func release(_ answer: Answer) { Teardown.release(answer.lease) }

  /// The answer's instance is not good for anybody any more: takes it out of its cache, and ends the lease.
  package static func discard(_ answer: Answer) {
    let instance = LeaseTable.instance(answer.lease)
    let container = instance.pointee.container
    var leftovers = Leftovers()
    container.lock.withLock {
      let cell = instance.pointee.cell
      guard cell.pointee.state.instances.contains(instance) else { return }
      container.willChange(cell)
      cell.pointee.state.uncache(instance)
      leftovers.retire(instance)
    }
    leftovers.letGo()
    release(answer)
  }

  /// Now and then, after an instance by parameter was made that is held weakly: takes out those that nobody holds any
  /// more. `isDead` is asked with no lock held.
  package static func sweep(_ answer: Answer, isDead: (UnsafeMutableRawPointer) -> Bool) {
    let thread = ThreadRecord.current
    let instance = LeaseTable.instance(answer.lease)
    let (container, cell) = (instance.pointee.container, instance.pointee.cell)
    let leases: [Token] = container.lock.withLock {
      guard cell.pointee.state.parametrised.count >= cell.pointee.sweepAt else { return [] }
      // Nobody else begins meanwhile.
      cell.pointee.sweepAt = Int.max
      return cell.pointee.state.parametrised.instances.map {
        Instance.lease($0, marks: LeaseSlot.Mark.dependency, on: thread)
      }
    }
    guard !leases.isEmpty else { return }
    let dead = leases.map { LeaseTable.instance($0) }.filter { isDead($0.pointee.value) }
    var leftovers = Leftovers()
    container.lock.withLock {
      if !dead.isEmpty { container.willChange(cell) }
      for each in dead where cell.pointee.state.holds(each) {
        cell.pointee.state.uncache(each)
        leftovers.retire(each)
      }
      cell.pointee.sweepAt = max(64, cell.pointee.state.parametrised.count * 2)
    }
    leftovers.letGo()
    Teardown.release(leases)
  }

  /// The container that this thread's running factory was asked in; nil outside of factories.
  package static var container: Container? { ThreadRecord.current.pointee.resolution.innermost?.pointee.container }
}
