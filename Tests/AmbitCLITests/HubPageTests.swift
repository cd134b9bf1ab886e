import BluetoothInterface
import Essentials
import HubClientMachines
import HubWire
import Reactive
import Testing

@testable import AmbitCLI
@testable import AmbitPage

@Suite("The hub on the page")
@MainActor
struct HubPageTests {
  private typealias State = HubWire.HubStatus

  /// A hub whose answers the test gives, and its clock.
  @MainActor
  private final class Rig {
    private(set) var readings: [HubWatch.Results.Continuation] = []
    /// How many readings have been left.
    let ends = AsyncStream<Void>.makeStream()
    var now = Instant.zero
    private(set) var watch: HubWatch?

    init() {
      watch = HubWatch(
        path: "/run/ambit/hub", now: { [unowned self] in now },
        results: { [unowned self] in
          let (results, result) = HubWatch.Results.makeStream()
          result.onTermination = { [ends] _ in ends.continuation.yield() }
          readings.append(result)
          return results
        })
    }

    /// Gives an answer, or a failure, and waits until the page shows what it makes of it.
    func give(_ result: Result<State, HubFailure>, to page: HubPage) async {
      guard let state = watch?.state else { return }
      let (changes, change) = AsyncStream<Void>.makeStream()
      let observation = state.signal.observeValues { _ in change.yield() }
      readings.last?.yield(result)
      for await _ in changes { break }
      observation?.dispose()
    }
  }

  private static func state(programCount: Int = 0) -> State {
    var state = State(
      version: "1.2.3", processID: 42, uptime: .seconds(7_500),
      radio: State.Radio(
        name: "hci0", state: .poweredOn, address: "C0:00:00:00:00:01", isSimulated: false))
    state.programs = (0..<programCount).map { number in
      State.Program(
        connection: UInt64(number), app: "app \(number)", processID: 100 + number, userID: 1_000,
        age: .seconds(65))
    }
    return state
  }

  private static func openPage(_ rig: Rig) -> HubPage {
    let page = HubPage(rig.watch)
    page.setSeen(true)
    page.toggle.apply().start()
    return page
  }

  @Test("a page without a hub has no place for one, and reads nothing")
  func without() {
    let page = NearbyPage(Nearby(), scheduler: TestScheduler())
    page.appeared()
    page.hub.toggle.apply().start()
    #expect(!page.hub.isUsed && page.hub.programs.value.isEmpty && page.hub.problem.value == nil)
    page.disappeared()
  }

  @Test("the page shows programs with what they hold and wait for, and links with their users")
  func programs() async throws {
    let rig = Rig()
    let page = Self.openPage(rig)
    #expect(!page.hasAnswered.value && page.title.value == "/run/ambit/hub")
    var state = Self.state(programCount: 2)
    state.programs[0].unit = "guide.service"
    state.programs[0].sessionCount = 1
    state.programs[0].unhandledEventCount = 63
    state.programs[0].scanCount = 2
    state.programs[0].serviceCount = 1
    state.programs[0].advertisementCount = 1
    state.programs[0].lastUse = RadioUse(.scan, age: .seconds(3))
    state.programs[1].unhandledEventCount = 7
    state.programs[1].droppedCount = 2
    state.links = [
      State.Link(peer: "C0:00:00:00:00:02", name: "Lamp", role: .central, stage: "open", users: [1])
    ]
    var network = [(100, ""), (7, "dns-sd"), (0, "")].map {
      State.NetworkProgram(processID: $0, userID: 1_000, name: $1)
    }
    network[1].serviceCount = 2
    network[1].queryCount = 1
    state.networkPrograms = network
    state.counts.refusals.otherNetworkProgramCount = 1
    state.counts.otherProgramCount = 3
    state.counts.limitedRequestCount = 4
    await rig.give(.success(state), to: page)
    #expect(page.title.value == "/run/ambit/hub, version 1.2.3, process 42, for 2 h 5 min")
    #expect(page.radio.value == "hci0, powered on, C0:00:00:00:00:01")
    #expect(page.programCount.value == "2, and 3 that are not listed")
    #expect(page.losses.value == "Refused: 4 requests. Dropped: nothing.")
    let (first, second) = (page.programs.value[0], page.programs.value[1])
    #expect(first.holds == "1 session, 2 scans, 1 advertisement, 1 service")
    #expect(first.use == "scan, 3 s ago")
    #expect(first.owner == "process 100, user 1000, guide.service, for 1 min 5 s")
    #expect(first.waits == "nothing" && first.isIdle && !first.isLosing)
    #expect(second.waits == "7 events, 2 dropped" && !second.isIdle && second.isLosing)
    let link = try #require(page.links.value.first)
    #expect(link.name == "Lamp" && link.users == "app 1" && link.state == "open")
    #expect(page.networkCount.value == "3, and 1 that are not listed")
    #expect(page.networkPrograms.value.map(\.name) == ["app 0", "dns-sd", "–"])
    #expect(
      page.networkPrograms.value.map(\.holds) == [
        "nothing", "2 services, 1 other query", "nothing",
      ])
    #expect(page.problem.value == nil && !page.isOld.value && page.hasAnswered.value)
  }

  @Test("a browser gets as many programs as it can show, and the number of the others")
  func many() async {
    let rig = Rig()
    let page = Self.openPage(rig)
    await rig.give(.success(Self.state(programCount: 4_096)), to: page)
    #expect(page.programs.value.count == 200)
    #expect(page.programCount.value == "200, and 3896 that are not listed")
  }

  @Test("sessions of one program and a peer's requests have rows of different names")
  func names() async {
    let rig = Rig()
    let page = Self.openPage(rig)
    var state = Self.state(programCount: 2)
    state.programs[1].connection = state.programs[0].connection
    state.links = ["open", "pending"].map { State.Link(peer: "C0:00:00:00:00:02", stage: $0) }
    await rig.give(.success(state), to: page)
    #expect(Set(page.programs.value.map(\.id)).count == 2)
    #expect(Set(page.links.value.map(\.id)).count == 2)
  }

  @Test(
    "a hub that is silent, ended or refuses is shown with the reason, and what is shown as old",
    arguments: [
      HubFailure.silent, .ended, .notBelieved(userID: 7), .refused(HubRefusal(.denied, "Not you.")),
    ])
  func failures(_ failure: HubFailure) async {
    let rig = Rig()
    let page = Self.openPage(rig)
    await rig.give(.failure(failure), to: page)
    #expect(page.problem.value == failure.sentence && !page.isOld.value && !page.hasAnswered.value)
    await rig.give(.success(Self.state(programCount: 1)), to: page)
    #expect(page.problem.value == nil && !page.isOld.value)
    rig.now = rig.now + .seconds(12)
    await rig.give(.failure(failure), to: page)
    #expect(page.problem.value == failure.sentence + " This is from 12 s before.")
    #expect(page.isOld.value && page.programs.value.count == 1)
    await rig.give(.success(Self.state()), to: page)
    #expect(page.problem.value == nil && !page.isOld.value && page.programs.value.isEmpty)
  }

  @Test("a problem of the hub's radio is shown, and nothing is old")
  func radio() async {
    let rig = Rig()
    let page = Self.openPage(rig)
    var state = Self.state()
    state.radio.problem = "The controller was unplugged."
    await rig.give(.success(state), to: page)
    #expect(page.problem.value == "The controller was unplugged." && !page.isOld.value)
    state.networkProblem = "The units are old."
    await rig.give(.success(state), to: page)
    #expect(page.problem.value == "The controller was unplugged. The units are old.")
  }

  @Test("the hub is read once for all pages, and only while one of them is seen and shows it")
  func reading() async {
    let rig = Rig()
    let pages = [HubPage(rig.watch), HubPage(rig.watch)]
    for page in pages { page.setSeen(true) }
    #expect(rig.readings.isEmpty, "no page shows it")
    for page in pages { page.toggle.apply().start() }
    #expect(rig.readings.count == 1)
    await rig.give(.success(Self.state(programCount: 1)), to: pages[0])
    #expect(pages.allSatisfy { $0.programs.value.count == 1 })
    pages[0].setSeen(false)
    pages[1].toggle.apply().start()
    for await _ in rig.ends.stream { break }
    // What a page shows that comes back is not what was there before.
    pages[0].setSeen(true)
    #expect(rig.readings.count == 2 && !pages[0].hasAnswered.value)
    pages[0].setSeen(false)
    pages[0].setSeen(false)
    for await _ in rig.ends.stream { break }
  }
}
