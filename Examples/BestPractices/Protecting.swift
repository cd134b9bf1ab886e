import BluetoothInterface
import BluetoothWire
import CoreBluetooth
import Foundation

/// A value that only paired peers read or subscribe to.
func makeProtectedReading() -> CBMutableCharacteristic {
  let reading = CBMutableCharacteristic(
    type: CBUUID(string: "2A99"), properties: [.read, .notifyEncryptionRequired],
    value: nil, permissions: [.readEncryptionRequired])
  return reading
}

/// Answers pairing prompts, until its task is cancelled. A prompt that only shows a number has no
/// answer.
func answerPairing(
  of host: any HostSessionProvider, ask: @Sendable (PairingPrompt) async -> PairingAnswer?
) async {
  let (prompts, continuation) = AsyncStream.makeStream(of: HostEvent.self)
  let session = host.openSession { event in
    if case .pairingPrompt = event { continuation.yield(event) }
  }
  session.send(.setPairingAgent(.keyboardDisplay))
  for await case .pairingPrompt(_, let prompt, let id) in prompts {
    guard let answer = await ask(prompt) else { continue }
    session.send(.answerPairing(id, answer))
  }
}

/// Creates out-of-band data for a peer, and sets the data received from it. Replies have the
/// tokens.
func exchangeOutOfBandData(
  _ told: OutOfBandData, with peer: DeviceAddress, over session: any HostSession,
  token: RequestToken, otherToken: RequestToken
) {
  session.send(.createOutOfBandData(token))
  session.send(.setOutOfBandData(peer, told, otherToken))
}

/// Goes on connecting with a peripheral, unless that has lost its keys.
final class KeyKeeper: NSObject, CBCentralManagerDelegate {
  private let advise: (String) -> Void

  /// - Parameter advise: Tells people what to do.
  init(advise: @escaping (String) -> Void) { self.advise = advise }

  func centralManagerDidUpdateState(_ central: CBCentralManager) {}

  func centralManager(
    _ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral,
    error: (any Error)?
  ) {
    if (error as? CBError)?.code == .peerRemovedPairingInformation {
      advise("\(peripheral.name ?? "The device") was reset: forget it, and pair again.")
    } else if error != nil {
      central.connect(peripheral)
    }
  }
}
