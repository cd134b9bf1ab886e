import BluetoothInterface
import BluetoothWire
import Essentials
import Testing

@testable import BluetoothMachines

@Suite("A scanner tells its clients")
struct ScannerTests {
  private func hear(
    _ rig: inout HostRig, _ peer: UInt64, _ data: [UInt8],
    kind: LEAdvertisingReport.Kind = .connectable, rssi: Int8 = -60
  ) {
    let report = LEAdvertisingReport(
      kind: kind, advertiser: PeerAddress(.peer(peer)), data: data[...], rssi: rssi)
    rig.event(LEAdvertisingReports([report]))
  }

  private func reports(_ rig: HostRig, _ client: ClientID = .one) -> [AdvertisingReport] {
    rig.events.compactMap { entry in
      if entry.client == client, case .discovered(let report) = entry.event { report } else { nil }
    }
  }

  @Test("a scanner reports an advertiser once, and again when its data change or it responds")
  func coalescing() {
    var rig = HostRig.started()
    rig.request(.startScan(ScanOptions()))
    hear(&rig, 1, [2, 1, 6])
    hear(&rig, 1, [2, 1, 6], rssi: -40)
    #expect(reports(rig).count == 1)
    hear(&rig, 1, [3, 9, 65, 66], kind: .scanResponse)
    hear(&rig, 1, [3, 9, 65, 66], kind: .scanResponse)
    #expect(reports(rig).count == 2)
    #expect(reports(rig).last?.data == [2, 1, 6])
    #expect(reports(rig).last?.scanResponse == [3, 9, 65, 66])
    #expect(reports(rig).last?.isConnectable == true)
    hear(&rig, 1, [2, 1, 4])
    #expect(reports(rig).count == 3)
    #expect(reports(rig).last?.scanResponse == [3, 9, 65, 66])
    // Started again: told again.
    rig.request(.startScan(ScanOptions()))
    hear(&rig, 1, [2, 1, 4])
    #expect(reports(rig).count == 4)
  }

  @Test("a scanner reports every advertisement to clients that allow duplicates")
  func duplicates() {
    var rig = HostRig.started()
    rig.handle(.clientOpened(.two))
    var options = ScanOptions()
    options.allowsDuplicates = true
    rig.request(.startScan(ScanOptions()), from: .one)
    rig.request(.startScan(options), from: .two)
    for _ in 0..<10 { hear(&rig, 1, []) }
    #expect(reports(rig, .one).count == 1)
    #expect(reports(rig, .two).count == 10)
  }

  @Test("a scanner reports advertisers of the requested services, in any form of the UUIDs")
  func filter() {
    var rig = HostRig.started()
    var options = ScanOptions()
    options.services = [0x180D]
    options.solicitedServices = [0x1815]
    rig.request(.startScan(options))
    hear(&rig, 1, [3, 3, 0x0F, 0x18])
    hear(&rig, 2, [3, 3, 0x0D, 0x18])
    hear(&rig, 3, [5, 5, 0x0D, 0x18, 0, 0])
    let long: [UInt8] = [17, 7, 0xFB, 0x34, 0x9B, 0x5F, 0x80, 0, 0, 0x80, 0, 0x10, 0, 0]
    hear(&rig, 4, long + [0x0D, 0x18, 0, 0])
    hear(&rig, 5, [3, 0x14, 0x15, 0x18])
    hear(&rig, 6, [3, 0x16, 0x0D, 0x18])
    // The service comes only with the scan response.
    hear(&rig, 7, [2, 1, 6])
    hear(&rig, 7, [3, 2, 0x0D, 0x18], kind: .scanResponse)
    // Cut in the middle.
    hear(&rig, 8, [3, 3, 0x0D])
    let found = reports(rig).map(\.address)
    #expect(found == [2, 3, 4, 5, 7].map { .peer($0) })
  }

  @Test("a scanner reports no peer again because an app goes to the background and returns")
  func transition() {
    var rig = HostRig.started()
    var options = ScanOptions()
    options.services = [0x180D]
    options.allowsDuplicates = true
    rig.request(.startScan(options))
    hear(&rig, 1, [3, 3, 0x0D, 0x18])
    var background = options
    background.allowsDuplicates = false
    background.isInBackground = true
    rig.request(.startScan(background))
    hear(&rig, 1, [3, 3, 0x0D, 0x18])
    #expect(reports(rig).count == 1)
    hear(&rig, 2, [3, 3, 0x0D, 0x18])
    #expect(reports(rig).count == 2)
    rig.request(.startScan(options))
    hear(&rig, 2, [3, 3, 0x0D, 0x18])
    #expect(reports(rig).count == 3)
    // Other services are another scan.
    background.services = [0x180D, 0x180F]
    rig.request(.startScan(background))
    hear(&rig, 1, [3, 3, 0x0D, 0x18])
    hear(&rig, 1, [3, 3, 0x0D, 0x18])
    #expect(reports(rig).count == 4)
    // So is one that begins again in the background.
    rig.request(.startScan(background))
    hear(&rig, 1, [3, 3, 0x0D, 0x18])
    #expect(reports(rig).count == 5)
  }

  @Test("a scanner scans less often while all its clients are in the background")
  func background() {
    var rig = HostRig.started()
    rig.handle(.clientOpened(.two))
    func share(_ rig: HostRig) -> Double? {
      rig.controller.last(LESetScanParameters.self).map {
        Double($0.timing.windowUnits625us) / Double($0.timing.intervalUnits625us)
      }
    }
    var options = ScanOptions()
    options.isInBackground = true
    rig.request(.startScan(options), from: .one)
    #expect(share(rig) ?? 1 < 0.1)
    rig.request(.startScan(ScanOptions()), from: .two)
    #expect(share(rig) == 0.75)
    rig.request(.stopScan, from: .two)
    #expect(share(rig) ?? 1 < 0.1)
    rig.request(.startScan(ScanOptions()), from: .one)
    #expect(share(rig) == 0.75)
  }

  @Test("a scanner scans actively if one of its clients wants it, and stops when the last does")
  func merging() {
    var rig = HostRig.started()
    rig.handle(.clientOpened(.two))
    var passive = ScanOptions()
    passive.isActive = false
    rig.request(.startScan(passive), from: .one)
    #expect(rig.controller.last(LESetScanParameters.self)?.type == .passive)
    rig.request(.startScan(ScanOptions()), from: .two)
    #expect(rig.controller.last(LESetScanParameters.self)?.type == .active)
    #expect(rig.controller.last(LESetScanEnable.self)?.isEnabled == true)
    rig.handle(.clientClosed(.two))
    #expect(rig.controller.last(LESetScanParameters.self)?.type == .passive)
    rig.request(.stopScan, from: .one)
    #expect(rig.controller.last(LESetScanEnable.self)?.isEnabled == false)
    hear(&rig, 1, [])
    #expect(reports(rig).isEmpty)
  }

  @Test("a scanner repeats commands that the controller refused")
  func refusal() {
    var rig = HostRig.started()
    rig.controller.faults[.leSetScanEnable] = .status(.commandDisallowed)
    rig.request(.startScan(ScanOptions()))
    rig.pass(.seconds(10))
    #expect(rig.controller.opcodes.count < 30)
    rig.controller.faults = [:]
    rig.pass(.seconds(2))
    #expect(rig.controller.last(LESetScanEnable.self)?.isEnabled == true)
    rig.controller.received = []
    rig.pass(.seconds(9))
    #expect(rig.controller.last(LESetScanEnable.self) == nil)
  }

  @Test("a scanner reports extended data with the last fragment, up to the maximum")
  func extendedParts() {
    var rig = HostRig.started(.extended)
    rig.request(.startScan(ScanOptions()))
    for part in 0..<20 {
      let type: LEExtendedAdvertisingReport.EventType = part < 19 ? [.moreToCome] : []
      let report = LEExtendedAdvertisingReport(
        type: type, advertiser: PeerAddress(.peer(1)), rssi: -50,
        data: [UInt8](repeating: UInt8(part), count: 200)[...])
      rig.event(LEExtendedAdvertisingReports([report]))
    }
    #expect(reports(rig).count == 1)
    #expect(reports(rig).last?.data.count == 1650)
    #expect(reports(rig).last?.isLegacy == false)
  }

  @Test("a scanner reports legacy data as it is, also after incomplete extended data")
  func legacyAfterParts() {
    var rig = HostRig.started(.extended)
    rig.request(.startScan(ScanOptions()))
    let part = LEExtendedAdvertisingReport(
      type: .moreToCome, advertiser: PeerAddress(.peer(1)), rssi: -50, data: [2, 1])
    let legacy = LEExtendedAdvertisingReport(
      type: .legacy, advertiser: PeerAddress(.peer(1)), rssi: -50, data: [2, 1, 6])
    rig.event(LEExtendedAdvertisingReports([part]))
    rig.event(LEExtendedAdvertisingReports([legacy]))
    #expect(reports(rig).map(\.data) == [[2, 1, 6]])
  }

  @Test("a scanner reports each advertising set of a device by itself and never mixes fragments")
  func sets() {
    var rig = HostRig.started(.extended)
    rig.request(.startScan(ScanOptions()))
    func hear(_ set: UInt8, _ type: LEExtendedAdvertisingReport.EventType, _ data: [UInt8]) {
      let report = LEExtendedAdvertisingReport(
        type: type, advertiser: PeerAddress(.peer(1)), setID: set, rssi: -50, data: data[...])
      rig.event(LEExtendedAdvertisingReports([report]))
    }
    for _ in 0..<3 {
      hear(0, .moreToCome, [2, 1])
      hear(1, [], [3, 3, 0x0D, 0x18])
      hear(0, [], [6])
    }
    #expect(reports(rig).map(\.data) == [[3, 3, 0x0D, 0x18], [2, 1, 6]])
  }

  @Test("a scanner forgets the advertiser that was silent for longest")
  func eviction() {
    var table = AdvertiserTable(capacity: 3)
    for number in 1...3 { _ = table.hear(.peer(UInt64(number))) }
    let first = table.hear(.peer(1))
    table[first].data = [1]
    let fourth = table.hear(.peer(4))
    #expect(table.count == 3)
    #expect(table[fourth].data == [])
    #expect(table[table.hear(.peer(1))].data == [1])
    #expect(table[table.hear(.peer(2))].data == [])
    var random = SeededGenerator(seed: 5)
    for _ in 0..<1000 {
      let peer = DeviceAddress.peer(UInt64.random(in: 0..<10, using: &random))
      #expect(table[table.hear(peer)].address == peer)
      #expect(table.count == 3)
    }
  }

  @Test("a scanner reports to more clients than a word has bits")
  func crowd() {
    var rig = HostRig.started()
    for number in 10..<90 {
      let client = ClientID(rawValue: UInt32(number))
      rig.handle(.clientOpened(client))
      rig.request(.startScan(ScanOptions()), from: client)
    }
    hear(&rig, 1, [2, 1, 6])
    for number in 10..<90 {
      #expect(reports(rig, ClientID(rawValue: UInt32(number))).count == 1)
      rig.handle(.clientClosed(ClientID(rawValue: UInt32(number))))
    }
    #expect(rig.controller.last(LESetScanEnable.self)?.isEnabled == false)
  }
}
