import ArgumentParser
import BeaconMachines
import BluetoothWire
import CoreBluetooth
import CoreBluetoothAsync
import Essentials
import Foundation

/// A receiver and its radio: `hall=tcp:pi.local:9100`.
struct ReceiverArgument: Hashable, Sendable, ExpressibleByArgument {
  /// What maps and traces call it.
  var name: String
  /// As `--radio` takes it; nil for the command's.
  var radio: String?

  init(name: String, radio: String?) {
    self.name = name
    self.radio = radio
  }

  init?(argument: String) {
    let parts = argument.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2, let name = parts.first, let radio = parts.last, !radio.isEmpty,
      1...64 ~= name.utf8.count, !name.contains(",")
    else { return nil }
    self.init(name: String(name), radio: String(radio))
  }
}

/// One advertisement, as one of several receivers heard it.
struct HeardBeacon: Sendable {
  /// The index of the receiver.
  var receiver: Int
  var beacon: RecordedBeacon
  /// In dBm.
  var rssi: Int8
}

/// The radios of several receivers, open at the same time.
struct ReceiverRadios: Sendable {
  /// One receiver.
  struct Receiver: Sendable {
    var name: String
    var session: Session
    var central: Central
  }

  let receivers: [Receiver]

  var output: Output? { receivers.first?.session.output }

  /// Opens the radios one after the other, runs `body`, and closes them.
  ///
  /// - Parameters:
  ///   - arguments: The receivers, at least one.
  ///   - options: What holds for all of them; the radio is each receiver's own.
  ///   - capturePath: Where the traffic of one receiver is written to; nil for nowhere.
  static func with(
    _ arguments: [ReceiverArgument], _ options: GlobalOptions,
    capturePath: @escaping @Sendable (ReceiverArgument) -> String? = { _ in nil },
    _ body: @escaping @Sendable (ReceiverRadios) async throws -> Void
  ) async throws {
    try await open(arguments[...], options, capturePath, [], body)
  }

  private static func open(
    _ rest: ArraySlice<ReceiverArgument>, _ options: GlobalOptions,
    _ capturePath: @escaping @Sendable (ReceiverArgument) -> String?, _ opened: [Receiver],
    _ body: @escaping @Sendable (ReceiverRadios) async throws -> Void
  ) async throws {
    guard let first = rest.first else { return try await body(ReceiverRadios(receivers: opened)) }
    var own = options
    if let radio = first.radio { own.radio = radio }
    let remaining = Array(rest.dropFirst())
    let shared = options
    try await own.withRadio(captureTo: capturePath(first)) { session in
      let central = try await session.central()
      let receiver = Receiver(name: first.name, session: session, central: central)
      try await open(remaining[...], shared, capturePath, opened + [receiver], body)
    }
  }

  /// Receives beacons until the task is cancelled, or every radio is gone for good.
  ///
  /// A failed radio is reported with `onChange`, and used again when it comes back.
  func hear(
    _ take: @escaping @Sendable (HeardBeacon) -> Void,
    onChange: @escaping @Sendable (_ receiver: Int, _ works: Bool) -> Void
  ) async {
    await withTaskGroup(of: Void.self) { group in
      for (index, receiver) in receivers.enumerated() {
        group.addTask {
          for await discovery in receiver.central.scan(allowDuplicates: true) {
            let sighting = Sighting(discovery)
            guard case .iBeacon(let identity)? = sighting.beacon,
              let rssi = sighting.rssi.flatMap({ Int8(exactly: $0) }), rssi != 127
            else { continue }
            take(
              HeardBeacon(receiver: index, beacon: RecordedBeacon(identity), rssi: rssi))
          }
        }
        group.addTask { await watch(index, receiver, onChange) }
      }
    }
  }

  private func watch(
    _ index: Int, _ receiver: Receiver, _ onChange: @Sendable (Int, Bool) -> Void
  ) async {
    var worked = true
    for await state in receiver.central.states() where (state == .poweredOn) != worked {
      worked.toggle()
      receiver.session.output.note(
        worked
          ? "The radio of \(Fit.safe(receiver.name)) is back."
          : "The radio of \(Fit.safe(receiver.name)) does not work; its receiver is ignored.")
      onChange(index, worked)
    }
  }
}
