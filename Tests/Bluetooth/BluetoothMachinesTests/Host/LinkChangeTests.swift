import BluetoothInterface
import BluetoothWire
import Essentials
import Testing

@testable import BluetoothMachines

@Suite("Changes of a link that clients share")
struct LinkChangeTests {
  private let peer = DeviceAddress.peer(1)

  private func rigWithTwoClients() -> HostRig {
    var rig = HostRig.started(.extended)
    rig.handle(.clientOpened(.two, acknowledgesEvents: false))
    return rig
  }

  /// The commands that a client's requests for other parameters and PHYs have caused. Expects errors if there are
  /// none.
  private func change(_ rig: inout HostRig, from client: ClientID) -> Set<HCIOpcode> {
    rig.controller.received = []
    rig.data = []
    let tokens = (rig.token(), rig.token())
    rig.request(.updateParameters(peer, .default, tokens.0), from: client)
    let preference = PHYPreference(transmit: .le2M, receive: .le2M)
    rig.request(.setPHY(peer, preference, tokens.1), from: client)
    let sent = Set(rig.controller.opcodes).intersection([.leConnectionUpdate, .leSetPHY])
    if sent.isEmpty {
      for token in [tokens.0, tokens.1] {
        #expect(rig.results(of: token, client: client) == [.failure(.notConnected)])
      }
    }
    return sent
  }

  @Test("a client changes a link as long as it uses it, and no link of another client")
  func central() {
    var rig = rigWithTwoClients()
    rig.request(.connect(peer, ConnectOptions()))
    rig.connect(peer)
    #expect(change(&rig, from: .two) == [])
    rig.request(.connect(peer, ConnectOptions()), from: .two)
    #expect(change(&rig, from: .two) == [.leConnectionUpdate, .leSetPHY])
    rig.request(.disconnect(peer), from: .two)
    #expect(change(&rig, from: .two) == [])
    rig.event(LEConnectionUpdateComplete(handle: 0x40, timing: .usual))
    #expect(change(&rig, from: .one).contains(.leConnectionUpdate))
  }

  /// What a client offers to peers.
  enum Offer: CaseIterable {
    case advertising, service, channel
  }

  @Test(
    "a link that a peer opened is changed only by clients that offer something to peers",
    arguments: Offer.allCases)
  func peripheral(offer: Offer) {
    var rig = rigWithTwoClients()
    let token = rig.token()
    switch offer {
    case .advertising: rig.request(.startAdvertising(AdvertisingOptions(), token), from: .two)
    case .service: rig.request(.addService(ServiceDefinition(uuid: 0x180D), token), from: .two)
    case .channel:
      rig.request(.publishChannel(psm: nil, requiresEncryption: false, token), from: .two)
    }
    rig.connect(peer, role: .peripheral)
    #expect(change(&rig, from: .one) == [])
    #expect(rig.data.isEmpty)
    #expect(change(&rig, from: .two) == [.leSetPHY])
    // The central is asked for other parameters.
    #expect(rig.data.count == 1)
    switch offer {
    case .advertising: rig.request(.stopAdvertising, from: .two)
    case .service: rig.request(.removeAllServices, from: .two)
    case .channel: rig.request(.unpublishChannel(psm: 0x80), from: .two)
    }
    #expect(change(&rig, from: .two) == [])
  }
}
