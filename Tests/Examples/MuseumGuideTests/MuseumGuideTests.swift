import Binding
import BluetoothHost
import CoreLocation
import Essentials
import Reactive
import Testing

@testable import museum_guide

/// A whole visit without a page and without a clock: only the museum's own time goes on.
@Suite("The museum guide")
@MainActor
struct MuseumGuideTests {
  private let exhibits: [Exhibit]

  init() throws { exhibits = try Exhibition.builtIn().exhibits }

  /// A visitor and the guide in his or her hand.
  private func begin(
    seed: UInt64 = 1, _ policy: LocationPolicy = .always
  ) throws -> (tour: Tour, visit: Visit, guide: MuseumGuide) {
    let tour = try Tour(floor: PackageResources.floor_json, seed: seed)
    let visit = LocationPolicy.$override.withValue(policy) {
      BluetoothHost.$current.withValue(tour.phone) { Visit(of: exhibits) }
    }
    return (tour, visit, MuseumGuide(exhibits: exhibits, visit: visit.state))
  }

  /// Walks on until something is so, a second at a time.
  private func walk(
    _ tour: Tour, seconds: Int = 600, until isDone: () -> Bool = { false }
  ) -> Bool {
    for _ in 0..<seconds {
      if isDone() { return true }
      tour.walk(for: .seconds(1))
    }
    return isDone()
  }

  @Test(
    "the guide brings each exhibit to the front once, in the order of the way", arguments: 1...4)
  func wholeVisit(seed: UInt64) throws {
    let (tour, visit, guide) = try begin(seed: seed)
    #expect(guide.place.value == "No exhibit is near yet.")
    var (entered, fronts): ([String?], [String?]) = ([nil], [nil])
    let isOver = walk(tour) {
      if visit.state.value.exhibit != entered.last { entered.append(visit.state.value.exhibit) }
      if guide.front.value != fronts.last { fronts.append(guide.front.value) }
      return guide.place.value == "You have left the museum."
    }
    #expect(isOver, "\(visit.state.value)")
    #expect(entered.compactMap(\.self) == exhibits.map(\.id), "each once")
    #expect(fronts == entered)
    #expect(visit.state.value.seen == exhibits.map(\.id))
    #expect(guide.progress.value == "8 of 8 seen")
  }

  @Test("the guide shows the exhibit here with its text, and marks it when it was left")
  func places() throws {
    let (tour, visit, guide) = try begin()
    #expect(walk(tour) { guide.place.value == "Welcome to the museum." })
    #expect(walk(tour) { guide.place.value == "You are at “\(exhibits[0].name)”." })
    #expect(guide.text.value == exhibits[0].text)
    #expect(guide.progress.value == "1 of 8 seen")
    #expect(walk(tour) { guide.place.value == "You are at “\(exhibits[1].name)”." })
    #expect(guide.text.value == exhibits[1].text)
    #expect(guide.progress.value == "2 of 8 seen")
    #expect(walk(tour) { visit.state.value.exhibit == exhibits[7].id })
    #expect(walk(tour) { guide.place.value == "You have left “\(exhibits[7].name)”." })
    #expect(guide.front.value == nil && guide.text.value == exhibits[7].text, "it can be read on")
    #expect(walk(tour) { guide.place.value == "You have left the museum." })
    #expect(walk(tour) { guide.place.value == "Welcome to the museum." })
    #expect(walk(tour) { guide.place.value == "You are at “\(exhibits[0].name)”." }, "and again")
    #expect(visit.state.value.seen == exhibits.map(\.id))
  }

  @Test("a visitor who switches following off isn't followed, and is again after switching it on")
  func follows() throws {
    let (tour, visit, guide) = try begin()
    #expect(walk(tour) { guide.front.value == exhibits[0].id })
    guide.follows.value = false
    guide.look.apply(exhibits[5].id).start()
    #expect(guide.front.value == nil && guide.text.value == exhibits[5].text)
    #expect(walk(tour) { visit.state.value.exhibit == exhibits[2].id })
    #expect(guide.front.value == nil && guide.text.value == exhibits[5].text)
    #expect(guide.place.value == "You are at “\(exhibits[2].name)”.")
    guide.follows.value = true
    #expect(guide.front.value == exhibits[2].id && guide.text.value == exhibits[2].text)
  }

  @Test("two guides of one visit are followed or not by themselves")
  func guides() throws {
    let (tour, visit, guide) = try begin()
    let other = MuseumGuide(exhibits: exhibits, visit: visit.state)
    other.follows.value = false
    #expect(walk(tour) { guide.front.value == exhibits[0].id })
    #expect(other.front.value == nil && other.place.value == guide.place.value)
    #expect(visit.state.value.exhibit == exhibits[0].id)
  }

  @Test("the guide shows that Bluetooth is off, and goes on when it is back")
  func bluetoothOff() throws {
    let (tour, visit, guide) = try begin()
    #expect(walk(tour) { visit.state.value.exhibit == exhibits[0].id })
    tour.setPowered(false)
    #expect(walk(tour) { guide.place.value == "Bluetooth is off." })
    #expect(visit.state.value.exhibit == nil)
    tour.setPowered(true)
    #expect(walk(tour) { guide.place.value.hasPrefix("You are at") })
  }

  @Test("the guide shows that it isn't authorized to use the location")
  func denied() throws {
    let (tour, visit, guide) = try begin(.denied)
    #expect(walk(tour) { guide.place.value == "The guide may not know where you are." })
    #expect(!walk(tour, seconds: 60) { guide.front.value != nil })
    #expect(visit.state.value.problem == .denied)
  }

  @Test("no exhibit is at the front when no beacon is near")
  func nobodyNear() throws {
    let tour = try Tour(floor: Array(#"{ "units": "metres" }"#.utf8))
    let visit = BluetoothHost.$current.withValue(tour.phone) { Visit(of: exhibits) }
    let guide = MuseumGuide(exhibits: exhibits, visit: visit.state)
    #expect(!walk(tour, seconds: 60) { guide.front.value != nil })
    #expect(guide.place.value == "No exhibit is near yet.")
    #expect(guide.text.value == exhibits[0].text, "the first can be read")
    #expect(visit.state.value.exhibit == nil && visit.state.value.seen == [])
  }

  @Test("beacons of other museums' exhibits are ignored by the guide")
  func unknownBeacons() throws {
    let tour = try Tour(floor: PackageResources.floor_json)
    let known = Array(exhibits.dropFirst())
    let visit = BluetoothHost.$current.withValue(tour.phone) { Visit(of: known) }
    #expect(walk(tour) { visit.state.value.exhibit != nil })
    #expect(visit.state.value.exhibit == known[0].id)
  }
}
