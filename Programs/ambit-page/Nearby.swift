import AmbitCLI
import BluetoothInterface
import BluetoothMachines
import BluetoothWire
import Essentials
import Reactive

/// The state that all tabs of the page share: nearby items, marks, and connected devices.
@MainActor
final class Nearby {
  /// The nearby items at a time.
  struct Snapshot: Sendable {
    var items: [NearbyItem] = []
    /// Time since the page began.
    var now = Instant.zero
    /// The devices with a link.
    var linked: Set<String> = []
    /// Whether there are as many devices as are kept.
    var isFull = false
    /// Advertisements of devices that found no room.
    var overflowCount = 0
    /// The problem of the radio, if any.
    var problem: String?
  }

  let snapshot: Property<Snapshot>
  let marks = MutableProperty(NearbyMarks())
  /// Devices that were connected, by their identifiers, until they are disconnected.
  let connected = MutableProperty<[String: ConnectedDevice]>([:])
  /// The open questions of pairings, in order.
  let questions = MutableProperty<[AskedQuestion]>([])
  /// The last note, such as the display of a simulated device.
  let note = MutableProperty<String?>(nil)

  /// Whether pages are shown, which keep the devices connected.
  var visits = PageVisits()

  private let mutableSnapshot = MutableProperty(Snapshot())
  private var history = NearbyHistory()
  private var lastNote = Instant.zero
  /// What a display shows, it shows about when the question is asked.
  private static let noteTime = TimeSpan.seconds(3)
  private let connect: @MainActor (Sighting) -> ConnectedDevice?
  private let answer: @MainActor (PairingPromptID, PairingAnswer) -> Void
  private let removeBond: @MainActor (DeviceAddress) -> Void
  /// Where a service is, with its text.
  let resolve: ServiceLookup
  /// The hub whose radio is used; nil for a radio of the program's own.
  let hub: HubWatch?

  /// Finds out where a service is: a line for each fact.
  typealias ServiceLookup = @Sendable (NetworkTable.Row) async -> [DetailField]

  /// - Parameters:
  ///   - connect: Makes a link to a device; nil if it can't.
  ///   - answer: Takes the answer to a question of a pairing.
  ///   - removeBond: Removes the bond with a peer.
  ///   - resolve: Finds out where a service is.
  ///   - hub: The hub whose radio is used; nil for a radio of the program's own.
  init(
    connect: @escaping @MainActor (Sighting) -> ConnectedDevice? = { _ in nil },
    answer: @escaping @MainActor (PairingPromptID, PairingAnswer) -> Void = { _, _ in },
    removeBond: @escaping @MainActor (DeviceAddress) -> Void = { _ in },
    resolve: @escaping ServiceLookup = { _ in [] }, hub: HubWatch? = nil
  ) {
    snapshot = Property(capturing: mutableSnapshot)
    self.connect = connect
    self.answer = answer
    self.removeBond = removeBond
    self.resolve = resolve
    self.hub = hub
  }

  subscript(id: String) -> NearbyItem? { history[id] }

  /// Updates the snapshot.
  func update(
    devices: [NearbyTable.Device], network: [NetworkTable.Row], beacons: [BeaconSurvey.Row],
    overflowCount: Int = 0, problem: String?, now: Instant
  ) {
    if visits.isOver(hasDevices: !connected.value.isEmpty, now: now) {
      for id in connected.value.keys { disconnectDevice(id) }
    }
    let kept = marks.value.starred
    history.update(
      devices: devices, network: network, beacons: beacons,
      connected: Set(connected.value.keys), kept: kept, now: now)
    let linked = Set(connected.value.filter { $0.value.isLinked }.keys)
    mutableSnapshot.value = Snapshot(
      items: history.items, now: now, linked: linked,
      isFull: devices.count >= NearbyTable.Limits.deviceCount, overflowCount: overflowCount,
      problem: problem)
  }

  /// Shows a note from a device. It belongs to a pairing in progress, or to the next one.
  func show(_ note: String) {
    self.note.value = note
    lastNote = snapshot.value.now
  }

  // MARK: Marks

  func toggleStar(_ id: String) {
    guard history[id] != nil else { return }
    marks.modify { $0.starred.formSymmetricDifference([id]) }
  }

  func toggleHidden(_ id: String) {
    guard history[id] != nil else { return }
    marks.modify { $0.hidden.formSymmetricDifference([id]) }
  }

  /// What comes from now on is new.
  func markAllSeen() {
    let last = history.items.last?.number ?? 0
    marks.modify { $0.lastNumberSeen = last }
  }

  // MARK: Devices

  /// Connects a device for all tabs, unless it is.
  func connectDevice(_ id: String) {
    guard connected.value[id] == nil, let sighting = history[id]?.sighting,
      sighting.isConnectable != false, let device = connect(sighting)
    else { return }
    connected.modify { $0[id] = device }
  }

  /// Ends the link for all tabs.
  func disconnectDevice(_ id: String) {
    connected.modify { $0.removeValue(forKey: id) }?.end()
  }

  /// Connects again with a bond that the device, or another one, reported as missing.
  func reconnectDevice(_ id: String) {
    guard let device = connected.value[id], device.isBondLost.value else { return }
    device.reconnect()
  }

  /// Removes the bond that a device no longer has, and connects it again, which may pair anew. A
  /// device with private addresses can't be recognized without the bond.
  func forgetBond(_ id: String) {
    guard let device = connected.value[id], device.isBondLost.value,
      let address = history[id]?.sighting?.address
    else { return }
    removeBond(address)
    if address.randomKind == .resolvable {
      device.showBondRemoved(
        "The pairing was removed; the device is listed again as an unknown device")
    } else {
      device.reconnect()
    }
  }

  // MARK: Pairing

  /// A peer's name and its address, since several peers can have the same name. The name is
  /// isolated (Unicode Standard Annex 9), so that it can't reverse the digits beside it.
  private func name(of peer: DeviceAddress) -> String {
    let item = snapshot.value.items.last { $0.sighting?.address == peer && $0.presence != .gone }
    return item?.name.map { "\u{2068}\($0)\u{2069} (\(peer))" } ?? "\(peer)"
  }

  /// Adds the question of a pairing; it replaces an earlier one of the same pairing.
  func ask(_ question: PairingQuestion) {
    if questions.value.isEmpty, snapshot.value.now - lastNote > Self.noteTime { note.value = nil }
    let asked = AskedQuestion(question: question, peerName: name(of: question.peer))
    questions.modify { questions in
      questions.removeAll { $0.question.peer == question.peer }
      questions.append(asked)
    }
  }

  func pairingEnded(with peer: DeviceAddress, because failure: String?) {
    questions.modify { $0.removeAll { $0.question.peer == peer } }
    // What a display showed for it holds no longer.
    if questions.value.isEmpty { note.value = nil }
    let message = failure.map { "Pairing failed: \($0)" }
    for (id, device) in connected.value where history[id]?.sighting?.address == peer {
      device.message.value = message
    }
  }

  /// Sends an answer, unless another tab has answered or the pairing has ended; nil closes a
  /// question that only shows a number.
  func answerQuestion(_ id: PairingPromptID, _ reply: PairingAnswer?) {
    guard questions.value.contains(where: { $0.question.id == id }) else { return }
    questions.modify { $0.removeAll { $0.question.id == id } }
    if let reply { answer(id, reply) }
  }
}

/// A question of a pairing, and what the peer is called.
struct AskedQuestion: Hashable, Sendable {
  var question: PairingQuestion
  var peerName: String
}
