import CServiceKit

/// Running a factory.
enum Builder {
  /// Where a built instance will be cached, and by which key there.
  struct Storage {
    let container: Container
    let cell: UnsafeMutablePointer<Cell>
  }

  /// Runs the winning factory with the registrations of `container`. On success the caller gets the first lease; on
  /// failure nothing is kept and what the factory required is released.
  static func build(
    _ request: borrowing Request, _ winner: borrowing Winner, in container: Container, storage: Storage?, build: Build?,
    on thread: UnsafeMutablePointer<ThreadRecord>
  ) throws(Failure) -> Resolved {
    if let path = thread.pointee.resolution.path(to: winner.cell, container, request.parameter) {
      let failure = Failure(SVK_CYCLE, words: path.words)
      if let build, let storage { Cache.fail(build, in: storage, failure) }
      throw failure
    }
    // Of a container that was closed since the registration was found, no factory begins any more.
    if winner.owner.activity.isClosing || container.activity.isClosing {
      let failure = Winner.closed(request)
      if let build, let storage { Cache.fail(build, in: storage, failure) }
      throw failure
    }
    let (outcome, dependencies) = run(request, winner, in: container, build: build, on: thread)
    switch outcome {
    case .made(let value, let isKept):
      let home = storage ?? Storage(container: container, cell: winner.cell)
      let instance = Instance.create(
        value: value, container: storage == nil ? winner.owner : home.container, cell: home.cell,
        registration: winner.registration, scope: winner.scope, parameter: request.parameter,
        dependencies: dependencies)
      guard let build, let storage else {
        instance.pointee.becomeCounted()
        return Resolved(lease: Instance.lease(instance, marks: request.marks, on: thread), value: value)
      }
      return Resolved(
        lease: Cache.succeed(build, in: storage, instance, request, isKept: isKept, on: thread), value: value)
    case .failed(let failure):
      // The words are kept across the destructors that now run, which may fail at something of their own.
      let words = OwnedBytes(thread.pointee.lastError.view)
      Teardown.release(dependencies)
      let failure = Failure(failure.status, words: words)
      if let build, let storage { Cache.fail(build, in: storage, failure) }
      throw failure
    }
  }

  private enum Outcome {
    case made(UnsafeMutableRawPointer, isKept: Bool)
    case failed(Failure)
  }

  private static func run(
    _ request: borrowing Request, _ winner: borrowing Winner, in container: Container, build: Build?,
    on thread: UnsafeMutablePointer<ThreadRecord>
  ) -> (Outcome, [Token]) {
    var frame = Resolution.Frame(
      outer: thread.pointee.resolution.innermost,
      token: thread.pointee.resolution.nextToken(threadNumber: thread.pointee.number), container: container,
      cell: winner.cell, parameter: request.parameter, build: build,
      work: Resolution.Work(
        asked: request.container, owner: winner.owner,
        store: winner.scope.kind == .singleton ? build?.container : nil))
    return withUnsafeMutablePointer(to: &frame) { frame in
      thread.pointee.resolution.push(frame)
      var call = Registration.Call(
        resolver: frame.pointee.token, parameter: request.parameter, scope: winner.scope,
        owner: winner.owner)
      let failuresBefore = thread.pointee.lastError.count
      let (status, value) = Callback.run { winner.registration.make(&call) }
      thread.pointee.resolution.pop(frame)
      if status == SVK_OK, let value {
        return (.made(value, isKept: !call.isNotToBeKept), frame.pointee.dependencies)
      }
      return (.failed(failure(status, request.key.bytes, failuresBefore, on: thread)), frame.pointee.dependencies)
    }
  }

  /// A failure of something that the factory needed, with a word on who needed it, unless they say so
  /// already, as a cycle's path does.
  private static func passedOn(
    _ status: Int32, _ key: ByteView, on thread: UnsafeMutablePointer<ThreadRecord>
  ) -> Failure {
    let words = OwnedBytes(thread.pointee.lastError.view)
    if words.view.contains(key) { return Failure(passingOn: status) }
    return Failure(status) { text in
      text.append(words)
      text.append("; needed by \"")
      text.append(key)
      text.append("\"")
    }
  }

  /// The library's own failures pass through a factory unchanged, and so do the program's from
  /// `SVK_FACTORY_ERROR_BASE` up. Anything else is a factory that failed.
  private static func failure(
    _ status: Int32, _ key: ByteView, _ failuresBefore: UInt64, on thread: UnsafeMutablePointer<ThreadRecord>
  ) -> Failure {
    let isLibrarys = status > SVK_OK && status <= SVK_SYSTEM_ERROR
    let isOwn = status >= SVK_FACTORY_ERROR_BASE
    // If it was found by a call that the factory made, that call's words say more.
    if isLibrarys || isOwn, thread.pointee.lastError.count != failuresBefore, thread.pointee.lastError.status == status
    {
      return passedOn(status, key, on: thread)
    }
    return Failure(isLibrarys || isOwn ? status : SVK_FACTORY_FAILED) { text in
      text.append("the factory of \"")
      text.append(key)
      if status == SVK_OK {
        text.append("\" answered SVK_OK but set no instance; set *instance, or return a failure")
      } else if isLibrarys {
        text.append("\" answered ")
        text.append(ByteView(cString: Constants.statusName(status)))
        text.append(": ")
        text.append(Constants.statusText(status))
      } else {
        text.append("\" answered ")
        text.append(Int64(status))
        if !isOwn {
          text.append(", which is no status; return SVK_OK, or SVK_FACTORY_ERROR_BASE or more for failures of your own")
        }
      }
    }
  }
}
