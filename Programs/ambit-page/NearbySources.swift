import AmbitCLI
import BluetoothInterface
import BluetoothWire
import BonjourHost
import CoreBluetooth
import CoreBluetoothAsync
import DNSWire
import DiscoveryMachines
import Essentials
import HubClient
import Reactive

/// What feeds the page: the radio, the network, the questions of pairings.
@MainActor
final class NearbySources {
  let nearby: Nearby

  /// Strengths and ages are read so often.
  private static let tick = Duration.milliseconds(500)
  /// A link may take so long to end in good order.
  private static let closingTime = Duration.seconds(1)

  private let session: Session
  private let central: Central
  private let clock = MonotonicClock()
  private let surroundings: Surroundings
  /// Nil if the network is not browsed.
  private let network: BonjourHost?
  /// The pairing agent, which also removes bonds.
  private let hostSession: any HostSession
  private let pairingEvents: AsyncStream<HostEvent>

  init(_ session: Session, _ central: Central, listensToNetwork: Bool) {
    self.session = session
    self.central = central
    surroundings = Surroundings(now: clock.now)
    let output = session.output
    var configuration = BonjourConfiguration()
    configuration.notesAbsentHub = false
    let network =
      listensToNetwork
      ? BonjourHost(configuration: configuration, log: { output.note($0) }) : nil
    self.network = network
    let (events, post) = AsyncStream.makeStream(of: HostEvent.self)
    pairingEvents = events
    let hostSession = session.host.openSession { event in
      switch event {
      case .pairingPrompt, .pairingEnded: post.yield(event)
      default: break
      }
    }
    self.hostSession = hostSession
    let decisions = session.decisions
    if session.answersPairing { hostSession.send(.setPairingAgent(.keyboardDisplay)) }
    nearby = Nearby(
      connect: { ConnectedDevice($0, session, central) },
      answer: {
        decisions.answered($0, $1)
        hostSession.send(.answerPairing($0, $1))
      },
      // The reply is ignored: a missing bond is the desired result.
      removeBond: { hostSession.send(.removeBond($0, RequestToken(rawValue: 0))) },
      resolve: { row in
        guard let network else { return [] }
        return await ServiceSearch(host: network).fields(of: row)
      }, hub: Self.hubWatch(session))
  }

  /// Reads the state of the hub whose radio the session uses; nil for a radio of its own.
  private static func hubWatch(_ session: Session) -> HubWatch? {
    guard case .hub(_, let path) = session.host else { return nil }
    let clock = MonotonicClock()
    return HubWatch(
      path: path, now: { clock.now },
      results: { HubStatusReader.states(for: "ambit page", at: path) })
  }

  /// Listens until the task is cancelled; then ends all links in good order.
  func run() async {
    let (notes, post) = AsyncStream.makeStream(
      of: String.self, bufferingPolicy: .bufferingNewest(1))
    let output = session.output
    // For those at the terminal, and for those at the page.
    Output.handNotes(to: { note in
      output.remark(note)
      post.yield(note)
    })
    defer { Output.handNotes(to: nil) }
    await withTaskGroup(of: Void.self) { group in
      group.addTask { await self.listenToDevices() }
      group.addTask { await self.listenToNetwork() }
      group.addTask { await self.listenToPairings() }
      group.addTask { for await note in notes { await self.nearby.show(note) } }
      group.addTask { await self.update() }
      // The page has its own place for this.
      group.addTask { await self.session.reportRadioTroubles(self.central, endsIfRefused: false) }
      await group.waitForAll()
    }
    hostSession.close()
    let devices = Array(nearby.connected.value.values)
    for device in devices { device.end() }
    // The task is cancelled; what waits for the end of the links isn't.
    await Task {
      _ = try? await race(Self.closingTime) {
        for device in devices { await device.waitUntilEnded() }
      }
    }.value
    await network?.close()
  }

  private nonisolated func listenToDevices() async {
    for await discovery in central.scan(allowDuplicates: true) {
      let sighting = Sighting(discovery)
      let now = clock.now
      surroundings.beacons.update { $0.hear(sighting, now: now) }
      surroundings.devices.update { _ = $0.hear(sighting, now: now) }
    }
  }

  private nonisolated func listenToNetwork() async {
    guard let network else { return }
    let table = surroundings.network
    await NetworkListener(host: network).listen { change in table.update { $0.take(change) } }
  }

  private func listenToPairings() async {
    for await event in pairingEvents {
      switch event {
      case .pairingPrompt(let peer, let prompt, let id):
        session.decisions.asked(peer, id)
        nearby.ask(PairingQuestion(peer: peer, prompt: prompt, id: id))
      case .pairingEnded(let peer, let failure):
        let reason = failure.map { session.decisions.sentence($0, of: peer) }
        nearby.pairingEnded(with: peer, because: reason)
      default: break
      }
    }
  }

  private func update() async {
    while !Task.isCancelled {
      let (now, state) = (clock.now, central.state)
      let (devices, overflowCount) = surroundings.devices.update { table in
        table.forget(now: now)
        return (table.byArrival, table.overflowCount)
      }
      let beacons = surroundings.beacons.update { survey in
        survey.setScanning(state == .poweredOn, now: now)
        _ = survey.wake(now: now)
        return survey.report
      }
      nearby.update(
        devices: devices, network: surroundings.network.value.ordered, beacons: beacons,
        overflowCount: overflowCount,
        problem: state == .poweredOn ? nil : RadioFailure.failure(state, session.host).sentence,
        now: now)
      try? await Task.sleep(for: Self.tick)
    }
  }
}

/// Finds out where the services of a name are.
struct ServiceSearch: Sendable {
  /// An answer may take so long.
  private static let answerTime = Duration.seconds(3)
  /// More types than a device has.
  private static let typeCountMax = 8
  private static let textCountMax = 64

  let host: BonjourHost

  /// Port, host, addresses and text of each, as far as there are answers.
  func fields(of row: NetworkTable.Row) async -> [DetailField] {
    var known: Set<ServiceType> = []
    let names = row.places.sorted { "\($0.type)" < "\($1.type)" }
      .filter { known.insert($0.type).inserted }.prefix(Self.typeCountMax)
      .compactMap { try? ServiceName(instance: row.name, type: $0.type, domain: $0.domain) }
    var fields: [DetailField] = []
    try? await names.mapConcurrently {
      await self.fields(of: $0)
    } then: {
      fields += $1
    }
    return fields
  }

  private func fields(of name: ServiceName) async -> [DetailField] {
    let found = try? await race(Self.answerTime) { () -> (ServiceResolution, InterfaceIndex?)? in
      for await found in host.events(of: .resolve(name)) {
        if let place = Resolve.place(found.event) { return (place, found.interface) }
      }
      return nil
    }
    guard let (place, interface) = found ?? nil else {
      return [DetailField(name: "\(name.type)", value: "does not answer")]
    }
    let search = Guarded(AddressSearch())
    _ = try? await race(Self.answerTime) {
      for await event in host.events(
        of: .addresses(place.host, versions: [.v4, .v6]), on: interface)
      where search.update({ $0.take(event) }) { return }
    }
    var fields = [DetailField(name: "\(name.type)", value: "\(place.host):\(place.port)")]
    var names = InterfaceNames(of: host)
    let interfaceName = await names.name(of: interface)
    fields += search.value.addresses.map {
      DetailField(name: "Address", value: "\(ScopedAddress($0, on: interfaceName))")
    }
    fields += TextPair.all(of: place.text).prefix(Self.textCountMax).map { pair in
      DetailField(
        name: pair.key, value: pair.value.map { String(decoding: $0, as: UTF8.self) } ?? "true")
    }
    return fields
  }
}
