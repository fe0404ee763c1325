import CServiceKit
import XCTest

@testable import ServiceKitCore

/// What a resolve gave: a lease on a product, or a failure.
struct Held {
  let lease: Token
  var product: Product? { LeaseTable.value(lease).map { Product.of($0) } }

  func release(file: StaticString = #filePath, line: UInt = #line) {
    XCTAssertTrue(LeaseTable.release(lease), "the lease had ended", file: file, line: line)
  }
}

extension Container {
  func register(_ key: String, _ registration: Registration, file: StaticString = #filePath, line: UInt = #line) {
    let result = status { () throws(Failure) in
      let key = owned(key)
      try self.register(key.view, registration)
      withExtendedLifetime(key) {}
    }
    XCTAssertEqual(result, SVK_OK, lastWords, file: file, line: line)
  }

  /// The status of a resolve, and the lease.
  func tryResolve(_ key: String, parameter: String = "", type: String? = nil) -> (status: Int32, held: Held?) {
    let (key, parameter, type) = (owned(key), owned(parameter), type.map { owned($0) })
    var held: Held?
    let result = status { () throws(Failure) in
      if parameter.count == 0, type == nil {
        held = Held(lease: try Resolve.handle(token, KeyView(key.view)))
      } else {
        held = Held(
          lease: try Resolve.handle(token, KeyView(key.view), parameter: parameter.view, type: type?.view))
      }
    }
    withExtendedLifetime((key, parameter, type)) {}
    return (result, held)
  }

  /// A lease on the product of a key. Ends the test if there is none.
  func resolve(
    _ key: String, parameter: String = "", file: StaticString = #filePath, line: UInt = #line
  ) throws -> Held {
    let (status, held) = tryResolve(key, parameter: parameter)
    return try XCTUnwrap(held, "\(key): status \(status), \(lastWords)", file: file, line: line)
  }

  /// Resolves and releases. Gives the product, which may have ended by then.
  @discardableResult
  func touch(
    _ key: String, parameter: String = "", file: StaticString = #filePath, line: UInt = #line
  ) throws -> Product {
    let held = try resolve(key, parameter: parameter, file: file, line: line)
    let product = try XCTUnwrap(held.product, file: file, line: line)
    held.release(file: file, line: line)
    return product
  }

  /// Destroys the container; true when that is complete.
  @discardableResult
  func destroy() -> Bool { (try? Closing.destroy(token)) ?? false }

  func reset(_ key: String, registrations: Bool = false, contexts: Bool = false, scopes: Bool = false) -> Int32 {
    status { () throws(Failure) in
      let key = owned(key)
      try reset(key.view, registrations: registrations, contexts: contexts, scopes: scopes)
      withExtendedLifetime(key) {}
    }
  }

  func unregister(_ key: String) -> Int32 {
    reset(key, registrations: true, contexts: true, scopes: true)
  }

  /// The cell of a key, which must be there.
  func cell(of key: String) throws -> UnsafeMutablePointer<Cell> {
    let key = owned(key)
    let cell = lock.withLock { table.pointee.find(KeyView(key.view)) }
    withExtendedLifetime(key) {}
    return try XCTUnwrap(cell)
  }
}
