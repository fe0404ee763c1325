import XCTest

@testable import ServiceKitCore

final class UserDataTests: XCTestCase {
  private final class Told: @unchecked Sendable {
    var calls = 0
    var wereCallbacks = 0
  }

  private let told = Told()

  private func make() -> UserData {
    UserData(
      Unmanaged.passUnretained(told).toOpaque(),
      free: { pointer in
        let told = Unmanaged<Told>.fromOpaque(pointer!).takeUnretainedValue()
        told.calls += 1
        if Callback.isRunning { told.wereCallbacks += 1 }
      })
  }

  func testWhatWasKeptIsFreedOnceAsACallback() {
    var data: UserData? = make()
    data?.keep()
    data?.keep()
    XCTAssertEqual(told.calls, 0)
    data = nil
    XCTAssertEqual(told.calls, 1)
    XCTAssertEqual(told.wereCallbacks, 1)
  }

  func testWhatWasNotKeptStaysThePrograms() {
    var data: UserData? = make()
    XCTAssertEqual(data?.pointer, Unmanaged.passUnretained(told).toOpaque())
    data = nil
    XCTAssertEqual(told.calls, 0)
  }

  func testWithoutAFunctionThereIsNothingToFree() {
    var data: UserData? = UserData(nil, free: nil)
    data?.keep()
    data = nil
  }
}
