import BluetoothWire
import CoreBluetooth
import CoreBluetoothAsync
import Essentials
import Foundation

/// Listens for a device until it is clear which one is meant.
struct Search: Sendable {
  /// After the first that fits, others may still be heard that fit as well or better.
  private static let grace = Duration.seconds(1.5)

  let name: DeviceName
  let session: Session
  private let heard = Guarded<[String: Sighting]>([:])

  init(name: DeviceName, session: Session) {
    self.name = name
    self.session = session
  }

  /// The device that is meant: at once if it is named in full, else after the others had time to
  /// be heard.
  /// - Throws: `CommandFailure` if none is heard, or several fit.
  func run(_ central: Central) async throws -> Sighting {
    session.output.progress("Looking for \(name.text) …")
    let limit = session.timeout ?? Seconds(span: Session.searchTime)
    // A little less than what is left to the whole command, so that the answer is "not found".
    let rest = limit.duration - min(.milliseconds(200), limit.duration / 5)
    let first = try await race(max(.zero, rest - (ContinuousClock.now - session.start))) {
      await listen(central) { $0 != nil }
    }
    if case .some(.some(let sighting)) = first {
      if name.fit(sighting) == .whole { return sighting }
      let whole = try await race(Self.grace) { await listen(central) { $0 == .whole } }
      if case .some(.some(let sighting)) = whole { return sighting }
    }
    try Task.checkCancellation()
    if let sighting = try name.pick(from: Array(heard.value.values)) { return sighting }
    let count = heard.value.count
    throw CommandFailure(
      .notFound,
      "no device called \"\(name.text)\" was heard within \(limit), "
        + (count == 0
          ? "nor any other" : "but \(count) other\(count == 1 ? "" : "s"), which ambit scan lists"))
  }

  /// The first device whose fit is good enough; nil if the task was cancelled before.
  private func listen(
    _ central: Central, until isEnough: @Sendable (DeviceName.Fit?) -> Bool
  ) async -> Sighting? {
    for await discovery in central.scan(allowDuplicates: true) {
      let sighting = remember(Sighting(discovery))
      if isEnough(name.fit(sighting)) { return sighting }
    }
    return nil
  }

  /// The scan response brings the name, another advertisement may not: names are kept.
  private func remember(_ sighting: Sighting) -> Sighting {
    heard.update { heard in
      var sighting = sighting
      let known = heard[sighting.identifier]
      sighting.name = sighting.name ?? known?.name
      if heard.count < NearbyTable.Limits.deviceCount || known != nil {
        heard[sighting.identifier] = sighting
      }
      return sighting
    }
  }
}

extension Sighting {
  /// What a discovery says.
  init(_ discovery: Discovery) {
    self.init(identifier: discovery.id.uuidString)
    address = PeerIdentifier.address(in: discovery.id)
    name = discovery.localName ?? discovery.name
    rssi = discovery.rssi
    txPower = discovery.txPower
    isConnectable = discovery.isConnectable
    services = (discovery.services + discovery.overflowServices).map { BluetoothUUID($0) }
    solicitedServices = discovery.solicitedServices.map { BluetoothUUID($0) }
    manufacturerData = discovery.manufacturerData.map(Array.init)
    serviceData = discovery.serviceData
      .map { ServiceData(uuid: BluetoothUUID($0.key), data: Array($0.value)) }
      .sorted { $0.uuid.fullDescription < $1.uuid.fullDescription }
  }
}
