import BluetoothInterface
import BluetoothWire
import Essentials
import Testing

@testable import BluetoothMachines

@Suite("A controller that keeps refusing")
struct RefusalTests {
  private let peer = DeviceAddress.peer(1)
  private let other = DeviceAddress.peer(2)

  private func refuse(_ opcode: HCIOpcode, _ rig: inout HostRig) {
    rig.controller.faults[opcode] = .status(.commandDisallowed)
  }

  private func isAboutRefusal(_ errors: [HostError], _ activity: String) -> Bool {
    errors.allSatisfy {
      guard case .transport(let text) = $0 else { return false }
      return text.contains("keeps refusing commands for \(activity)")
    }
  }

  /// A rig whose controller took the cancellation of an attempt, went on with that, and takes no other.
  private func stuck() -> HostRig {
    var rig = HostRig.started()
    rig.request(.connect(peer, ConnectOptions()))
    rig.request(.disconnect(peer))
    rig.pass(.seconds(3))
    refuse(.leCreateConnection, &rig)
    rig.request(.connect(other, ConnectOptions()))
    return rig
  }

  @Test("a controller that goes on with a cancelled attempt is restarted, and then connects")
  func stuckAttempt() {
    var rig = stuck()
    rig.pass(.seconds(8))
    #expect(rig.reopenings.isEmpty)
    rig.pass(.seconds(8))
    #expect(rig.reopenings.count == 1)
    #expect(isAboutRefusal(rig.reopenings, "connecting"))
    #expect(rig.states() == [.poweredOff])
    rig.controller.faults = [:]
    rig.controller.received = []
    rig.handle(.transportOpened)
    #expect(rig.states().last == .poweredOn)
    #expect(rig.controller.last(LECreateConnection.self)?.peer.address == other)
    rig.connect(other)
    #expect(rig.log().suffix(2) == ["linkOpened", "connected"])
  }

  @Test("a controller whose restarts don't help is restarted at growing intervals")
  func vainRestarts() {
    var rig = stuck()
    var times: [Instant] = []
    for _ in 0..<3600 {
      rig.pass(.seconds(1))
      guard rig.reopenings.count > times.count else { continue }
      times.append(rig.now)
      rig.handle(.transportOpened)
    }
    #expect((4...12).contains(times.count), "\(times.count)")
    #expect(isAboutRefusal(rig.reopenings, "connecting"))
    let pauses = zip(times.dropFirst(), times).map { ($0 - $1).seconds }
    #expect(pauses.first.map { $0 >= 20 } ?? false)
    #expect(pauses.last.map { $0 >= 600 } ?? false)
  }

  @Test("advertising explains no refusal after an attempt whose end was never reported")
  func stuckAttemptWhileAdvertising() {
    var rig = stuck()
    var options = AdvertisingOptions()
    options.data = [2, 1, 6]
    rig.request(.startAdvertising(options, rig.token()))
    rig.pass(.seconds(20))
    #expect(rig.reopenings.count == 1)
  }

  @Test("a controller that can't initiate while it advertises is not restarted")
  func busyAdvertising() {
    var rig = HostRig.started()
    rig.request(.startAdvertising(AdvertisingOptions(), rig.token()))
    refuse(.leCreateConnection, &rig)
    // The cancellation of the attempt that the host suspects: there is none.
    refuse(.leCreateConnectionCancel, &rig)
    rig.request(.connect(peer, ConnectOptions()))
    rig.pass(.seconds(120))
    #expect(rig.reopenings.isEmpty)
    rig.request(.stopAdvertising)
    rig.controller.faults = [:]
    rig.controller.received = []
    rig.pass(.seconds(5))
    #expect(rig.controller.opcodes.contains(.leCreateConnection))
  }

  @Test(
    "a controller that refuses while it has a link is not restarted before the link has ended",
    arguments: [LinkRole.peripheral, .central])
  func busyLink(role: LinkRole) {
    var rig = HostRig.started()
    if role == .central { rig.request(.connect(peer, ConnectOptions())) }
    rig.connect(peer, role: role)
    refuse(.leCreateConnection, &rig)
    rig.request(.connect(other, ConnectOptions()))
    rig.pass(.seconds(25))
    #expect(rig.reopenings.isEmpty)
    rig.event(DisconnectionComplete(handle: 0x40, reason: .remoteUserTerminatedConnection))
    rig.pass(.seconds(8))
    #expect(rig.reopenings.isEmpty)
    rig.pass(.seconds(10))
    #expect(rig.reopenings.count == 1)
  }

  @Test("a controller that keeps refusing to scan is restarted, and then scans")
  func scanning() {
    var rig = HostRig.started()
    refuse(.leSetScanEnable, &rig)
    rig.request(.startScan(ScanOptions()))
    rig.pass(.seconds(8))
    #expect(rig.reopenings.isEmpty)
    rig.pass(.seconds(8))
    #expect(rig.reopenings.count == 1)
    #expect(isAboutRefusal(rig.reopenings, "scanning"))
    rig.controller.faults = [:]
    rig.controller.received = []
    rig.handle(.transportOpened)
    #expect(rig.controller.last(LESetScanEnable.self)?.isEnabled == true)
  }

  @Test("a controller that doesn't advertise again after a link is restarted")
  func advertising() {
    var rig = HostRig.started()
    let token = rig.token()
    rig.request(.startAdvertising(AdvertisingOptions(), token))
    #expect(rig.results(of: token) == [.success(.done)])
    refuse(.leSetAdvertisingEnable, &rig)
    rig.connect(peer, role: .peripheral)
    rig.pass(.seconds(60))
    #expect(rig.reopenings.isEmpty)
    rig.event(DisconnectionComplete(handle: 0x40, reason: .remoteUserTerminatedConnection))
    rig.pass(.seconds(20))
    #expect(rig.reopenings.count == 1)
    #expect(isAboutRefusal(rig.reopenings, "advertising"))
  }

  @Test("refusals with a success between them don't add up")
  func passing() {
    var rig = HostRig.started()
    for _ in 0..<10 {
      refuse(.leSetScanEnable, &rig)
      rig.request(.startScan(ScanOptions()))
      rig.pass(.seconds(7))
      rig.controller.faults = [:]
      rig.pass(.seconds(3))
      rig.request(.stopScan)
    }
    #expect(rig.reopenings.isEmpty)
  }
}
