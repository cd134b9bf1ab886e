import AmbitCLI
import Binding
import BluetoothInterface
import Essentials
import HubClientMachines
import HubWire
import Reactive

/// The hub whose radio the page's program uses, as one tab shows it: its programs, and its links with their
/// users.
final class HubPage: ViewModel {
  /// The number of programs, and of links, that are shown: a browser that lays out thousands of rows with each
  /// answer does nothing else.
  nonisolated static let shownMax = 200

  /// Whether there is a hub. The page has no place for one otherwise.
  let isUsed: Bool
  let isOpen = MutableProperty(false)
  /// `true` or `false`, the value of `aria-expanded`.
  let isExpanded: Property<String>
  let toggle: Action<Void, Never, Never>
  /// The hub, its version, and for how long it has run.
  let title: Property<String>
  let radio: Property<String>
  /// What the hub has refused, and what slow programs have missed.
  let losses: Property<String>
  /// The reason why the page is old or empty; nil where it is as the hub answered.
  let problem: Property<String?>
  /// Whether the page shows an old state.
  let isOld: Property<Bool>
  let hasAnswered: Property<Bool>
  let programs: Property<[HubProgramRow]>
  let links: Property<[HubLinkRow]>
  let programCount: Property<String>
  let linkCount: Property<String>
  /// The programs of the hub's Multicast DNS.
  let networkPrograms: Property<[HubNetworkRow]>
  /// Their number; nil without such programs.
  let networkCount: Property<String?>

  private let watch: HubWatch?
  private var isSeen = false
  private var isWatching = false

  static let bindings: Bindings<HubPage> = [
    "isUsed": .value(\.isUsed), "isOpen": .oneWay(\.isOpen),
    "isExpanded": .oneWay(\.isExpanded), "toggle": .action(\.toggle),
    "title": .oneWay(\.title), "radio": .oneWay(\.radio), "losses": .oneWay(\.losses),
    "problem": .oneWay(\.problem), "isOld": .oneWay(\.isOld),
    "hasAnswered": .oneWay(\.hasAnswered),
    "programs": .list(
      \.programs,
      [
        "name": .value(\.name), "owner": .value(\.owner), "use": .value(\.use),
        "holds": .value(\.holds), "waits": .value(\.waits), "isIdle": .value(\.isIdle),
        "isLosing": .value(\.isLosing),
      ]),
    "links": .list(
      \.links,
      [
        "name": .value(\.name), "address": .value(\.address), "role": .value(\.role),
        "state": .value(\.state), "users": .value(\.users),
      ]),
    "networkPrograms": .list(
      \.networkPrograms,
      ["name": .value(\.name), "owner": .value(\.owner), "holds": .value(\.holds)]),
    "programCount": .oneWay(\.programCount), "linkCount": .oneWay(\.linkCount),
    "networkCount": .oneWay(\.networkCount),
  ]

  /// - Parameter watch: Reads the hub's state; nil without a hub.
  init(_ watch: HubWatch?) {
    self.watch = watch
    isUsed = watch != nil
    isExpanded = isOpen.map { "\($0)" }
    toggle = Action(onMainActor: { [isOpen] in isOpen.modify { $0.toggle() } })
    let state = watch?.state ?? Property(value: HubWatch.State())
    let path = watch?.path ?? ""
    let status = state.map { $0.status }
    title = status.map { $0.map { HubWords.text($0, at: path) } ?? path }.skipRepeats()
    radio = status.map { $0.map { HubWords.text($0.radio) } ?? "" }.skipRepeats()
    losses = status.map { status in
      status.map {
        "Refused: \(HubWords.refused($0.counts)). Dropped: \(HubWords.dropped($0.counts))."
      } ?? ""
    }.skipRepeats()
    problem = state.map { Self.problem($0) }.skipRepeats()
    isOld = state.map { $0.failure != nil && $0.status != nil }.skipRepeats()
    hasAnswered = status.map { $0 != nil }.skipRepeats()
    programs = status.map { $0.map(HubProgramRow.rows) ?? [] }
    links = status.map { $0.map(HubLinkRow.rows) ?? [] }
    programCount = status.map { status in
      Self.count(status?.programs.count, status?.counts.otherProgramCount)
    }.skipRepeats()
    linkCount = status.map { status in
      Self.count(status?.links.count, status?.counts.otherLinkCount)
    }.skipRepeats()
    networkPrograms = status.map { $0.map(HubNetworkRow.rows) ?? [] }
    networkCount = status.map { status in
      let (count, otherCount) = (
        status?.networkPrograms.count ?? 0, status?.counts.refusals.otherNetworkProgramCount ?? 0
      )
      return count + otherCount > 0 ? Self.count(count, otherCount) : nil
    }.skipRepeats()
    isOpen.signal.skipRepeats().observeValues(on: UIScheduler()) { [weak self] _ in self?.follow() }
  }

  /// The page is seen, or not any longer.
  func setSeen(_ isSeen: Bool) {
    self.isSeen = isSeen
    follow()
  }

  /// Has the state read as long as it is seen.
  private func follow() {
    let watches = isSeen && isOpen.value
    guard watches != isWatching else { return }
    isWatching = watches
    if watches { watch?.begin() } else { watch?.end() }
  }

  /// The sentence about a failure, or about the problems of the hub's radio and of its Multicast DNS.
  private nonisolated static func problem(_ state: HubWatch.State) -> String? {
    guard let failure = state.failure else {
      let problems = [state.status?.radio.problem, state.status?.networkProblem].compactMap(\.self)
      return problems.isEmpty ? nil : problems.joined(separator: " ")
    }
    guard let answeredAt = state.answeredAt else { return failure.reason.sentence }
    return failure.reason.sentence + " This is from "
      + "\(HubWords.text(failure.time - answeredAt)) before."
  }

  /// The number of entries, with those that are not in the rows.
  private nonisolated static func count(_ count: Int?, _ otherCount: Int?) -> String {
    let (count, otherCount) = (count ?? 0, otherCount ?? 0)
    let shown = min(count, shownMax)
    return HubWords.total(shown, count - shown + otherCount)
  }
}

/// A program of the hub as a row.
struct HubProgramRow: Identifiable, Hashable, Sendable {
  let id: String
  let name: String
  /// Its process, user and unit, and for how long it has been served.
  let owner: String
  /// Why and when it last made the radio work.
  let use: String
  let holds: String
  let waits: String
  /// Whether it waits for nothing.
  let isIdle: Bool
  /// Whether it has missed something, or is about to.
  let isLosing: Bool

  /// The rows of a state. Sessions that are kept of one program have its number, too.
  static func rows(_ status: HubWire.HubStatus) -> [HubProgramRow] {
    var counts: [UInt64: Int] = [:]
    return status.programs.prefix(HubPage.shownMax).map { program in
      let number = counts[program.connection, default: 0]
      counts[program.connection] = number + 1
      return HubProgramRow(program, id: "\(program.connection).\(number)")
    }
  }

  private init(_ program: HubWire.HubStatus.Program, id: String) {
    self.id = id
    name = program.app
    owner =
      HubWords.owner(program.processID, program.userID, unit: program.unit)
      + ", for \(HubWords.text(program.age))"
    use = program.lastUse.map(HubWords.text) ?? "–"
    holds = HubWords.holdings(of: program)
    waits = HubWords.waits(of: program)
    isLosing = program.droppedCount > 0 || program.lateCount > 0 || program.isHeldBack
    isIdle =
      !isLosing && program.requestCount == 0 && program.waitingByteCount == 0
      && HubWords.waitingEventCount(of: program) == 0 && program.keptFor == .zero
  }
}

/// A link of the hub as a row.
struct HubLinkRow: Identifiable, Hashable, Sendable {
  let id: String
  let name: String
  let address: String
  let role: String
  let state: String
  /// The programs that use it, or wait for it.
  let users: String

  static func rows(_ status: HubWire.HubStatus) -> [HubLinkRow] {
    let names = Dictionary(
      status.programs.map { ($0.connection, $0.app) }, uniquingKeysWith: { first, _ in first })
    var counts: [String: Int] = [:]
    return status.links.prefix(HubPage.shownMax).map { link in
      // A peer may have a link, and a request for the next one.
      let number = counts[link.peer, default: 0]
      counts[link.peer] = number + 1
      return HubLinkRow(link, names, id: "\(link.peer) \(number)")
    }
  }

  private init(_ link: HubWire.HubStatus.Link, _ names: [UInt64: String], id: String) {
    self.id = id
    name = link.name ?? "–"
    address = link.peer
    role = link.role?.rawValue ?? "–"
    state = HubWords.state(of: link)
    users = HubWords.users(of: link, names)
  }
}

/// A program of the hub's Multicast DNS as a row.
struct HubNetworkRow: Identifiable, Hashable, Sendable {
  let id: String
  let name: String
  let owner: String
  let holds: String

  static func rows(_ status: HubWire.HubStatus) -> [HubNetworkRow] {
    var counts: [Int: Int] = [:]
    return status.networkPrograms.prefix(HubPage.shownMax).map { program in
      // A process may have several connections, and those of containers have no numbers.
      let number = counts[program.processID, default: 0]
      counts[program.processID] = number + 1
      return HubNetworkRow(
        id: "\(program.processID).\(number)",
        name: HubWords.name(of: program, among: status.programs),
        owner: HubWords.owner(program.processID, program.userID, unit: nil),
        holds: HubWords.holdings(of: program))
    }
  }
}
