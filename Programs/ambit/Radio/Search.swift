import BeaconMachines
import BluetoothWire
import CoreBluetooth
package import CoreBluetoothAsync
import Essentials
import Foundation

/// Listens for the device with a name.
///
/// The first device that fits is used at once, so that a command takes no longer than the device
/// needs to be heard. Listening goes on while the command connects and discovers; before the
/// command uses the device, `check` returns the best fit.
package struct Search: Sendable {
  /// How long others that fit are listened for at least before a device is used that was not named
  /// by its identifier or address (docs/decisions/0066-the-first-device-that-fits.md).
  static let careTime = Duration.seconds(1)

  let name: DeviceName
  let session: Session
  private let heard = Guarded<[String: Sighting]>([:])
  /// Ends when others had time to be heard, too; nil before the first device that fits is heard.
  private let care = Guarded<Task<Void, any Error>?>(nil)

  package init(name: DeviceName, session: Session) {
    self.name = name
    self.session = session
  }

  /// The first device that fits.
  /// - Throws: `CommandFailure` if none is heard in time.
  func first(_ central: Central) async throws -> Sighting {
    if let known = heard.value.values.filter({ name.fit($0) != nil }).max(by: isWorse) {
      return known
    }
    session.output.progress("Looking for \(name.text) …")
    let limit = session.timeout ?? Seconds(span: Session.searchTime)
    // A little less than the remaining time of the command, so that the error is "not found".
    let rest = session.remaining ?? limit.duration
    let end = ContinuousClock.now + rest - min(.milliseconds(100), rest / 10)
    let found: Sighting??
    do {
      found = try await race(end - .now) {
        try await session.whileHubScans { await listen(central) { name.fit($0) != nil } }
      }
    } catch is CancellationError where ContinuousClock.now >= end {
      // The time of the command is over at the same moment.
      found = nil
    }
    if case .some(.some(let sighting)) = found {
      care.update { $0 = $0 ?? Task { try await RunningTime.wait(for: Self.careTime) } }
      return sighting
    }
    if ContinuousClock.now < end { try Task.checkCancellation() }
    let count = heard.value.count
    throw CommandFailure(
      .notFound,
      "no device called \"\(name.text)\" was found within \(limit), "
        + (count == 0
          ? "nor any other" : "but \(count) other\(count == 1 ? "" : "s"), which ambit scan lists"))
  }

  /// The one device that fits after others had time to be heard.
  /// - Throws: `CommandFailure` if none is heard in time, or if several fit equally well.
  func only(_ central: Central) async throws -> Sighting {
    let sighting = try await first(central)
    // Listening would begin and end, and a scan delays the connection that follows.
    guard !isWhole(sighting) else { return try check() ?? sighting }
    let listening = Task { await goOn(central) }
    defer { listening.cancel() }
    try await waitForOthers(than: sighting)
    return try check() ?? sighting
  }

  /// Waits until others that fit had time to be heard, unless the name can mean this device only.
  func waitForOthers(than sighting: Sighting) async throws {
    guard !isWhole(sighting), let care = care.value else { return }
    // Another that waited may have been cancelled, which is nothing to this one.
    // Shared, so a waiter that is cancelled does not end it; it lasts a second.
    _ = await care.result
    try Task.checkCancellation()
  }

  /// Goes on listening until the task is cancelled.
  func goOn(_ central: Central) async { _ = await listen(central) { _ in false } }

  /// The device that is meant after all that was heard so far.
  /// - Throws: `CommandFailure` if several fit equally well.
  func check() throws -> Sighting? { try name.pick(from: Array(heard.value.values)) }

  /// Whether the name can mean one device only.
  func isWhole(_ sighting: Sighting) -> Bool { name.fit(sighting) == .whole }

  private func isWorse(_ a: Sighting, _ b: Sighting) -> Bool {
    (name.fit(a)?.rawValue ?? -1) < (name.fit(b)?.rawValue ?? -1)
  }

  /// The first device that is wanted; nil if the task was cancelled before.
  private func listen(
    _ central: Central, until isWanted: @Sendable (Sighting) -> Bool
  ) async -> Sighting? {
    for await discovery in central.scan(allowDuplicates: true) {
      let sighting = remember(Sighting(discovery))
      if isWanted(sighting) { return sighting }
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
  /// The contents of a discovery.
  package init(_ discovery: Discovery) {
    self.init(identifier: discovery.id.uuidString)
    address = PeerIdentifier.address(in: discovery.id)
    name = discovery.localName ?? discovery.name
    rssi = discovery.rssi.flatMap { MeasuredStrength.rssi($0) }.map(Int.init)
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
