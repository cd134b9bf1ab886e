import BluetoothHost
import BluetoothInterface
import BluetoothWire
import Essentials
import JSONWire

/// Reports how pairings end, on standard error: with `--json` each of them, in an object on its line;
/// otherwise those that failed, with the reason, also where there is no terminal.
final class PairingReporter: Sendable {
  private let session: any HostSession
  private let pairs = Guarded(false)

  /// Whether a pairing succeeded.
  var hasPaired: Bool { pairs.value }

  /// Reports as long as this object exists.
  ///
  /// - Parameters:
  ///   - host: The host whose pairings are reported.
  ///   - output: Where they are reported.
  ///   - decisions: What this host contributes to the reasons.
  ///   - isJSONOnly: Whether people read the reasons elsewhere.
  ///   - attendsAll: Whether pairings of other programs of a hub are reported, too.
  init(
    _ host: any HostSessionProvider, _ output: Output, _ decisions: PairingDecisions,
    isJSONOnly: Bool, attendsAll: Bool = false
  ) {
    session = host.openSession { [pairs] event in
      guard case .pairingEnded(let peer, let failure) = event else { return }
      if failure == nil { pairs.update { $0 = true } }
      if output.isJSON {
        output.event(Self.json(peer, failure, decisions))
      } else if let failure, !isJSONOnly {
        output.note("Pairing with \(peer) failed: \(decisions.sentence(failure, of: peer))")
      }
    }
    if attendsAll { session.send(.attendAllPairings(RequestToken(rawValue: 1))) }
  }

  deinit { session.close() }

  static func json(
    _ peer: DeviceAddress, _ failure: SecurityFailure?, _ decisions: PairingDecisions
  ) -> JSON {
    .object([
      "event": .string(failure == nil ? "paired" : "pairingFailed"),
      "address": .string(peer.description), "addressType": .string(BondText.type(of: peer)),
      "reason": failure.map { .string(decisions.sentence($0, of: peer)) },
      "refusedBy": failure.flatMap { decisions.refuser($0, of: peer) }.map { .string($0.rawValue) },
    ])
  }
}
