/// What a face with typed keys notes of this thread's resolves in progress, to tell it when the outermost one ends.
package struct TraceNotes {
  package var log: AnyObject?
  /// How many traced resolves this thread is inside of.
  package var level = 0

  package static var ofThread: TraceNotes {
    get { ThreadRecord.current.pointee.resolution.notes }
    set { ThreadRecord.current.pointee.resolution.notes = newValue }
  }
}
