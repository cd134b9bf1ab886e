import ArgumentParser
import BluetoothHost
import BluetoothInterface
import Essentials
import Testing

@testable import AmbitCLI

/// bluetoothd's radio for commands that name none.
struct DefaultBlueZTests {
  @Test func `In a process of tests, bluetoothd is not looked for`() async throws {
    let options = try GlobalOptions.parse([])
    let selection = try RadioSelection.select(named: nil)
    let result = await options.defaultBlueZ(
      insteadOf: selection, isCaptured: false, onWarning: { Issue.record("\($0)") })
    guard case .notUsed(reason: nil) = result else {
      Issue.record("\(result)")
      return
    }
  }

  @Test(arguments: [RadioState.poweredOff, .unauthorized, .unsupported])
  func `A radio that is not on is not waited for`(state: RadioState) async {
    #expect(await !DefaultBlueZ.isOn(Provider(state), within: .seconds(3_600)))
  }

  @Test func `A radio that is on is used`() async {
    #expect(await DefaultBlueZ.isOn(Provider(.poweredOn), within: .seconds(3_600)))
  }

  @Test func `A radio that reports no state isn't on after the limit`() async {
    #expect(await !DefaultBlueZ.isOn(Provider(.unknown), within: .milliseconds(10)))
  }
}

/// A host that reports one state.
private final class Provider: HostSessionProvider {
  private let state: RadioState

  init(_ state: RadioState) { self.state = state }

  var isSimulated: Bool { false }

  func openSession(
    name: String, acknowledgesEvents: Bool, settle: (@Sendable () -> Void)?,
    onEvents: @escaping @Sendable ([HostEvent]) -> Void
  ) -> any HostSession {
    onEvents([.stateChanged(state)])
    return IdleSession()
  }
}

private final class IdleSession: HostSession {
  /// A loop without time.
  private struct Loop: SessionLoop {
    var now: Instant { .zero }
    var calendarTime: Double { 0 }
    func execute(_ work: @escaping @Sendable () -> Void) { work() }
    func makeTimer(onFire: @escaping @Sendable () -> Void) -> any LoopTimer { Timer() }
  }

  private final class Timer: LoopTimer, Sendable {
    func set(_ time: Instant) {}
    func cancel() {}
  }

  var loop: any SessionLoop { Loop() }
  func send(_ request: HostRequest) {}
  func eventsHandled(_ count: Int) {}
  func hasWork() {}
  func close() {}
}
