import BluetoothInterface
import BluetoothWire
import Essentials
import Testing

@testable import BluetoothMachines

@Suite("Refused pairings of a host")
struct RefusedPairingTests {
  private let peer = DeviceAddress.peer(1)
  private let handle: UInt16 = 0x40

  /// Reads a value, for which the peer demands encryption, and refuses to pair.
  private func read(_ slow: inout SlowClient) {
    slow.rig.request(.gatt(peer, .read(SlowClient.value), slow.rig.token()))
    slow.rig.event(NumberOfCompletedPackets([CompletedPackets(handle: handle, count: 1)]))
    slow.receive([0x01, 0x0A, 0x20, 0, ATTErrorCode.insufficientEncryption.rawValue], on: handle)
    slow.receive(SMPPDU.pairingFailed(.pairingNotSupported).bytes, on: handle, channel: 6)
  }

  @Test("a peer's refusal does not hold once there is other out-of-band data of it")
  func outOfBandData() {
    var slow = SlowClient()
    slow.connect(peer, handle: handle)
    slow.subscribe(peer, handle: handle)
    for _ in 0..<3 { read(&slow) }
    #expect(slow.sentSecurityPDUs.count == 1)
    let data = OutOfBandData.legacy(temporaryKey: SMPValue(number: 1))
    slow.rig.request(.setOutOfBandData(.peer(2), data, slow.rig.token()))
    read(&slow)
    #expect(slow.sentSecurityPDUs.count == 1)
    slow.rig.request(.setOutOfBandData(peer, data, slow.rig.token()))
    read(&slow)
    #expect(slow.sentSecurityPDUs.count == 2)
  }
}
