import Foundation
import Observation
import ServiceKit

// A program as it is written for Factory 3: `import FactoryKit` became `import ServiceKit`, and nothing else changed.

// MARK: - Services

protocol UserServiceType: AnyObject {
  var id: UUID { get }
  func name(of user: Int) -> String
}

final class UserService: UserServiceType {
  let id = UUID()
  @Injected(\.network) private var network
  @LazyInjected(\.demoLogger) private var logger

  func name(of user: Int) -> String {
    logger.log("name of \(user)")
    return network.get("/users/\(user)")
  }
}

final class MockUserService: UserServiceType {
  let id = UUID()
  private let answer: String
  init(_ answer: String = "mock") { self.answer = answer }
  func name(of user: Int) -> String { "\(answer) \(user)" }
}

protocol NetworkType {
  func get(_ path: String) -> String
}

struct Network: NetworkType {
  let host: String
  func get(_ path: String) -> String { "\(host)\(path)" }
}

struct PreviewNetwork: NetworkType {
  func get(_ path: String) -> String { "preview\(path)" }
}

struct OfflineNetwork: NetworkType {
  func get(_ path: String) -> String { "offline\(path)" }
}

protocol DemoLogging: AnyObject {
  func log(_ line: String)
}

final class DemoLogger: DemoLogging, @unchecked Sendable {
  private let lock = NSLock()
  private var lines: [String] = []
  func log(_ line: String) { lock.withLock { lines.append(line) } }
  var all: [String] { lock.withLock { lines } }
}

final class Account {
  let number: Int
  let plan: String
  init(number: Int, plan: String) {
    self.number = number
    self.plan = plan
  }
}

protocol AccountLoading {
  func load() -> [Int]
}

struct AccountLoader: AccountLoading {
  func load() -> [Int] { [1, 2, 3] }
}

// A parent and its child that refers back to it.

final class Session {
  @LazyInjected(\.sessionDelegate) var delegate
  let user = "anna"
}

final class SessionDelegate {
  @WeakLazyInjected(\.session) var session: Session?
  func user() -> String? { session?.user }
}

// Objects of one graph.

final class Report {
  let header: ReportPart
  let footer: ReportPart
  init(header: ReportPart, footer: ReportPart) {
    self.header = header
    self.footer = footer
  }
}

final class ReportPart {
  let stamp: ReportStamp
  init(stamp: ReportStamp) { self.stamp = stamp }
}

final class ReportStamp {}

// MARK: - Containers

extension Container {
  var userService: Factory<UserServiceType> {
    self { UserService() }.shared
  }
  var network: Factory<NetworkType> {
    self { Network(host: "live") }
      .onPreview { PreviewNetwork() }
      .onArg("offline") { OfflineNetwork() }
  }
  var demoLogger: Factory<DemoLogging> {
    self { DemoLogger() }.singleton
  }
  var account: ParameterFactory<Int, Account> {
    self { Account(number: $0, plan: "free") }.scopeOnParameters.cached
  }
  var priced: ParameterFactory<(Int, String), Account> {
    self { (number, plan) in Account(number: number, plan: plan) }
  }
  var accountLoader: Factory<AccountLoading?> { promised() }
  var session: Factory<Session> { self { Session() }.shared }
  var sessionDelegate: Factory<SessionDelegate> { self { SessionDelegate() }.shared }
  var reportStamp: Factory<ReportStamp> { self { ReportStamp() }.graph }
  var reportPart: Factory<ReportPart> { self { ReportPart(stamp: self.reportStamp()) } }
  var report: Factory<Report> { self { Report(header: self.reportPart(), footer: self.reportPart()) } }
  var cart: Factory<[String]> {
    Factory(self) { [] }.scope(.demoSession)
  }
  @MainActor var demoModel: Factory<DemoModel> { self { DemoModel() } }
}

extension Scope {
  static let demoSession = Cached()
}

final class PaymentContainer: SharedContainer, AutoRegistering {
  @TaskLocal static var shared = PaymentContainer()
  let manager = ContainerManager()

  var gateway: Factory<NetworkType> { self { Network(host: "bank") }.cached }
  var currency: Factory<String> { self { "none" } }
  var limited: Factory<Int> { self { 100 }.cached.timeToLive(60 * 60) }

  func autoRegister() {
    currency.register { "EUR" }
  }
}

final class ByTypeContainer: SharedContainer, Resolving {
  @TaskLocal static var shared = ByTypeContainer()
  let manager = ContainerManager()
}

// MARK: - Models

final class UserViewModel {
  @Injected(\.userService) var users: UserServiceType
  @Injected(\PaymentContainer.gateway) private var gateway
  @DynamicInjected(\.network) private var network
  private let logger = Container.shared.demoLogger()

  func title(for user: Int) -> String { users.name(of: user) }
  func balance() -> String { gateway.get("/balance") }
  func ping() -> String { network.get("/ping") }
}

final class TypedViewModel {
  @InjectedType(ByTypeContainer.shared) var loader: AccountLoader?
}

@MainActor
@Observable
final class DemoModel {
  @ObservationIgnored @Injected(\.demoLogger) private var logger
  @ObservationIgnored @LazyInjected(\.userService) private var users
  var presses = 0

  func press() {
    presses += 1
    logger.log("pressed")
  }

  func name() -> String { users.name(of: presses) }
}

/// Everything by initializer, for who prefers that.
final class PassedIn {
  let users: UserServiceType
  let account: Account

  init(container: Container, number: Int) {
    users = container.userService()
    account = container.account(number)
  }
}
