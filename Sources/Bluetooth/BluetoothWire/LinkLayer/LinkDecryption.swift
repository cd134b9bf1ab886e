/// Decrypts recorded connections with the keys that they may have been encrypted with (Core 5.4, Vol 6,
/// Part B, §5.1.3; Part E), as far as the recording has all packets since the link was encrypted.
package struct LinkDecryption: Sendable {
  /// Connections that are followed at a time; of more the one that was silent for longest is forgotten.
  private static let connectionsMax = 256
  private static let headerByteCount = 2

  /// A connection, and how far its encryption is.
  private struct Connection: Sendable {
    let accessAddress: UInt32
    var central: LinkCipher.SessionHalf?
    /// The sessions that the keys make; one of them once a packet was decrypted.
    var ciphers: [LinkCipher] = []
    /// Which directions are encrypted.
    var encrypted: Set<LinkCipher.Direction> = []
    var counters: [LinkCipher.Direction: UInt64] = [:]
    /// The last packet of each direction.
    var last: [LinkCipher.Direction: Last] = [:]
  }

  private struct Last: Sendable {
    let sequenceNumber: UInt8
    let payload: ArraySlice<UInt8>
    let isEncrypted: Bool
  }

  private let keys: [UInt128]
  private var connections: [Connection] = []
  /// Packets that no key decrypted.
  package private(set) var failureCount = 0

  /// Decryption with these long term keys, most significant byte first.
  package init(keys: [SMPValue]) { self.keys = keys.map(\.number) }

  /// A packet decrypted, if it was encrypted and a key is known; else as it is. The packets of a
  /// recording, in order.
  package mutating func decrypted(_ packet: LinkLayerPacket) -> LinkLayerPacket {
    guard packet.bytes.count >= Self.headerByteCount, !packet.isDecrypted else { return packet }
    let known = connections.firstIndex { $0.accessAddress == packet.accessAddress }
    var connection =
      known.map { connections.remove(at: $0) } ?? Connection(accessAddress: packet.accessAddress)
    if connections.count >= Self.connectionsMax { connections.removeFirst() }
    defer { connections.append(connection) }
    let number = packet.bytes[0] & 0x08
    let last = connection.last[packet.direction]
    // A non-empty packet may replace an empty packet that was not acknowledged.
    let payload = packet.bytes[Self.headerByteCount...]
    let isRepeated = last?.sequenceNumber == number && last?.payload == payload
    // A packet sent in plain text may be repeated after encryption was started.
    let isEncrypted =
      isRepeated ? last?.isEncrypted == true : connection.encrypted.contains(packet.direction)
    connection.last[packet.direction] = Last(
      sequenceNumber: number, payload: payload, isEncrypted: isEncrypted)
    var result = packet
    if packet.bytes.count > Self.headerByteCount, isEncrypted {
      let isRight = decrypt(&result, isRepeated: isRepeated, &connection)
      guard isRight else {
        failureCount += 1
        return packet
      }
    }
    if !isRepeated, result.bytes[0] & 3 == 3, result.bytes.count > Self.headerByteCount {
      take(control: result.bytes[2...], result.direction, &connection)
    }
    return result
  }

  private func decrypt(
    _ packet: inout LinkLayerPacket, isRepeated: Bool, _ connection: inout Connection
  ) -> Bool {
    var counter = connection.counters[packet.direction, default: 0]
    if isRepeated {
      guard counter > 0 else { return false }
      counter -= 1
    }
    guard counter <= LinkCipher.packetCounterMax else { return false }
    for cipher in connection.ciphers {
      var bytes = packet.bytes
      do throws(MICFailure) {
        try cipher.decrypt(
          &bytes, from: Self.headerByteCount, header: bytes[0], counter: counter,
          direction: packet.direction)
      } catch {
        continue
      }
      bytes[1] = UInt8(truncatingIfNeeded: bytes.count - Self.headerByteCount)
      packet.bytes = bytes
      packet.isDecrypted = true
      connection.ciphers = [cipher]
      if !isRepeated { connection.counters[packet.direction] = counter + 1 }
      return true
    }
    // A packet that can't be decrypted is counted, too, unless it is a repetition.
    if !isRepeated { connection.counters[packet.direction] = counter + 1 }
    return false
  }

  /// Follows the control PDUs that start, pause and end encryption (Core 5.4, Vol 6, Part B, §2.4.2).
  private func take(
    control pdu: ArraySlice<UInt8>, _ direction: LinkCipher.Direction,
    _ connection: inout Connection
  ) {
    func number(_ offset: Int, _ count: Int) -> UInt64 {
      pdu.dropFirst(offset).prefix(count).reversed().reduce(0) { $0 << 8 | UInt64($1) }
    }
    switch (pdu.first, pdu.count) {
    // LL_ENC_REQ: number, diversifier, the central's half of the session.
    case (0x03, 23):
      connection.central = LinkCipher.SessionHalf(
        keyDiversifier: number(11, 8),
        initializationVector: UInt32(truncatingIfNeeded: number(19, 4)))
    // LL_ENC_RSP: the peripheral's half.
    case (0x04, 13):
      guard let central = connection.central else { return }
      let peripheral = LinkCipher.SessionHalf(
        keyDiversifier: number(1, 8), initializationVector: UInt32(truncatingIfNeeded: number(9, 4))
      )
      connection.ciphers = keys.map {
        LinkCipher(longTermKey: $0, central: central, peripheral: peripheral)
      }
    // LL_START_ENC_REQ: what the central sends from now on is encrypted.
    case (0x05, 1):
      connection.counters = [:]
      connection.encrypted = [.toPeripheral]
    // LL_START_ENC_RSP: both.
    case (0x06, 1): connection.encrypted = [.toPeripheral, .toCentral]
    // LL_PAUSE_ENC_RSP: the peripheral's stops the central's encryption, the central's the other's.
    case (0x0B, 1):
      connection.encrypted = direction == .toCentral ? [.toCentral] : []
    default: break
    }
  }
}
