import BluetoothInterface
import BluetoothWire
import Essentials
import Testing

@testable import BluetoothMachines

@Suite("An advertiser")
struct AdvertiserTests {
  private func options(_ text: UInt8) -> AdvertisingOptions {
    var options = AdvertisingOptions()
    options.data = [2, 9, text]
    return options
  }

  @Test("an advertiser sets parameters, data and scan response, then starts and reports it")
  func legacy() {
    var rig = HostRig.started()
    let token = rig.token()
    rig.request(.startAdvertising(options(65), token))
    #expect(
      rig.controller.opcodes == [
        .leSetAdvertisingParameters, .leSetAdvertisingData, .leSetScanResponseData,
        .leSetAdvertisingEnable,
      ])
    #expect(rig.results(of: token) == [.success(.done)])
    rig.request(.stopAdvertising)
    #expect(rig.controller.last(LESetAdvertisingEnable.self)?.isEnabled == false)
  }

  @Test("an advertiser gives every client a set of its own if the controller has enough sets")
  func sets() {
    var rig = HostRig.started(.extended)
    rig.handle(.clientOpened(.two))
    rig.request(.startAdvertising(options(65), rig.token()), from: .one)
    rig.request(.startAdvertising(options(66), rig.token()), from: .two)
    let sets = rig.controller.received.compactMap {
      try? $0.decode(as: LESetExtendedAdvertisingParameters.self).set
    }
    #expect(sets == [0, 1])
    rig.controller.received = []
    rig.pass(.seconds(9))
    #expect(rig.controller.received.isEmpty)
    rig.handle(.clientClosed(.one))
    #expect(rig.controller.last(LESetExtendedAdvertisingEnable.self)?.sets.first?.set == 0)
    #expect(rig.controller.last(LESetExtendedAdvertisingEnable.self)?.isEnabled == false)
  }

  @Test("an advertiser lets clients take turns if the controller has too few sets")
  func turns() {
    var rig = HostRig.started()
    for client in [ClientID.one, .two, .three] {
      rig.handle(.clientOpened(client))
      rig.request(
        .startAdvertising(options(UInt8(client.rawValue)), rig.token()), from: client)
    }
    rig.pass(.seconds(3))
    var heard: [UInt8: Int] = [:]
    for _ in 0..<30 {
      rig.pass(.seconds(1))
      if let data = rig.controller.last(LESetAdvertisingData.self)?.data {
        heard[data[2], default: 0] += 1
      }
      #expect(rig.controller.last(LESetAdvertisingEnable.self)?.isEnabled == true)
    }
    #expect(heard.count == 3)
    #expect(heard.values.allSatisfy { $0 >= 9 })
    for client in [ClientID.one, .two, .three] {
      #expect(rig.log(of: client).contains("completed"))
    }
  }

  @Test("a program with many advertisements leaves another one as many turns as it has itself")
  func programs() {
    var rig = HostRig.started()
    for number in 1...40 as ClosedRange<UInt32> {
      let client = ClientID(rawValue: 100 + number)
      rig.handle(.clientOpened(client, program: ProgramID(rawValue: 1)))
      rig.request(.startAdvertising(options(1), rig.token()), from: client)
    }
    let other = ClientID(rawValue: 200)
    rig.handle(.clientOpened(other, program: ProgramID(rawValue: 2)))
    rig.request(.startAdvertising(options(2), rig.token()), from: other)
    var heard: [UInt8: Int] = [:]
    for _ in 0..<30 {
      rig.pass(.seconds(1))
      if let data = rig.controller.last(LESetAdvertisingData.self)?.data {
        heard[data[2], default: 0] += 1
      }
    }
    #expect(heard[2] ?? 0 >= 14 && heard[1] ?? 0 >= 14)
  }

  @Test("an advertiser refuses data that does not fit, and reports the controller's refusals")
  func refusals() {
    var rig = HostRig.started()
    var long = AdvertisingOptions()
    long.data = [UInt8](repeating: 0, count: 32)
    let token = rig.token()
    rig.request(.startAdvertising(long, token))
    guard case .failure(.invalidArgument) = rig.results(of: token).first else {
      Issue.record("32 bytes were taken")
      return
    }
    long.usesExtendedAdvertising = true
    let extended = rig.token()
    rig.request(.startAdvertising(long, extended))
    #expect(
      rig.results(of: extended)
        == [.failure(.unsupported("This controller has no extended advertising."))])
    rig.controller.faults[.leSetAdvertisingParameters] = .status(.invalidParameters)
    let refused = rig.token()
    rig.request(.startAdvertising(AdvertisingOptions(), refused))
    #expect(rig.results(of: refused) == [.failure(.controller(.invalidParameters))])
    rig.handle(.transportClosed(.transport("Gone.")))
    let off = rig.token()
    rig.request(.startAdvertising(AdvertisingOptions(), off))
    #expect(rig.results(of: off) == [.failure(.radioNotReady)])
  }

  @Test("an advertiser sends long extended data in fragments")
  func fragments() {
    var rig = HostRig.started(.extended)
    var options = AdvertisingOptions()
    options.usesExtendedAdvertising = true
    options.data = [UInt8](repeating: 1, count: 400)
    options.scanResponse = [UInt8](repeating: 2, count: 200)
    let token = rig.token()
    rig.request(.startAdvertising(options, token))
    let parts = rig.controller.received.compactMap {
      try? $0.decode(as: LESetExtendedAdvertisingData.self)
    }
    #expect(parts.map(\.operation) == [.first, .intermediate, .last])
    #expect(parts.flatMap(\.data) == options.data + options.scanResponse)
    #expect(rig.results(of: token) == [.success(.done)])
  }

  @Test("an advertiser fails a request once when the radio goes off before the answer")
  func overtaken() {
    var rig = HostRig.started()
    rig.controller.faults[.leSetAdvertisingEnable] = .silence
    let token = rig.token()
    rig.request(.startAdvertising(AdvertisingOptions(), token))
    rig.handle(.transportClosed(.transport("Gone.")))
    #expect(rig.results(of: token) == [.failure(.radioNotReady)])
    rig.controller.faults = [:]
    rig.handle(.transportOpened)
    #expect(rig.results(of: token).count == 1)
  }
}
