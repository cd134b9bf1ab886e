import BeaconMachines
import BluetoothWire
import Essentials
import Foundation
import JSONWire
import Testing

@testable import AmbitCLI

private let uuid = "E2C56DB5-DFFB-48D2-B060-D0F5A71096E0"

@Suite("Beacon commands", .timeLimit(.minutes(5)))
struct BeaconCommandTests {
  private static func object(_ line: String) throws -> [String: Any] {
    try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
  }

  @Test("regions are a UUID, perhaps a major and a minor number, and nothing else")
  func regions() throws {
    let full = try #require(BluetoothUUID(uuid))
    func constraint(_ text: String) -> BeaconConstraint? {
      BeaconRegionArgument(argument: text)?.constraint
    }
    #expect(constraint(uuid) == BeaconConstraint(uuid: full))
    #expect(constraint(uuid.lowercased() + "/0") == BeaconConstraint(uuid: full, major: 0))
    #expect(
      constraint(uuid + "/65535/7") == BeaconConstraint(uuid: full, major: 65535, minor: 7))
    for text in [
      "", "180D", uuid + "/", uuid + "//7", uuid + "/1/", uuid + "/65536", uuid + "/1/2/3",
      uuid + "/a", "/1", String(uuid.dropLast()), uuid + "/-1",
    ] {
      #expect(constraint(text) == nil, "\(text)")
    }
  }

  @Test("the beacons of the simulated flat are ranged, nearest first, with an interval")
  func ranging() async throws {
    let run = try AmbitRun(["beacons", "--radio", "sim", "--json"])
    var found: [Int: [String: Any]] = [:]
    while found.count < 3 {
      let line = try #require(await run.output.next(containing: "\"distance\""))
      let object = try Self.object(line)
      found[try #require(object["minor"] as? Int)] = object
    }
    run.interrupt()
    let end = await run.end()
    #expect(end.complaints.isEmpty && end.status == AmbitCLI.ExitStatus.interrupted.rawValue)
    for object in found.values {
      #expect(object["event"] as? String == "ranged")
      #expect(object["format"] as? String == "iBeacon")
      #expect(object["uuid"] as? String == uuid && object["major"] as? Int == 1)
      let distance = try #require(object["distance"] as? [String: Double])
      let (from, to) = (try #require(distance["from"]), try #require(distance["to"]))
      let median = try #require(distance["median"])
      #expect(0 < from && from < median && median < to)
    }
  }

  @Test("a table has proximity, interval and a sparkline")
  func table() async throws {
    let end = await (try AmbitRun(["beacons", uuid, "--radio", "sim"])).end(after: "\(uuid)/1/1")
    #expect(end.status == AmbitCLI.ExitStatus.interrupted.rawValue, "\(end)")
    #expect(end.output.first?.hasPrefix("FORMAT") == true)
    let row = try #require(end.output.first { $0.contains("\(uuid)/1/1") })
    #expect(row.contains("–") && row.contains(" m "))
    #expect(row.contains { "▁▂▃▄▅▆▇█".contains($0) })
  }

  @Test("a beacon that is advertised is ranged by another process, and monitored")
  func advertised() async throws {
    let radio = try await ServedRadio("sim:empty")
    let folder = try TestFolder()
    let file = folder.path + "/visits"
    let other = "00000000-0000-0000-0000-00000000000B"
    let monitor = try AmbitRun([
      "monitor", "\(uuid)/7", other, "--exit-delay", "2", "--radio", radio.name, "--json", "--",
      "sh", "-c",
      "echo $AMBIT_EVENT $AMBIT_REGION $AMBIT_BEACON_UUID $AMBIT_BEACON_MINOR >> '\(file)'",
    ])
    let beacon = try AmbitRun([
      "beacon", "advertise", uuid, "7", "9", "--power", "-65", "--radio", radio.name, "--json",
    ])
    let advertising = try #require(await beacon.output.next(containing: "\"advertising\""))
    #expect(try Self.object(advertising)["power"] as? Int == -65)
    let enter = try #require(await monitor.output.next(containing: "\"enter\""))
    let object = try Self.object(enter)
    #expect(object["region"] as? String == "\(uuid)/7")
    #expect(object["major"] as? Int == 7 && object["minor"] as? Int == 9)
    beacon.interrupt()
    _ = await beacon.end()
    #expect(await monitor.output.next(containing: "\"exit\"") != nil)
    let lines = ["enter \(uuid)/7 \(uuid) 9", "exit \(uuid)/7 \(uuid) 9", ""]
    let expected = lines.joined(separator: "\n")
    try await TestFolder.waitForFile(file, of: UInt64(expected.utf8.count - 1))
    #expect(try String(contentsOfFile: file, encoding: .utf8) == expected)
    monitor.terminate()
    #expect(await monitor.end().status == 128 + SIGTERM)
  }

  @Test("a command that hangs stops neither the monitor nor its end, and inherits nothing")
  func hanging() async throws {
    let folder = try TestFolder()
    let file = folder.path + "/child"
    // The shell tells which signals are ignored and which descriptors are open, then hangs. It reads its
    // status itself: while it starts another program it blocks all signals.
    let script =
      "{ while read -r line; do case $line in SigIgn*|SigBlk*) echo \"$line\";; esac; "
      + "done < /proc/$$/status; ls /proc/$$/fd; } > '\(file).new'; "
      + "mv '\(file).new' '\(file)'; exec sleep 1000"
    let monitor = try AmbitRun([
      "monitor", "\(uuid)/1/1", "--radio", "sim", "--json", "--", "sh", "-c", script,
    ])
    #expect(await monitor.output.next(containing: "\"enter\"") != nil)
    try await TestFolder.waitForFile(file, of: 0)
    monitor.terminate()
    // The children share standard output, so the test waits for the end of the process, long before theirs.
    #expect(await monitor.exitStatus() == 128 + SIGTERM)
    let text = try String(contentsOfFile: file, encoding: .utf8)
    let lines = text.split(separator: "\n").map(String.init)
    // Of the signals 1 to 31; the next two are the C library's own. What a shell made these tests
    // ignore, as it does in the background, commands ignore, too.
    let ours = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
    let ignoredHere = try #require(Self.masks(in: ours.split(separator: "\n"), of: "SigIgn").first)
    let ignored = Self.masks(in: lines, of: "SigIgn")
    #expect(ignored.count == 1)
    #expect(ignored.allSatisfy { $0 & 0x7FFF_FFFF & ~ignoredHere == 0 }, "\(text)")
    let blocked = Self.masks(in: lines, of: "SigBlk")
    #expect(blocked.count == 1)
    #expect(blocked.allSatisfy { $0 & 0x7FFF_FFFF == 0 }, "\(text)")
    let descriptors = lines.compactMap { Int($0) }.filter { $0 < 10 }
    #expect(descriptors.contains(2) && descriptors.allSatisfy { $0 < 4 }, "\(text)")
  }

  /// The sets of signals of a kind in lines of `/proc/PID/status`.
  static func masks(in lines: [some StringProtocol], of kind: String) -> [UInt64] {
    lines.filter { $0.hasPrefix(kind) }.compactMap { UInt64($0.suffix(16), radix: 16) }
  }

  @Test(
    "a beacon command that makes no sense is refused in one sentence",
    arguments: [
      (["monitor", uuid], "The command is missing"),
      (["monitor", uuid, "E2C56DB5", "--", "true"], "E2C56DB5"),
      (["monitor", uuid, "true"], "true"),
      (["monitor", "--", "true"], "uuid["),
      (["monitor", uuid, "--"], "run"),
      (["monitor", uuid, uuid, "--", "true"], "twice"),
      (["beacon", "advertise", "180D", "1", "2"], "is not a UUID"),
      (["beacon", "advertise", uuid, "1", "70000"], "70000"),
      (["beacon", "advertise", uuid, "1", "2", "--power", "300"], "300"),
      (["beacons", "E2C56DB5"], "E2C56DB5"),
    ])
  func mistakes(_ arguments: [String], _ sentence: String) async throws {
    let run = try AmbitRun(arguments)
    run.closeInput()
    let end = await run.end()
    #expect(end.status == 64)
    #expect(end.complaints.joined(separator: " ").contains(sentence), "\(end.complaints)")
  }

  @Test("a command that can't be run is reported, and the monitor goes on")
  func missingCommand() async throws {
    let monitor = try AmbitRun([
      "monitor", "\(uuid)/1/1", "\(uuid)/1/2", "--radio", "sim", "--", "/no/such/command",
    ])
    for _ in 0..<2 {
      #expect(await monitor.complaints.next(containing: "cannot be run") != nil)
    }
    monitor.interrupt()
    #expect(await monitor.end().status == AmbitCLI.ExitStatus.interrupted.rawValue)
  }
}

@Suite("Beacon survey")
struct BeaconSurveyTests {
  private func sighting(_ data: [UInt8], rssi: Int = -60) -> Sighting {
    var sighting = Sighting(identifier: "A")
    sighting.address = DeviceAddress(bits: 1, kind: .random)
    sighting.rssi = rssi
    sighting.manufacturerData = data
    return sighting
  }

  private func eddystone(_ data: [UInt8], rssi: Int = -60) -> Sighting {
    var result = sighting([], rssi: rssi)
    result.manufacturerData = nil
    result.serviceData = [.init(uuid: 0xFEAA, data: data)]
    return result
  }

  private func rows(_ survey: inout BeaconSurvey, seconds: Double) throws -> [BeaconSurvey.Row] {
    let now = Instant(nanoseconds: Int64(seconds * 1e9))
    let rows = survey.wake(now: now)
    return try #require(rows)
  }

  @Test("iBeacons, AltBeacons and Eddystone beacons are in one table")
  func formats() throws {
    let id = try #require(BluetoothUUID(uuid))
    let beacon = IBeacon(uuid: id, major: 1, minor: 2, powerAtOneMetre: -59)
    let alternative = try #require(
      AltBeacon(
        company: 0x118, identifier: Array(beacon.bytes.dropLast()), powerAtOneMetre: -59))
    var survey = BeaconSurvey(constraints: [], now: .zero)
    survey.hear(sighting(beacon.manufacturerData, rssi: -50), now: .zero)
    survey.hear(sighting(alternative.manufacturerData, rssi: -60), now: .zero)
    survey.hear(eddystone([0x10, 0xEE, 0x03, 0x67, 0x6F, 0x6F, 0x07]), now: .zero)
    let rows = try rows(&survey, seconds: 1)
    #expect(rows.map(\.format).first == .iBeacon)
    #expect(Set(rows.map(\.format)) == [.iBeacon, .altBeacon, .eddystone])
    #expect(rows.first { $0.format == .eddystone }?.name == "https://goo.com")
    #expect(rows.first { $0.format == .altBeacon }?.name == "\(uuid)/1/2")
    for row in rows {
      let object = BeaconText.json(row).line
      #expect(object.contains("\"uuid\"") == (row.format != .eddystone))
    }
  }

  @Test("a narrow table keeps the distance, the strength and the end of a name")
  func narrow() throws {
    let id = try #require(BluetoothUUID(uuid))
    let beacon = IBeacon(uuid: id, major: 1, minor: 2, powerAtOneMetre: -59)
    var survey = BeaconSurvey(constraints: [], now: .zero)
    survey.hear(sighting(beacon.manufacturerData, rssi: -50), now: .zero)
    let row = try #require(rows(&survey, seconds: 1).first)
    let distance = try BeaconText.interval(#require(row.beacon.distance))
    for width in 40...240 {
      let columns = BeaconText.Columns(of: width)
      let line = BeaconText.line(row, columns)
      #expect(line.contains("/1/2") && line.contains(distance) && line.contains("-50"))
      #expect(Fit.width(line) <= width)
      let header = BeaconText.header(columns)
      #expect(header.contains("DISTANCE") && header.contains("DBM"))
    }
    let wide = BeaconText.line(row, BeaconText.Columns(of: 240))
    #expect(wide == BeaconText.line(row) && wide.contains("\(uuid)/1/2"))
    let narrow = BeaconText.line(row, BeaconText.Columns(of: 80))
    #expect(narrow.contains("iBeacon") && narrow.contains("\(row.beacon.proximity)"))
  }

  @Test("the battery and temperature of a device are shown with each of its beacons")
  func telemetry() throws {
    let id = try #require(BluetoothUUID(uuid))
    let beacon = IBeacon(uuid: id, major: 1, minor: 2, powerAtOneMetre: -59)
    let frame: [UInt8] = [0x20, 0, 0x0B, 0x86, 0x15, 0x80, 0, 0, 0, 1, 0, 0, 0, 2]
    var survey = BeaconSurvey(constraints: [], now: .zero)
    // Of a device without a beacon nothing is kept.
    survey.hear(eddystone(frame), now: .zero)
    survey.hear(sighting(beacon.manufacturerData), now: .zero)
    survey.hear(eddystone([0x10, 0xEE, 0x03, 0x67]), now: .zero)
    #expect(try rows(&survey, seconds: 1).allSatisfy { $0.telemetry == nil })
    survey.hear(eddystone(frame), now: .zero + .seconds(1))
    let told = try rows(&survey, seconds: 2)
    #expect(told.count == 2)
    for row in told {
      let object = BeaconText.json(row).line
      #expect(object.contains("\"battery\":2.95") && object.contains("\"temperature\":21.5"))
      #expect(BeaconText.line(row).contains("2.95 V"))
    }
    // A mains-powered device without a thermometer.
    for (second, byte) in [0, 0xFF].enumerated() as EnumeratedSequence<[UInt8]> {
      let now = Instant.zero + .seconds(Int64(second) + 2)
      survey.hear(
        eddystone([0x20, 0, byte, byte, 0x80, 0, 0, 0, 0, 1, 0, 0, 0, 2]), now: now)
      for row in try rows(&survey, seconds: Double(second) + 3) {
        let object = BeaconText.json(row).line
        #expect(!object.contains("battery") && !object.contains("temperature"))
      }
    }
  }

  @Test("formats that report at different times keep each other's batteries and levels")
  func outOfPhase() throws {
    let id = try #require(BluetoothUUID(uuid))
    let beacon = IBeacon(uuid: id, major: 1, minor: 2, powerAtOneMetre: -59)
    let frame: [UInt8] = [0x20, 0, 0x0B, 0x86, 0x15, 0x80, 0, 0, 0, 1, 0, 0, 0, 2]
    func other(_ data: [UInt8]) -> Sighting {
      var sighting = eddystone(data)
      sighting.address = DeviceAddress(bits: 2, kind: .random)
      return sighting
    }
    var survey = BeaconSurvey(constraints: [], now: .zero)
    for tick in 0..<40 {
      let now = Instant.zero + .milliseconds(Int64(tick) * 100)
      if tick % 10 == 0 { survey.hear(sighting(beacon.manufacturerData), now: now) }
      if tick % 10 == 4 { survey.hear(other([0x10, 0xEE, 0x03, 0x67]), now: now) }
      if tick == 16 { survey.hear(other(frame), now: now) }
      _ = survey.wake(now: now)
    }
    #expect(survey.report.count == 2)
    #expect(survey.report.filter { $0.telemetry != nil }.map(\.format) == [.eddystone])
    #expect(survey.report.allSatisfy { $0.levels.count >= 2 }, "\(survey.report)")
  }

  @Test("only the beacons of given regions are ranged")
  func regions() throws {
    let id = try #require(BluetoothUUID(uuid))
    var survey = BeaconSurvey(constraints: [.init(uuid: id, major: 2)], now: .zero)
    for major: UInt16 in 1...3 {
      let beacon = IBeacon(uuid: id, major: major, minor: 0, powerAtOneMetre: -59)
      survey.hear(sighting(beacon.manufacturerData), now: .zero)
    }
    let found = try rows(&survey, seconds: 1)
    #expect(found.map(\.beacon.identity.major) == [2])
  }

  @Test("made-up UUIDs and addresses of the web are bounded and counted")
  func bounded() throws {
    var survey = BeaconSurvey(constraints: [], now: .zero)
    for number in 0..<400 {
      let beacon = IBeacon(
        uuid: .init(high: 7, low: UInt64(number)), major: 1, minor: 1, powerAtOneMetre: -59)
      survey.hear(sighting(beacon.manufacturerData), now: .zero)
      survey.hear(
        eddystone([0x10, 0xEE, 0x03] + Array(String(number).utf8)), now: .zero)
    }
    #expect(survey.refusedCount == 2 * (400 - 256))
    #expect(try rows(&survey, seconds: 1).count == 512)
  }

  @Test("a full survey hears a louder beacon, and others again when the first are gone")
  func fullSurvey() throws {
    var survey = BeaconSurvey(constraints: [], now: .zero)
    func hear(_ numbers: Range<UInt64>, rssi: Int, _ second: Int64) {
      for number in numbers {
        let beacon = IBeacon(
          uuid: .init(high: 7, low: number), major: 1, minor: 1, powerAtOneMetre: -59)
        survey.hear(
          sighting(beacon.manufacturerData, rssi: rssi), now: .zero + .seconds(second))
        survey.hear(
          eddystone([0x10, 0xEE, 0x03] + Array(String(number).utf8), rssi: rssi),
          now: .zero + .seconds(second))
      }
    }
    hear(0..<256, rssi: -80, 0)
    hear(1_000..<1_001, rssi: -50, 0)
    #expect(survey.refusedCount == 0)
    hear(2_000..<2_010, rssi: -80, 0)
    #expect(survey.refusedCount == 20)
    var rows = try rows(&survey, seconds: 1)
    #expect(rows.count == 512 && rows.prefix(2).allSatisfy { $0.beacon.rssi == -50 })
    #expect(rows.contains { $0.name.hasSuffix("1000") })
    for second in Int64(2)...14 {
      hear(1_000..<1_001, rssi: -50, second)
      _ = survey.wake(now: .zero + .seconds(second))
    }
    hear(3_000..<3_200, rssi: -90, 14)
    rows = try self.rows(&survey, seconds: 15)
    #expect(rows.count == 402 && survey.refusedCount == 20)
    #expect(Set(rows.map(\.name)).count == 402)
  }

  @Test("a beacon of unknown strength takes no other's place", arguments: [0, 127])
  func unknownStrength(rssi: Int) throws {
    var survey = BeaconSurvey(constraints: [], now: .zero)
    func hear(_ numbers: Range<UInt64>, rssi: Int) {
      for number in numbers {
        let beacon = IBeacon(
          uuid: .init(high: 7, low: number), major: 1, minor: 1, powerAtOneMetre: -59)
        survey.hear(sighting(beacon.manufacturerData, rssi: rssi), now: .zero)
        survey.hear(
          eddystone([0x10, 0xEE, 0x03] + Array(String(number).utf8), rssi: rssi), now: .zero)
      }
    }
    hear(0..<256, rssi: -80)
    hear(1_000..<1_100, rssi: rssi)
    #expect(survey.refusedCount == 200)
    #expect(try rows(&survey, seconds: 1).count == 512)
  }

  @Test(
    "UUIDs that come once, however loud, displace no steady beacon, and a new one becomes steady")
  func loudFlood() throws {
    var survey = BeaconSurvey(constraints: [], now: .zero)
    func hear(_ high: UInt64, _ low: UInt64, rssi: Int, _ now: Instant) {
      let beacon = IBeacon(
        uuid: .init(high: high, low: low), major: 1, minor: 1, powerAtOneMetre: -59)
      var packet = sighting(beacon.manufacturerData, rssi: rssi)
      packet.address = DeviceAddress(bits: high << 32 | low & 0xFFFF_FFFF, kind: .random)
      survey.hear(packet, now: now)
    }
    for packet in 0..<2_400 as Range<UInt64> {
      let now = Instant.zero + .microseconds(2_500 * Int64(packet))
      if packet % 40 == 0 {
        for number in 0..<(packet < 1_200 ? 3 : 5) as Range<UInt64> {
          hear(1, .max - number, rssi: -70, now)
        }
        _ = survey.wake(now: now)
      }
      hear(2, packet, rssi: -30, now)
    }
    let steady = survey.report.filter { $0.beacon.identity.uuid.high == 1 }
    #expect(steady.map(\.beacon.rssi) == [-70, -70, -70, -70, -70])
    #expect(survey.refusedCount > 1_000)
  }

  @Test("advertising a measured power that gives no distance is remarked")
  func powerRemark() {
    for power: Int8 in [-128, -101, -9, 0, 127] {
      #expect(AdvertiseBeacon.powerRemark(power)?.contains("gives no distance") == true)
    }
    for power: Int8 in [-100, -59, -10] { #expect(AdvertiseBeacon.powerRemark(power) == nil) }
  }

  @Test("a beacon whose strength is never measured is ranged as unknown", arguments: [nil, 0, 21])
  func neverMeasured(rssi: Int?) throws {
    let id = try #require(BluetoothUUID(uuid))
    let beacon = IBeacon(uuid: id, major: 1, minor: 2, powerAtOneMetre: -59)
    var survey = BeaconSurvey(constraints: [], now: .zero)
    var heard = sighting(beacon.manufacturerData)
    heard.rssi = rssi
    survey.hear(heard, now: .zero)
    let row = try #require(try rows(&survey, seconds: 1).first)
    #expect(row.beacon.proximity == .unknown && row.beacon.rssi == 0 && row.beacon.distance == nil)
    let object = BeaconText.json(row).line
    #expect(!object.contains("\"rssi\"") && !object.contains("\"level\""))
  }

  @Test("a malformed beacon is counted, and other advertisements are not")
  func malformed() throws {
    let id = try #require(BluetoothUUID(uuid))
    let beacon = IBeacon(uuid: id, major: 1, minor: 2, powerAtOneMetre: -59).manufacturerData
    var survey = BeaconSurvey(constraints: [], now: .zero)
    survey.hear(sighting(Array(beacon.dropLast())), now: .zero)
    survey.hear(sighting(beacon + [0]), now: .zero)
    survey.hear(eddystone([0x10, 0xEE, 0x20]), now: .zero)
    survey.hear(sighting([0x4C, 0, 0x10, 5, 1, 2, 3, 4, 5]), now: .zero)
    survey.hear(sighting(beacon), now: .zero)
    #expect(survey.malformedCount == 3)
    #expect(try rows(&survey, seconds: 1).count == 1)
    let object = BeaconText.malformedJSON(3).line
    #expect(object.contains("\"malformed\"") && object.contains("\"count\":3"))
    #expect(BeaconText.malformed(1).hasPrefix("1 beacon advertisement was"))
  }

  @Test("while the radio is off nothing is in range, and no silence is counted")
  func radioOff() throws {
    let id = try #require(BluetoothUUID(uuid))
    let beacon = IBeacon(uuid: id, major: 1, minor: 2, powerAtOneMetre: -59)
    var survey = BeaconSurvey(constraints: [], now: .zero)
    survey.hear(sighting(beacon.manufacturerData), now: .zero)
    _ = try rows(&survey, seconds: 1)
    #expect(survey.report.count == 1)
    survey.setScanning(false, now: .zero + .seconds(1))
    #expect(survey.report.isEmpty)
    for second in Int64(2)...30 { _ = survey.wake(now: .zero + .seconds(second)) }
    #expect(survey.report.isEmpty)
    survey.setScanning(true, now: .zero + .seconds(31))
    survey.hear(sighting(beacon.manufacturerData), now: .zero + .seconds(31))
    _ = survey.wake(now: .zero + .seconds(32))
    #expect(survey.report.count == 1)
  }

  @Test("the live view has a place for beacons, and opens none of them by its row")
  func liveView() throws {
    let id = try #require(BluetoothUUID(uuid))
    var table = NearbyTable()
    var survey = BeaconSurvey(constraints: [], now: .zero)
    var strap = NearbyTableTests.sighting(9, rssi: -50, name: "Strap")
    strap.isConnectable = true
    table.hear(strap, now: .zero)
    for minor: UInt16 in 1...3 {
      let beacon = IBeacon(uuid: id, major: 1, minor: minor, powerAtOneMetre: -59)
      var heard = NearbyTableTests.sighting(Int(minor), rssi: -50 - 10 * Int(minor))
      heard.address = DeviceAddress(bits: UInt64(minor), kind: .random)
      heard.manufacturerData = beacon.manufacturerData
      // One that takes connections is a device, too.
      heard.isConnectable = minor == 3
      table.hear(heard, now: .zero)
      survey.hear(heard, now: .zero)
    }
    survey.hear(sighting([0x4C, 0, 0x02, 0x15]), now: .zero)
    _ = survey.wake(now: .zero + .seconds(1))
    let beacons = BeaconList(survey)
    func lines(_ columns: Int, _ rows: Int, _ view: LiveView = LiveView()) -> [String] {
      NearbyScreen(
        size: .init(columns: columns, rows: rows), style: .plain, radio: "simulated radio",
        view: view
      ).lines(table, NetworkTable(), beacons: beacons, now: .zero + .seconds(1))
    }
    let shown = lines(80, 24)
    #expect(shown.first?.hasSuffix("2 nearby, 3 beacons · 1 malformed") == true, "\(shown)")
    let title = try #require(shown.firstIndex { $0.hasPrefix("  Beacons") })
    let rows = shown[(title + 1)...].prefix(3)
    #expect(rows.allSatisfy { $0.contains("–") && $0.contains(" m ") && $0.contains("iBeacon") })
    #expect(rows.first?.hasPrefix("  1/1 E2C5") == true)
    #expect(rows.allSatisfy { $0.contains { "▁▂▃▄▅▆▇█".contains($0) } })
    #expect(shown.filter { $0.contains("000000000001") }.isEmpty)
    #expect(shown.contains { $0.contains("000000000003") })
    for columns in [20, 40, 60, 80, 100, 132, 200] {
      for count in [6, 10, 24] {
        let all = lines(columns, count)
        #expect(all.count <= count)
        #expect(all.allSatisfy { Fit.width($0) <= columns }, "\(columns)")
      }
    }
    // Before the first report they are no devices either; silent ones are.
    survey.setScanning(false, now: .zero + .seconds(1))
    let screen = NearbyScreen(
      size: .init(columns: 80, rows: 24), style: .plain, radio: "simulated radio")
    for (seconds, isListed) in [(Int64(2), false), (60, true)] {
      let later = screen.lines(
        table, NetworkTable(), beacons: BeaconList(survey), now: .zero + .seconds(seconds))
      #expect(later.contains { $0.contains("000000000001") } == isListed)
    }
    var view = LiveView()
    for key in "/1/2" { _ = view.press(.character(key), devices: [], page: 10) }
    let filtered = lines(80, 24, view)
    #expect(filtered.contains { $0.contains("1/2 E2C5") })
    #expect(!filtered.contains { $0.contains("1/1 E2C5") })
  }

  @Test("a sparkline goes from -100 dBm to -40 dBm")
  func sparkline() {
    #expect(BeaconText.sparkline([-120, -100, -70, -41, -40, 20]) == "▁▁▅███")
    #expect(
      BeaconText.interval(DistanceEstimate(metres: 2, logarithmicSigma: 0.5)) == "1.2–3.3 m")
    #expect(
      BeaconText.interval(DistanceEstimate(metres: 40, logarithmicSigma: 0.5)) == "24–66 m")
  }

  @Test("every key of the beacon commands is documented")
  func documented() throws {
    let path = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      .appending(path: "../../docs/json.md").standardizedFileURL
    let text = try String(contentsOf: path, encoding: .utf8)
    for key in [
      "ranged", "format", "beacon", "uuid", "major", "minor", "address", "proximity", "distance",
      "from", "to", "median", "accuracy", "rssi", "level", "enter", "exit", "region", "power",
      "malformed", "count",
    ] {
      #expect(text.contains("`\(key)`"), "\(key)")
    }
  }
}
