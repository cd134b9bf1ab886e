import AmbitCLI
import BeaconMachines
import Binding
import Essentials
import Reactive

/// The details of one item: its advertising data, and its attributes once it is connected.
final class NearbyDetail: ViewModel {
  let openID = MutableProperty<String?>(nil)
  let isOpen: Property<Bool>
  /// Whether the item to be opened isn't known, as that of an address may be.
  let isAwaited: Property<Bool>
  let title: Property<String>
  let subtitle: Property<String>
  let fields: Property<[DetailField]>
  let points: Property<String>
  let strength: Property<String>
  /// `true` or `false`, the value of `aria-pressed`.
  let isStarred: Property<String>
  let isHidden: Property<String>
  let isConnectable: Property<Bool>
  let isConnected: Property<Bool>
  let state: Property<String>
  let message: Property<String?>
  let isBondLost: Property<Bool>
  let attributes: Property<[AttributeRow]>
  let star: Action<Void, Never, Never>
  let hide: Action<Void, Never, Never>
  let connect: Action<Void, Never, Never>
  let disconnect: Action<Void, Never, Never>
  let reconnect: Action<Void, Never, Never>
  let forgetBond: Action<Void, Never, Never>
  let close: Action<Void, Never, Never>

  static let bindings: Bindings<NearbyDetail> = [
    "id": .twoWay(\.openID), "isOpen": .oneWay(\.isOpen), "isAwaited": .oneWay(\.isAwaited),
    "title": .oneWay(\.title),
    "subtitle": .oneWay(\.subtitle),
    "fields": .list(
      \.fields, ["name": .value(\.name), "value": .value(\.value), "bytes": .value(\.bytes)]),
    "points": .oneWay(\.points), "strength": .oneWay(\.strength),
    "isStarred": .oneWay(\.isStarred), "isHidden": .oneWay(\.isHidden),
    "isConnectable": .oneWay(\.isConnectable), "isConnected": .oneWay(\.isConnected),
    "state": .oneWay(\.state), "message": .oneWay(\.message),
    "isBondLost": .oneWay(\.isBondLost), "forgetBond": .action(\.forgetBond),
    "reconnect": .action(\.reconnect),
    "attributes": .list(\.attributes), "star": .action(\.star), "hide": .action(\.hide),
    "connect": .action(\.connect), "disconnect": .action(\.disconnect), "close": .action(\.close),
  ]

  init(_ nearby: Nearby) {
    let openID = openID
    let item = Property.combineLatest(openID, nearby.snapshot)
      .map { id, snapshot in snapshot.items.first { $0.id == id } }
    isOpen = item.map { $0 != nil }.skipRepeats()
    // The page's address sets an empty one, too: that without an open item.
    isAwaited = openID.combineLatest(with: item).map { $0 ?? "" != "" && $1 == nil }.skipRepeats()
    title = item.map { $0?.title ?? "" }.skipRepeats()
    subtitle = item.combineLatest(with: nearby.snapshot)
      .map { Self.subtitle($0, now: $1.now) }.skipRepeats()
    points = item.map { $0?.levels.points ?? "" }.skipRepeats()
    strength = item.map { $0?.strength.map(NearbyRow.text(dBm:)) ?? "" }.skipRepeats()
    isConnectable = item.map { $0?.sighting.map { $0.isConnectable != false } ?? false }
      .skipRepeats()
    let marks = openID.combineLatest(with: nearby.marks)
    isStarred = marks.map { id, marks in "\(id.map(marks.starred.contains) ?? false)" }
      .skipRepeats()
    isHidden = marks.map { id, marks in "\(id.map(marks.hidden.contains) ?? false)" }.skipRepeats()

    let heard = item.combineLatest(with: nearby.snapshot).map { Self.fields(of: $0, in: $1) }
    let network = item.map { $0?.network }.skipRepeats()
    let resolved = Property(
      initial: [],
      then: network.producer.flatMap(.latest) { Self.fields(of: $0, nearby.resolve) }
        .observe(on: UIScheduler()))
    fields = heard.combineLatest(with: resolved).map { $0.isEmpty ? $1 : $0 }.skipRepeats()

    let device = Property.combineLatest(openID, nearby.connected)
      .map { id, devices in id.flatMap { devices[$0] } }
    isConnected = device.map { $0 != nil }.skipRepeats()
    let none = Property<[AttributeRow]>(value: [])
    attributes = device.flatMap(.latest) { device in
      device.map { Property(capturing: $0.attributes) } ?? none
    }
    let silence = Property(value: "")
    state = device.flatMap(.latest) { $0.map { Property(capturing: $0.state) } ?? silence }
    let nothing = Property<String?>(value: nil)
    message = device.flatMap(.latest) { $0.map { Property(capturing: $0.message) } ?? nothing }
    let no = Property(value: false)
    isBondLost = device.flatMap(.latest) { $0.map { Property(capturing: $0.isBondLost) } ?? no }

    let act = { (body: @escaping @MainActor @Sendable (String) -> Void) in
      Action<Void, Never, Never>(onMainActor: { if let id = openID.value { body(id) } })
    }
    star = act(nearby.toggleStar)
    hide = act(nearby.toggleHidden)
    connect = act(nearby.connectDevice)
    disconnect = act(nearby.disconnectDevice)
    reconnect = act(nearby.reconnectDevice)
    forgetBond = act(nearby.forgetBond)
    close = act { _ in openID.value = nil }
  }

  /// Opens an item, in place of the one that is open.
  func open(_ id: String) { openID.value = id }

  private nonisolated static func subtitle(_ item: NearbyItem?, now: Instant) -> String {
    guard let item else { return "" }
    var parts = [item.kind.rawValue, item.company ?? "", item.distance ?? ""]
    switch item.presence {
    case .here: break
    case .fading, .gone: parts.append("seen \(Age.text(now - item.lastSeen)) ago")
    }
    return parts.filter { !$0.isEmpty }.joined(separator: " · ")
  }

  /// The fields of an advertisement. A beacon is also a region, with an exit delay.
  private nonisolated static func fields(
    of item: NearbyItem?, in snapshot: Nearby.Snapshot
  ) -> [DetailField] {
    guard let item, let sighting = item.sighting else { return [] }
    let fields = DetailField.all(of: sighting)
    guard item.kind == .beacon else { return fields }
    let isInside = snapshot.now - item.lastSeen < RegionMonitor.Settings().exitDelay
    let state = snapshot.problem != nil ? "unknown" : isInside ? "inside" : "outside"
    return DetailField.numbered(fields + [DetailField(name: "Region", value: state)])
  }

  /// Emits the known fields of a service at once, and again with the resolved ones.
  private nonisolated static func fields(
    of row: NetworkTable.Row?, _ resolve: @escaping Nearby.ServiceLookup
  ) -> SignalProducer<[DetailField], Never> {
    guard let row else { return SignalProducer(value: []) }
    let known = DetailField.all(of: row)
    return SignalProducer { () async throws(Never) in
      DetailField.numbered(known + (await resolve(row)))
    }.prefix(value: known)
  }
}
