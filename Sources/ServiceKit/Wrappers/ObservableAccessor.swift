/// Two-way access to an injected model: what SwiftUI's `Binding` is elsewhere.
///
/// `$model.name` is access to that property, `$model.name.wrappedValue` its value, which can be set.
@dynamicMemberLookup
public struct ObservableAccessor<Model> {
  private let thunk: Thunk<Model>

  init(_ thunk: Thunk<Model>) { self.thunk = thunk }

  /// The model. Another one can be put in its place, for this wrapper and its copies.
  public var wrappedValue: Model {
    get { thunk.current }
    nonmutating set { thunk.current = newValue }
  }

  /// Access to a property of the model.
  public subscript<Value>(
    dynamicMember keyPath: ReferenceWritableKeyPath<Model, Value>
  ) -> ObservablePropertyAccessor<Model, Value> {
    ObservablePropertyAccessor(thunk, keyPath)
  }
}

extension ObservableAccessor: Sendable where Model: Sendable {}

/// Two-way access to a property of an injected model.
@dynamicMemberLookup
public struct ObservablePropertyAccessor<Model, Value> {
  private let thunk: Thunk<Model>
  private let keyPath: ReferenceWritableKeyPath<Model, Value>

  init(_ thunk: Thunk<Model>, _ keyPath: ReferenceWritableKeyPath<Model, Value>) {
    self.thunk = thunk
    self.keyPath = keyPath
  }

  /// The property's value.
  public var wrappedValue: Value {
    get { thunk.value[keyPath: keyPath] }
    nonmutating set { thunk.value[keyPath: keyPath] = newValue }
    nonmutating _modify { yield &thunk.value[keyPath: keyPath] }
  }

  /// Access to a part of it.
  public subscript<Part>(
    dynamicMember part: WritableKeyPath<Value, Part>
  ) -> ObservablePropertyAccessor<Model, Part> {
    ObservablePropertyAccessor<Model, Part>(thunk, keyPath.appending(path: part))
  }
}

// A key path's literal carries nothing that is not.
extension ObservablePropertyAccessor: @unchecked Sendable where Model: Sendable, Value: Sendable {}
