import BluetoothInterface
import BluetoothWire

// What the programs of a hub have in common: no program can take all of it.

extension BlueZMachine {
  /// Whether a client may have one more of a number of things. A program may have as many as it leaves to others; this
  /// program itself may have all.
  ///
  /// - Parameters:
  ///   - id: The client.
  ///   - holders: The clients of each thing that exists.
  ///   - countMax: How many there may be.
  func mayHave(
    _ id: BlueZSessionID, oneMoreOf holders: some Collection<[BlueZSessionID]>, countMax: Int
  ) -> Bool {
    guard holders.count < countMax else { return false }
    guard let program = clients[id]?.program else { return true }
    let own = holders.count { $0.contains { clients[$0]?.program == program } }
    return own < (countMax - (holders.count - own) + 1) / 2
  }

  /// Whether `Connect` may be called for one more link, within the share of a program that wants it.
  func mayConnect(_ peer: DeviceAddress) -> Bool {
    let connecting = links.values.filter { $0.phase == .connecting }.map { Array($0.users.keys) }
    return links[peer]?.users.keys.contains {
      mayHave($0, oneMoreOf: connecting, countMax: BlueZLimits.connectingCountMax)
    } ?? false
  }
}
