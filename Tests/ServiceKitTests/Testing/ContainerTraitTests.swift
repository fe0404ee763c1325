import ServiceKit
import ServiceKitTesting
import Testing

/// Many tests side by side, each of which registers and resolves under the same names.
@Suite(.container)
struct ContainerTraitTests {
  @Test(arguments: 0..<64)
  func eachCaseHasAContainerOfItsOwn(number: Int) async {
    #expect(Container.shared.name() == "nobody")
    Container.shared.name.register { "\(number)" }
    #expect(Container.shared.name() == "\(number)")
    await Task.yield()
    #expect(Container.shared.name() == "\(number)")
    await Task { #expect(Container.shared.name() == "\(number)") }.value
    #expect(dependency(\.name) == "\(number)")
  }

  @Test(arguments: 0..<64)
  func eachCaseHasSingletonsOfItsOwn(number: Int) async {
    #expect(Container.shared.only().owner == nil)
    Container.shared.only().owner = number
    await Task.yield()
    #expect(Container.shared.only().owner == number)
    await Task { #expect(Container.shared.only().owner == number) }.value
  }

  @Test(.container { $0.name.register { "prepared" } })
  func aTestsOwnTraitPreparesIt() {
    #expect(Container.shared.name() == "prepared")
  }

  @Test(.container { @MainActor in $0.name.register { "prepared" } })
  @MainActor
  func itMayBePreparedOnAnActor() {
    #expect(Container.shared.name() == "prepared")
  }

  @Suite struct Inner {
    @Test(arguments: 0..<16)
    func aSuiteInsideHasThemToo(number: Int) {
      #expect(Container.shared.only().owner == nil)
      Container.shared.only().owner = number
    }
  }
}

@Suite(.container { $0.name.register { "of the suite" } })
struct PreparedSuiteTests {
  @Test(arguments: 0..<16)
  func eachTestBeginsPrepared(number: Int) {
    #expect(Container.shared.name() == "of the suite")
    Container.shared.name.register { "\(number)" }
    #expect(Container.shared.name() == "\(number)")
  }
}

@Suite(.traitContainer)
struct OtherContainerTraitTests {
  @Test(arguments: 0..<32)
  func aContainerTypeOfOnesOwn(number: Int) async {
    #expect(TraitContainer.shared.name() == "other")
    TraitContainer.shared.name.register { "\(number)" }
    await Task.yield()
    #expect(TraitContainer.shared.name() == "\(number)")
  }

  @Test(.container, .traitContainer { $0.name.register { "both" } })
  func bothKindsAtOnce() {
    Container.shared.name.register { "first" }
    #expect([Container.shared.name(), TraitContainer.shared.name()] == ["first", "both"])
  }
}

private final class TraitContainer: SharedContainer {
  @TaskLocal static var shared = TraitContainer()
  let manager = ContainerManager()
}

extension Trait where Self == ContainerTrait<TraitContainer> {
  fileprivate static var traitContainer: Self { .init(shared: TraitContainer.$shared, container: .init()) }
}

private final class Only: @unchecked Sendable {
  var owner: Int?
}

extension Container {
  fileprivate var name: Factory<String> { self { "nobody" } }
  fileprivate var only: Factory<Only> { self { Only() }.singleton }
}

extension TraitContainer {
  fileprivate var name: Factory<String> { self { "other" } }
}
