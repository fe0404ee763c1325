/// Leaves everything that this thread has in progress, calls the program, and goes back in.
///
/// For a failure handler that may never return: while it runs, this thread is inside of nothing, and who waits for an
/// instance that it was building begins anew. If the handler returns, the factories go on; what they give is no longer
/// kept for others.
package enum Interruption {
  package static func during(_ body: () -> Void) {
    let thread = ThreadRecord.current
    let (frames, depth) = (thread.pointee.resolution.innermost, thread.pointee.resolution.depth)
    let (callbackDepth, notes) = (thread.pointee.callbackDepth, thread.pointee.resolution.notes)
    thread.pointee.resolution.leave()
    thread.pointee.callbackDepth = 0
    thread.pointee.resolution.notes = TraceNotes()
    GraphScope.end(on: thread)
    forEach(frames) { frame in
      if let build = frame.pointee.build { Cache.abandon(build) }
      frame.pointee.work.end()
    }
    body()
    forEach(frames) { $0.pointee.work.beginAgain() }
    thread.pointee.resolution.enter(frames, depth: depth)
    thread.pointee.callbackDepth = callbackDepth
    thread.pointee.resolution.notes = notes
  }

  private static func forEach(
    _ first: UnsafeMutablePointer<Resolution.Frame>?, _ body: (UnsafeMutablePointer<Resolution.Frame>) -> Void
  ) {
    var frame = first
    while let current = frame {
      // The thread may end inside of `body`, and take the frame with it.
      frame = current.pointee.outer
      body(current)
    }
  }
}

extension Cache {
  /// Takes its thread out of a build.
  fileprivate static func abandon(_ build: Build) {
    build.container.lock.withLock {
      detach(build, from: build.cell)
      build.isDetached = true
    }
    BuildWait.end(build, .abandoned)
  }
}

extension Resolution {
  fileprivate mutating func leave() { self.enter(nil, depth: 0) }
}
