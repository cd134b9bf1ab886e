import BluetoothHost
import BluetoothMachines
import BluetoothWire
import CoreBluetooth

/// A value that only paired peers read or subscribe to.
func makeProtectedReading() -> CBMutableCharacteristic {
  let reading = CBMutableCharacteristic(
    type: CBUUID(string: "2A99"), properties: [.read, .notifyEncryptionRequired],
    value: nil, permissions: [.readEncryptionRequired])
  return reading
}

/// Answers what pairings ask, until its task is cancelled. A prompt that only shows a number has no
/// answer.
func answerPairing(
  of host: BluetoothHost, ask: @Sendable (PairingPrompt) async -> PairingAnswer?
) async {
  let (prompts, continuation) = AsyncStream.makeStream(of: HostEvent.self)
  let client = host.makeClient { event in
    if case .pairingPrompt = event { continuation.yield(event) }
  }
  client.send(.setPairingAgent(.keyboardDisplay))
  for await case .pairingPrompt(_, let prompt, let id) in prompts {
    guard let answer = await ask(prompt) else { continue }
    client.send(.answerPairing(id, answer))
  }
}

/// Makes what a peer is to be told out of band, and takes what it told. Replies have the tokens.
func exchangeOutOfBandData(
  _ told: OutOfBandData, with peer: DeviceAddress, over client: HostClient, token: RequestToken,
  otherToken: RequestToken
) {
  client.send(.createOutOfBandData(token))
  client.send(.setOutOfBandData(peer, told, otherToken))
}
