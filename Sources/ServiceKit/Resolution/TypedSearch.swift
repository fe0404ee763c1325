import CServiceKit
import ServiceKitCore

/// Resolving where no instance is ready: asks the engine, and does what only this face can do with the answer.
@usableFromInline
enum TypedSearch {
  @usableFromInline
  static func resolve<P, T>(_ asked: FactoryRegistration<P, T>, _ parameter: P) -> T {
    let manager = asked.manager
    _ = manager.prepare(asked.container)
    let definition = definition(asked)
    let trace = TraceLog.begin(asked)
    while true {
      let answer: TypedResolve.Answer
      do throws(Failure) {
        answer = try TypedResolve.find(
          asked.key.view, parameter: TypedParameter.make(parameter), definition, in: manager.engine)
      } catch {
        trace?.end(nil as T?, .cache)
        return fail(asked)
      }
      let kept = Unmanaged<Kept<T>>.fromOpaque(answer.value).takeUnretainedValue()
      guard let value = answer.source == .cache ? kept.get() : kept.getFirst() else {
        // Nobody holds it any more.
        TypedResolve.discard(answer)
        continue
      }
      if answer.source != .cache, kept.isDead != nil {
        TypedResolve.sweep(answer) { Unmanaged<Kept<T>>.fromOpaque($0)._withUnsafeGuaranteedRef { $0.isDead ?? false } }
      }
      TypedResolve.release(answer)
      decorate(value, answer, asked)
      trace?.end(value, answer.source)
      return value
    }
  }

  private static func definition<P, T>(_ asked: FactoryRegistration<P, T>) -> Definition {
    Definition(
      registration: TypedRegistration(asked.factory, isDefinition: true),
      contextual: (asked.modifiers?.contextual ?? []).map {
        TypedRegistration($0.factory, context: $0.context, isDefinition: true)
      },
      options: asked.options, yields: asked.has(DefinitionFlag.yields), asked: asked.asked)
  }

  private static func decorate<P, T>(_ value: T, _ answer: TypedResolve.Answer, _ asked: FactoryRegistration<P, T>) {
    let isNew = answer.source != .cache
    let outside = answer.decorator as? FactoryDecorator<T>
    if let own = asked.modifiers?.decorator, outside == nil || !asked.has(DefinitionFlag.yields) {
      own(value, isNew)
    } else if let outside {
      outside.body(value, isNew)
    } else if let container = answer.decorator as? ContainerDecorator {
      container.body(value)
    }
  }

  /// A resolve that cannot be: a cycle, or a container in its last moments. Nil for an optional result.
  private static func fail<P, T>(_ asked: FactoryRegistration<P, T>) -> T {
    let message = "\(type(of: asked.container)).\(asked.key.name)<\(T.self)>: \(String(cString: Failure.lastWords))"
    ServiceFailure.report(message)
    if let nothing = nothing(of: T.self) { return nothing }
    fatalError(message)
  }
}
