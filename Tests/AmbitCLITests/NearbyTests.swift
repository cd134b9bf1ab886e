import BluetoothWire
import Essentials
import Testing

@testable import AmbitCLI

@Suite("The table of what is nearby")
struct NearbyTableTests {
  static func sighting(_ number: Int, rssi: Int?, name: String? = nil) -> Sighting {
    let digits = String(number, radix: 16, uppercase: true)
    let group = String(repeating: "0", count: 12 - digits.count) + digits
    var sighting = Sighting(identifier: "414D4249-5400-8000-8001-\(group)")
    sighting.rssi = rssi
    sighting.name = name
    return sighting
  }

  @Test("a device that is heard again keeps its row, its name and its services")
  func merging() {
    var table = NearbyTable()
    var full = Self.sighting(1, rssi: -50, name: "Strap")
    full.services = [0x180D]
    let isNews1 = table.hear(full, now: .zero)
    #expect(isNews1)
    let isNews2 = table.hear(Self.sighting(1, rssi: -52), now: .zero + .seconds(1))
    #expect(!isNews2)
    let device = table[full.identifier]
    #expect(device?.sighting.name == "Strap")
    #expect(device?.sighting.services == [0x180D])
    #expect(table.count == 1)
  }

  @Test("a device has news when its name or data change, not when its strength does")
  func news() {
    var table = NearbyTable()
    let isNews3 = table.hear(Self.sighting(1, rssi: -50), now: .zero)
    #expect(isNews3)
    let isNews4 = table.hear(Self.sighting(1, rssi: -80), now: .zero)
    #expect(!isNews4)
    let isNews5 = table.hear(Self.sighting(1, rssi: -80, name: "Lamp"), now: .zero)
    #expect(isNews5)
  }

  @Test("rows don't jump: strength that wavers around a limit changes no order")
  func stability() {
    var table = NearbyTable()
    var random = SeededGenerator(seed: 7)
    for number in 1...20 { table.hear(Self.sighting(number, rssi: -70), now: .zero) }
    let order = table.ordered(now: .zero).map(\.number)
    var now = Instant.zero
    for _ in 0..<2_000 {
      now = now + .milliseconds(20)
      let number = Int.random(in: 1...20, using: &random)
      let rssi = -62 + Int.random(in: -5...5, using: &random)
      table.hear(Self.sighting(number, rssi: rssi), now: now)
      #expect(table.ordered(now: now).map(\.number) == order)
    }
  }

  @Test("a device that clearly comes near moves up, and one that falls silent moves down")
  func zones() {
    var table = NearbyTable()
    table.hear(Self.sighting(1, rssi: -70), now: .zero)
    table.hear(Self.sighting(2, rssi: -70), now: .zero)
    var now = Instant.zero
    for _ in 0..<600 {
      now = now + .milliseconds(100)
      table.hear(Self.sighting(1, rssi: -70), now: now)
      table.hear(Self.sighting(2, rssi: -40), now: now)
    }
    #expect(table.ordered(now: now).map(\.number) == [2, 1])
    let later = now + .seconds(20)
    table.hear(Self.sighting(1, rssi: -70), now: later)
    #expect(table.ordered(now: later).map(\.number) == [1, 2])
    table.forget(now: now + .seconds(121))
    #expect(table.count == 1)
  }

  @Test("a flood of addresses fills the table and no more")
  func flood() {
    var table = NearbyTable()
    for number in 0..<5_000 { table.hear(Self.sighting(number, rssi: -70), now: .zero) }
    #expect(table.count == NearbyTable.Limits.deviceCount)
    #expect(table.overflowCount == 5_000 - NearbyTable.Limits.deviceCount)
  }

  @Test("a loud device finds room after a flood of made-up quiet ones")
  func quietFlood() {
    var table = NearbyTable()
    for number in 0..<2_100 { table.hear(Self.sighting(number, rssi: -92), now: .zero) }
    let isNews = table.hear(Self.sighting(9_001, rssi: -45), now: .zero + .seconds(6))
    #expect(isNews && table[Self.sighting(9_001, rssi: nil).identifier] != nil)
    #expect(table.count == NearbyTable.Limits.deviceCount)
    #expect(table.overflowCount == 100 && table.displacedCount == 1)
  }

  @Test(
    "loud packets that come once displace no steady device, and a new one becomes steady among them"
  )
  func loudFlood() {
    var table = NearbyTable()
    var now = Instant.zero
    var flood = 100_000
    for second in 0..<12 {
      table.hear(Self.sighting(1, rssi: -70), now: now)
      if second >= 6 { table.hear(Self.sighting(2, rssi: -80), now: now) }
      for _ in 0..<400 {
        flood += 1
        table.hear(Self.sighting(flood, rssi: -30), now: now)
        now = now + .microseconds(2_500)
      }
    }
    #expect(table.count == NearbyTable.Limits.deviceCount && table.overflowCount > 1_000)
    #expect(table[Self.sighting(1, rssi: nil).identifier] != nil)
    #expect(table[Self.sighting(2, rssi: nil).identifier] != nil)
  }

  @Test("devices that fell silent make room before any other")
  func silentFlood() {
    var table = NearbyTable()
    for number in 0..<2_000 { table.hear(Self.sighting(number, rssi: -30), now: .zero) }
    table.hear(Self.sighting(9_001, rssi: -95), now: .zero + .seconds(1))
    #expect(table[Self.sighting(9_001, rssi: nil).identifier] == nil)
    table.hear(Self.sighting(9_001, rssi: -95), now: .zero + .seconds(16))
    #expect(table[Self.sighting(9_001, rssi: nil).identifier] != nil)
  }

  @Test("the trend shows a walk towards the device and settles when it ends")
  func trend() {
    var strength = Strength(rssi: -80, now: .zero)
    var now = Instant.zero
    for step in 0..<60 {
      now = now + .milliseconds(100)
      strength.add(rssi: -80 + step / 2, now: now)
    }
    #expect(strength.trend == .rising)
    for _ in 0..<600 {
      now = now + .milliseconds(100)
      strength.add(rssi: -50, now: now)
    }
    #expect(strength.trend == .steady)
    #expect(strength.zone == .near)
    #expect(abs(strength.shown - -50) <= 2)
  }
}

@Suite("The screen")
struct NearbyScreenTests {
  private static func table(count: Int) -> NearbyTable {
    var table = NearbyTable()
    for number in 1...max(1, count) {
      let name = number.isMultiple(of: 3) ? nil : "Gerät 部屋 \u{1B}[31m \(number)"
      var sighting = NearbyTableTests.sighting(number, rssi: -40 - number % 60, name: name)
      sighting.services = [0x180D, 0x180F]
      table.hear(sighting, now: .zero)
    }
    return table
  }

  @Test("no line is wider and no screen taller than the terminal", arguments: [1, 5, 80])
  func size(count: Int) {
    let table = Self.table(count: count)
    for columns in [20, 40, 60, 80, 100, 132, 200] {
      for rows in [6, 10, 24, 60] {
        let screen = NearbyScreen(
          size: .init(columns: columns, rows: rows), style: .plain, radio: "simulated radio",
          problem: "the radio is gone")
        let lines = screen.lines(
          table, NetworkTableTests.table(count: count), now: .zero + .seconds(3))
        #expect(lines.count <= rows, "\(columns)×\(rows)")
        if columns >= 60 {
          for line in lines { #expect(Fit.width(line) <= columns, "\(columns): \(line)") }
        }
      }
    }
  }

  @Test("each group has its title, and the last line stays at the bottom")
  func groups() {
    var table = NearbyTable()
    for (number, rssi) in [-50, -70, -55, -90].enumerated() {
      table.hear(NearbyTableTests.sighting(number, rssi: rssi, name: "D\(number)"), now: .zero)
    }
    let screen = NearbyScreen(
      size: .init(columns: 80, rows: 20), style: .plain, radio: "simulated radio")
    let lines = screen.lines(table, NetworkTable(), now: .zero)
    #expect(lines.count == 20)
    #expect(lines.last?.hasPrefix("  ↑↓ select") == true)
    let first = lines.map { $0.split(separator: " ").first ?? "" }
    #expect(
      first.dropLast().filter { !$0.isEmpty }
        == ["ambit", "NAME", "Near", "D0", "D2", "Around", "D1", "Far", "D3"])
  }

  @Test("services on the network are shown between devices in range and silent ones")
  func network() throws {
    var table = NearbyTable()
    table.hear(NearbyTableTests.sighting(1, rssi: -50, name: "Silent"), now: .zero)
    table.hear(
      NearbyTableTests.sighting(2, rssi: -50, name: "Strap"), now: .zero + .seconds(20))
    var network = NetworkTable()
    network.add(try NetworkTableTests.service("Printer", "_ipp._tcp"), on: "eth0")
    let screen = NearbyScreen(
      size: .init(columns: 80, rows: 20), style: .plain, radio: "simulated radio")
    let lines = screen.lines(table, network, now: .zero + .seconds(20))
    #expect(lines.first?.hasSuffix("2 nearby, 1 on the network") == true)
    let first = lines.map { $0.split(separator: " ").first ?? "" }
    #expect(
      first.dropLast().filter { !$0.isEmpty }
        == ["ambit", "NAME", "Near", "Strap", "On", "Printer", "Quiet", "Silent"])
  }

  @Test("a plain screen has no escapes, not even those in a device's name")
  func escapes() {
    let screen = NearbyScreen(size: .unknown, style: .plain, radio: "sim")
    let network = NetworkTableTests.table(count: 10)
    for line in screen.lines(Self.table(count: 10), network, now: .zero) {
      #expect(!line.contains("\u{1B}"))
    }
  }

  @Test("a row shows name, strength, services, age and what to type as ID")
  func row() throws {
    var table = NearbyTable()
    var sighting = NearbyTableTests.sighting(0xC0FFEE, rssi: -54, name: "Strap")
    sighting.services = [0x180D]
    table.hear(sighting, now: .zero)
    let device = try #require(table[sighting.identifier])
    let row = NearbyScreen.plainRow(device, now: .zero + .seconds(12))
    #expect(row.hasPrefix("  Strap "))
    for part in ["-54 dBm", "Heart Rate", "10 s", "000000C0FFEE"] { #expect(row.contains(part)) }
  }

  @Test(arguments: [20, 47, 48, 60, 64, 80, 100])
  func `A row of plain output fits the width of the terminal, and has the name in any case`(
    width: Int
  ) throws {
    var table = NearbyTable()
    var sighting = NearbyTableTests.sighting(0xC0FFEE, rssi: -54, name: "Strap")
    sighting.services = [0x180D, 0x180F, 0x180A]
    table.hear(sighting, now: .zero)
    let device = try #require(table[sighting.identifier])
    let row = NearbyScreen.plainRow(device, now: .zero, width: width)
    #expect(Fit.width(row) <= width && row.contains("Strap"))
  }

  @Test("a bar is empty at -100 dBm, full at -40 dBm and always as wide")
  func bar() {
    #expect(Strength.bar(rssi: -100, columns: 4) == ("", "────"))
    #expect(Strength.bar(rssi: -70, columns: 4) == ("━━", "──"))
    #expect(Strength.bar(rssi: -62, columns: 4) == ("━━╸", "─"))
    #expect(Strength.bar(rssi: -40, columns: 4) == ("━━━━", ""))
    for rssi in -130...20 {
      let bar = Strength.bar(rssi: rssi, columns: 8)
      #expect((bar.full + bar.track).count == 8)
    }
  }
}

@Suite("Text in columns")
struct FitTests {
  @Test("a column is exactly as wide as asked, whatever the script")
  func column() {
    for text in ["", "abc", "a longer text than fits", "部屋の温度計", "👩‍👩‍👧 family", "e\u{301}te\u{301}"] {
      for columns in 1...12 {
        #expect(Fit.width(Fit.column(text, columns)) == columns, "\(text) in \(columns)")
      }
    }
    #expect(Fit.column("abcdef", 4) == "abc…")
    #expect(Fit.column("7", 3, alignedRight: true) == "  7")
  }

  @Test("nothing that a terminal obeys gets through")
  func safe() {
    #expect(Fit.safe("a\u{1B}]0;owned\u{7}b") == "a\u{FFFD}]0;owned\u{FFFD}b")
    #expect(Fit.safe("\u{202E}abc") == "\u{FFFD}abc")
    #expect(Fit.safe("plain ✓") == "plain ✓")
  }
}
