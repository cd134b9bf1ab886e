import BeaconMachines
import BluetoothInterface
import BluetoothWire
import Dispatch
import Essentials
import Reactive
import Testing

@testable import AmbitCLI
@testable import AmbitPage

@Suite("The view model of the page")
@MainActor
struct NearbyPageTests {
  /// A page, what it looks at, and its clock.
  @MainActor
  private final class Rig {
    let scheduler = TestScheduler()
    let nearby = Nearby()
    let page: NearbyPage
    var table = NearbyTable()
    var network: [NetworkTable.Row] = []
    var now = Instant.zero

    init() { page = NearbyPage(nearby, scheduler: scheduler) }

    func hear(_ name: String, rssi: Int = -60, _ change: (inout Sighting) -> Void = { _ in }) {
      var sighting = Sighting(identifier: "ID-" + name)
      sighting.name = name
      sighting.rssi = rssi
      change(&sighting)
      table.hear(sighting, now: now)
    }

    func pass(_ seconds: Int64 = 0, problem: String? = nil) {
      now = now + .seconds(seconds)
      table.forget(now: now)
      nearby.update(
        devices: table.byArrival, network: network, beacons: [], problem: problem, now: now)
    }

    var titles: [String] { page.items.value.map(\.title) }
    func row(_ title: String) throws -> NearbyRow {
      try #require(page.items.value.first { $0.title == title })
    }

    func type(_ text: String) {
      page.text.value = text
      scheduler.advance(by: .milliseconds(500))
    }
  }

  @Test("devices are let go a minute after the last page was left, and ten after it was hidden")
  func visits() {
    let nearby = Nearby()
    func isOver(_ seconds: Int64, hasDevices: Bool = true) -> Bool {
      nearby.visits.isOver(hasDevices: hasDevices, now: .zero + .seconds(seconds))
    }
    let scheduler = TestScheduler()
    var first: NearbyPage? = NearbyPage(nearby, scheduler: scheduler)
    var second: NearbyPage? = NearbyPage(nearby, scheduler: scheduler)
    first?.appeared()
    second?.appeared()
    #expect(!isOver(0) && !isOver(1_000))
    first?.disappeared()
    first = nil
    #expect(!isOver(1_001) && !isOver(2_000), "the other one is shown")
    second?.disappeared()
    #expect(!isOver(3_000) && !isOver(3_599) && isOver(3_600), "it is hidden")
    second?.appeared()
    #expect(!isOver(3_700), "it is shown again")
    second?.disappeared()
    #expect(!isOver(3_800, hasDevices: false) && !isOver(4_000), "a device is connected later")
    second = nil
    #expect(!isOver(4_059) && isOver(4_060), "it was left")
  }

  @Test("the page lists nearby devices in order of arrival, whatever their signal strength")
  func stableOrder() {
    let rig = Rig()
    for name in ["Lamp", "Strap", "Door"] { rig.hear(name, rssi: -70) }
    rig.pass()
    rig.hear("Door", rssi: -40)
    rig.hear("Clock", rssi: -30)
    rig.pass(1)
    #expect(rig.titles == ["Lamp", "Strap", "Door", "Clock"])
    #expect(rig.page.summary.value == "4 nearby")
  }

  @Test("the page reports when there are more devices than rows, and when no device matches")
  func full() {
    let rig = Rig()
    for number in 0..<NearbyTable.Limits.deviceCount - 1 { rig.hear("\(number)") }
    rig.pass()
    #expect(rig.page.summary.value == "1999 nearby")
    for name in ["Lamp", "Strap"] { rig.hear(name) }
    rig.pass()
    #expect(rig.page.summary.value == "2000 nearby; no room for more devices")
    #expect(!rig.page.isNothingListed.value)
    // A browser gets as many as it can show.
    #expect(rig.page.items.value.count == 200)
    #expect(rig.page.moreText.value == "Show 200 of 1800 more")
    rig.page.showMore.apply().start()
    #expect(rig.page.items.value.count == 400)
    #expect(rig.page.moreText.value == "Show 200 of 1600 more")
    rig.type("lamp")
    #expect(rig.titles == ["Lamp"], "searches go over all")
    #expect(rig.page.moreText.value == nil)
    rig.type("strap")
    #expect(rig.page.isNothingListed.value)
    rig.page.clearFilters.apply().start()
    #expect(rig.page.items.value.count == 200, "what is filtered anew begins anew")
    rig.page.star.apply("ID-Lamp").start()
    rig.page.open.apply("ID-1500").start()
    #expect(rig.titles.suffix(2) == ["1500", "Lamp"], "what one works with is listed")
    #expect(rig.page.moreText.value == "Show 200 of 1798 more")
  }

  @Test("the page sorts its rows when the button is clicked, and doesn't resort them afterwards")
  func sorting() {
    let rig = Rig()
    for (name, rssi) in [("Lamp", -70), ("Strap", -50), ("Door", -90)] {
      rig.hear(name, rssi: rssi)
    }
    rig.pass()
    rig.page.order.value = .strength
    #expect(rig.titles == ["Strap", "Lamp", "Door"])
    for _ in 0..<20 {
      rig.hear("Door", rssi: -30)
      rig.pass(1)
    }
    rig.hear("Anvil")
    rig.pass()
    #expect(rig.titles == ["Strap", "Lamp", "Door", "Anvil"])
    rig.page.sort.apply().start()
    #expect(rig.titles == ["Door", "Strap", "Anvil", "Lamp"])
    rig.page.order.value = .name
    #expect(rig.titles == ["Anvil", "Door", "Lamp", "Strap"])
  }

  @Test("a device that falls silent fades, then leaves, and is still found by searching")
  func presence() throws {
    let rig = Rig()
    rig.hear("Lamp")
    rig.pass()
    #expect(try !rig.row("Lamp").isFading)
    rig.pass(16)
    #expect(try rig.row("Lamp").isFading)
    #expect(try rig.row("Lamp").seen == "15 s")
    rig.pass(105)
    #expect(rig.titles == [])
    #expect(rig.page.summary.value == "Listening …")
    rig.type("lamp")
    #expect(rig.titles == ["Lamp"])
    // Back again, it is the same.
    rig.hear("Lamp")
    rig.pass()
    rig.type("")
    #expect(rig.titles == ["Lamp"])
    #expect(try !rig.row("Lamp").isFading)
  }

  @Test(
    "the page searches from three characters on, half a second after the last, or clears at once")
  func searching() {
    let rig = Rig()
    for name in ["Heart strap", "Heart lamp", "Door"] { rig.hear(name) }
    rig.pass()
    rig.type("he")
    #expect(rig.titles.count == 3)
    rig.page.text.value = "hear"
    rig.scheduler.advance(by: .milliseconds(400))
    #expect(rig.titles.count == 3)
    rig.page.text.value = "heart la"
    rig.scheduler.advance(by: .milliseconds(400))
    #expect(rig.titles.count == 3)
    rig.scheduler.advance(by: .milliseconds(100))
    #expect(rig.titles == ["Heart lamp"])
    #expect(rig.page.summary.value == "1 of all items seen")
    rig.page.text.value = "h"
    #expect(rig.titles.count == 3)
  }

  @Test("filters combine: kind, company, service, strength, stars, new devices only")
  func filters() throws {
    let rig = Rig()
    rig.hear("Strap", rssi: -50) { $0.services = [0x180D, 0x180F] }
    rig.hear("Battery", rssi: -80) { $0.services = [0x180F] }
    rig.hear("Tag", rssi: -50) { $0.manufacturerData = [0x4C, 0x00, 0x10, 0x05] }
    rig.pass()
    #expect(rig.page.companies.value.map(\.text) == ["Apple, Inc. (1)"])
    #expect(rig.page.services.value.map(\.text) == ["Battery (2)", "Heart Rate (1)"])
    rig.page.service.value = "Battery"
    #expect(rig.titles == ["Strap", "Battery"])
    rig.page.minimumStrength.value = -60
    #expect(rig.titles == ["Strap"])
    #expect(rig.page.strengthText.value == "≥ −60 dBm")
    rig.page.company.value = "Apple, Inc."
    #expect(rig.titles == [])
    rig.page.isNewOnly.value = true
    #expect(rig.page.isFiltered.value)
    rig.page.clearFilters.apply().start()
    #expect(rig.titles.count == 3)
    #expect(!rig.page.isFiltered.value)
    rig.page.star.apply("ID-Tag").start()
    rig.page.isStarredOnly.value = true
    #expect(rig.titles == ["Tag"])
    rig.page.isStarredOnly.value = false
    rig.page.markAllSeen.apply().start()
    rig.page.isNewOnly.value = true
    #expect(rig.titles == [])
    rig.hear("Newcomer")
    rig.pass()
    #expect(rig.titles == ["Newcomer"])
    #expect(try rig.row("Newcomer").isNew)
  }

  @Test("hidden devices are shown only on request, in all tabs")
  func hiding() {
    let rig = Rig()
    for name in ["Lamp", "Strap"] { rig.hear(name) }
    rig.pass()
    let other = NearbyPage(rig.nearby, scheduler: rig.scheduler)
    rig.page.hide.apply("ID-Lamp").start()
    #expect(rig.titles == ["Strap"])
    #expect(other.items.value.map(\.title) == ["Strap"])
    other.showsHidden.value = true
    #expect(other.items.value.map(\.title) == ["Lamp", "Strap"])
    #expect(rig.titles == ["Strap"])
    // Only a device that was seen can be marked.
    rig.page.hide.apply("nobody").start()
    #expect(rig.nearby.marks.value.hidden == ["ID-Lamp"])
  }

  @Test("the page draws the last minute of a device's strength, with gaps where it was silent")
  func sparkline() throws {
    let rig = Rig()
    for second in stride(from: 0, to: 80, by: 2) {
      if second != 76 { rig.hear("Lamp", rssi: -65) }
      rig.pass()
      rig.now = rig.now + .seconds(2)
    }
    let points = try rig.row("Lamp").points.split(separator: " ")
    #expect(points.count == LevelHistory.count - 1)
    #expect(points.first == "0,8")
    #expect(points.last == "58,8")
    #expect(!points.contains { $0.hasPrefix("56,") })
  }

  @Test("the page opens a device and shows field by field what it advertises")
  func detail() {
    let rig = Rig()
    rig.hear("Lamp") {
      $0.services = [0x180F]
      $0.manufacturerData = [0x4C, 0x00, 0x10, 0x05]
    }
    rig.pass()
    rig.page.open.apply("ID-Lamp").start()
    let detail = rig.page.detail
    #expect(detail.isOpen.value && detail.title.value == "Lamp")
    let fields = detail.fields.value
    #expect(fields.contains { $0.name == "Service" && $0.value == "Battery (180F)" })
    #expect(
      fields.contains {
        $0.name == "Manufacturer data" && $0.value == "Apple, Inc." && $0.bytes == "10 05"
      })
    #expect(rig.page.items.value.first?.isOpen == true)
    detail.close.apply().start()
    #expect(!detail.isOpen.value)
    #expect(!detail.isAwaited.value)
    // An item that isn't known, as an address may name it, is opened as soon as it is.
    rig.page.open.apply("ID-Torch").start()
    #expect(!detail.isOpen.value && detail.isAwaited.value)
    rig.hear("Torch")
    rig.pass()
    #expect(detail.isOpen.value && !detail.isAwaited.value && detail.title.value == "Torch")
    rig.page.open.apply("nobody").start()
    #expect(!detail.isOpen.value && detail.isAwaited.value)
    detail.close.apply().start()
    #expect(!detail.isAwaited.value)
  }

  @Test("the page shows whether it is inside a beacon's region, with the exit delay of regions")
  func region() {
    let rig = Rig()
    let uuid: [UInt8] = Array(1...16)
    rig.hear("Exhibit") {
      $0.manufacturerData = [0x4C, 0x00, 0x02, 0x15] + uuid + [0, 1, 0, 2, 0xC5]
    }
    rig.pass()
    rig.page.open.apply("ID-Exhibit").start()
    func value(_ name: String) -> String? {
      rig.page.detail.fields.value.first { $0.name == name }?.value
    }
    #expect(value("Major") == "1" && value("Minor") == "2" && value("Power at 1 m") == "−59 dBm")
    #expect(value("Region") == "inside")
    rig.pass(29)
    #expect(value("Region") == "inside")
    rig.pass(1)
    #expect(value("Region") == "outside")
    rig.pass(problem: "the radio is off")
    #expect(value("Region") == "unknown")
  }

  private static func peer(_ number: UInt64) -> DeviceAddress {
    DeviceAddress(bits: 0xC000_0000_0000 + number, kind: .random)
  }

  @Test("questions of pairings are open side by side, each with an answer of its own")
  func pairings() throws {
    var answers: [UInt64: PairingAnswer] = [:]
    let nearby = Nearby(answer: { answers[$0.rawValue] = $1 })
    let page = PairingPage(nearby)
    #expect(!page.isAsking.value && page.questions.value.isEmpty)
    nearby.ask(PairingQuestion(peer: Self.peer(1), prompt: .enterPasskey, id: .init(rawValue: 1)))
    let first = try #require(page.questions.value.first)
    #expect(page.isAsking.value && first.needsPasskey)
    for wrong in ["", "abc", "1234567", "12345", "+12345", "-1"] {
      first.passkey.value = wrong
      #expect(!first.accept.isEnabled.value, "\(wrong)")
    }
    first.passkey.value = "012 345"
    nearby.ask(
      PairingQuestion(peer: Self.peer(2), prompt: .compareNumber(123_456), id: .init(rawValue: 2)))
    nearby.ask(PairingQuestion(peer: Self.peer(3), prompt: .consent, id: .init(rawValue: 3)))
    #expect(page.questions.value.map(\.id) == ["1", "2", "3"])
    #expect(page.questions.value.first === first, "the typed passkey stays")
    let second = page.questions.value[1]
    #expect(second.text == "Does \(Self.peer(2)) show 123456?" && !second.needsPasskey)
    // The second is answered before the first.
    second.reject.apply().start()
    #expect(answers[2] == .reject && answers.count == 1)
    #expect(page.questions.value.map(\.id) == ["1", "3"])
    second.accept.apply().start()
    #expect(answers[2] == .reject && answers.count == 1, "it was answered")
    first.accept.apply().start()
    #expect(answers[1] == .passkey(12_345))
    // The pairing ends before there is an answer: none is sent any more.
    let third = try #require(page.questions.value.first)
    nearby.pairingEnded(with: Self.peer(3), because: "timeout")
    #expect(!page.isAsking.value && page.questions.value.isEmpty)
    third.accept.apply().start()
    #expect(answers.count == 2)
  }

  @Test("a page shows the oldest of many questions, and how many more are open")
  func manyPairings() throws {
    let nearby = Nearby()
    let page = PairingPage(nearby)
    let count = PairingPage.shownMax + 2
    for number in 1...UInt64(count) {
      nearby.ask(
        PairingQuestion(peer: Self.peer(number), prompt: .consent, id: .init(rawValue: number)))
    }
    #expect(page.questions.value.map(\.id) == (1...PairingPage.shownMax).map { "\($0)" })
    #expect(page.moreText.value == "2 more after these")
    try #require(page.questions.value.first).reject.apply().start()
    #expect(page.questions.value.last?.id == "\(PairingPage.shownMax + 1)")
    nearby.pairingEnded(with: Self.peer(UInt64(count)), because: nil)
    #expect(page.moreText.value == nil)
    #expect(page.questions.value.count == PairingPage.shownMax)
  }

  @Test("a device that is connected or starred stays, however long it is silent")
  func kept() {
    var history = NearbyHistory()
    var table = NearbyTable()
    for name in ["connected", "starred", "neither"] {
      table.hear(Sighting(identifier: name), now: .zero)
    }
    history.update(devices: table.byArrival, network: [], beacons: [], now: .zero)
    var crowd = NearbyTable()
    let now = Instant.zero + .seconds(600)
    for batch in 0..<3 {
      crowd = NearbyTable()
      for number in 0..<2_000 {
        crowd.hear(Sighting(identifier: "\(batch)-\(number)"), now: now)
      }
      history.update(
        devices: crowd.byArrival, network: [], beacons: [], connected: ["connected"],
        kept: ["starred"], now: now)
    }
    #expect(history["connected"]?.presence == .here)
    #expect(history["starred"]?.presence == .gone)
    #expect(history["neither"] == nil)
  }

  @Test("the page keeps at most 5,000 items, and forgets those that were silent for longest")
  func bounds() {
    var history = NearbyHistory()
    var now = Instant.zero
    for batch in 0..<6 {
      var table = NearbyTable()
      for number in 0..<1_000 {
        var sighting = Sighting(identifier: "\(batch)-\(number)")
        sighting.rssi = -60
        table.hear(sighting, now: now)
      }
      history.update(devices: table.byArrival, network: [], beacons: [], now: now)
      now = now + .seconds(1)
    }
    #expect(history.items.count == NearbyHistory.Limits.itemCount)
    #expect(history["0-0"] == nil && history["1-0"] != nil && history["5-999"] != nil)
  }
}

@Suite("Values as the page shows them")
struct ShownValueTests {
  @Test("values are shown as bytes, as a number and as the standard's text; numbers are charted")
  func values() {
    var value = ShownValue()
    value.show([0x00, 72], of: 0x2A37)
    #expect(value.hex == "00 48")
    #expect(value.number == "18432")
    #expect(value.text?.decoded?.hasPrefix("72") == true)
    value.show([0x00, 80], of: 0x2A37)
    #expect(value.chart.values == [72, 80])
    #expect(value.chart.points == "236,46 238,2")
    value.show([], of: 0x2A37)
    #expect(value.hex == "(empty)" && value.number == "")
    value.show(Array(repeating: 0xFF, count: 9), of: 0xABCD)
    #expect(value.number == "")
  }

  @Test("values of non-standard characteristics are charted, too; texts are not")
  func foreignValues() {
    var value = ShownValue()
    value.show([0x34, 0x08], of: 0xABCD)
    value.show([0x39, 0x05, 0x00, 0x00], of: 0xABCD)
    #expect(value.number == "1337")
    #expect(value.chart.values == [2_100, 1_337])
    #expect(value.chart.label(of: value.chart.values.max()) == "2100")
    // Appearance: the standard decodes it to a word.
    value.show([0x40, 0x05], of: 0x2A01)
    #expect(value.chart.values.last == 1_344)
    var text = ShownValue()
    text.show(Array("Model 2".utf8), of: 0x2A24)
    text.show(Array("hello 5".utf8), of: 0xABCD)
    #expect(text.number == "" && text.chart.values == [])
  }

  @Test("a chart is as wide as its column, and values that are no numbers have none")
  func chart() {
    var chart = ValueChart()
    for value in 0..<500 { chart.add(Double(value)) }
    chart.add(.infinity)
    chart.add(.nan)
    #expect(chart.values.count == ValueChart.count)
    #expect(chart.label(of: chart.values.min()) == "380")
    #expect(chart.label(of: 21.5) == "21.5")
    #expect(chart.label(of: 1e300) == "1e+300")
    for (text, number) in [("72 bpm", 72.0), ("-4.25 °C", -4.25), ("on", nil), ("v1.2.3", nil)] {
      #expect(ValueChart.number(in: text) == number, "\(text)")
    }
  }

  @Test("pictures are drawn for listed items and nothing else")
  func pictures() throws {
    let thing = NearbyItem(
      id: "x", kind: .beacon, summary: "", firstSeen: .zero, lastSeen: .zero, number: 1)
    let svg = try #require(CoverPicture.svg(at: CoverPicture.path(of: thing)))
    #expect(svg.hasPrefix("<svg"))
    for path in [
      "picture/beacon-24.svg", "picture/beacon--1.svg", "picture/x-1.svg", "picture/.svg",
    ] {
      #expect(CoverPicture.svg(at: path) == nil, "\(path)")
    }
  }
}
