/// The encryption of a connection's packets: AES-CCM as the link layer uses it, with a nonce of 13
/// octets and a message integrity check (MIC) of 4 (Core 5.4, Vol 6, Part E; RFC 3610).
///
/// Both ends make the same cipher from the long term key and from what both drew for the session.
/// The caller counts the packets of each direction; one number must not be used for two packets.
package struct LinkCipher: Sendable {
  /// The direction of a packet; a part of its nonce (Core 5.4, Vol 6, Part E, §2.1).
  package enum Direction: UInt8, Hashable, Sendable, CaseIterable {
    /// The peripheral sends it.
    case toCentral = 0
    /// The central sends it.
    case toPeripheral = 1
  }

  /// One end's random numbers for an encryption session, in LL_ENC_REQ or LL_ENC_RSP (Core 5.4, Vol
  /// 6, Part B, §2.4.2.4 and §2.4.2.5).
  package struct SessionHalf: Hashable, Sendable {
    /// Its half of the session key diversifier: SKD_C or SKD_P.
    package var keyDiversifier: UInt64
    /// Its half of the initialization vector: IV_C or IV_P.
    package var initializationVector: UInt32

    /// Creates the numbers of one end.
    package init(keyDiversifier: UInt64, initializationVector: UInt32) {
      self.keyDiversifier = keyDiversifier
      self.initializationVector = initializationVector
    }
  }

  /// The size of the message integrity check in octets.
  package static let integrityCheckByteCount = 4
  /// The highest number of a packet: 39 bits (Core 5.4, Vol 6, Part E, §2.1). After it a session has
  /// to end.
  package static let packetCounterMax: UInt64 = 1 << 39 - 1
  /// What of a header's first octet is authenticated: all but NESN, SN and MD, which change when a
  /// packet is sent again (Core 5.4, Vol 6, Part E, §2.2).
  private static let headerMask: UInt8 = 0xE3

  private let cipher: AES128
  /// The last eight octets of each nonce.
  private let initializationVector: UInt64

  /// The cipher of a session (Core 5.4, Vol 6, Part B, §5.1.3.1).
  ///
  /// - Parameters:
  ///   - longTermKey: The key that both ends have.
  ///   - central: What the central drew.
  ///   - peripheral: What the peripheral drew.
  package init(longTermKey: UInt128, central: SessionHalf, peripheral: SessionHalf) {
    let diversifier = UInt128(peripheral.keyDiversifier) << 64 | UInt128(central.keyDiversifier)
    let vector =
      UInt64(peripheral.initializationVector) << 32 | UInt64(central.initializationVector)
    self.init(
      sessionKey: AES128(key: longTermKey).encrypt(diversifier), initializationVector: vector)
  }

  /// The cipher of a session whose key is known.
  ///
  /// - Parameters:
  ///   - sessionKey: SK.
  ///   - initializationVector: IV, the peripheral's half in its upper 32 bits.
  package init(sessionKey: UInt128, initializationVector: UInt64) {
    cipher = AES128(key: sessionKey)
    // The nonce has its octets least significant first, CCM its blocks the other way round.
    self.initializationVector = initializationVector.byteSwapped
  }

  /// Encrypts a payload in place and appends its MIC.
  ///
  /// - Parameters:
  ///   - bytes: The payload, after any bytes that are left unchanged.
  ///   - start: The index in `bytes` at which the payload begins.
  ///   - header: The first octet of the packet's header.
  ///   - counter: The number of the packet in its direction, at most `packetCounterMax`.
  ///   - direction: The direction of the packet.
  package func encrypt(
    _ bytes: inout [UInt8], from start: Int, header: UInt8, counter: UInt64, direction: Direction
  ) {
    let count = bytes.count - start
    let nonce = block(counter, direction)
    var tag = firstTag(nonce, header: header, count: count)
    var payload = bytes.mutableSpan
    var number: UInt128 = 0
    for offset in stride(from: start, to: start + count, by: 16) {
      number += 1
      let pieceCount = min(16, start + count - offset)
      let plain = Self.load(payload.span, offset, pieceCount)
      let encrypted = plain ^ cipher.encrypt(Self.keystreamFlags | nonce | number)
      tag = cipher.encrypt(tag ^ plain)
      Self.store(encrypted, in: &payload, offset, pieceCount)
    }
    let check = check(tag, nonce)
    for shift: UInt32 in [24, 16, 8, 0] {
      bytes.append(UInt8(truncatingIfNeeded: check >> shift))
    }
  }

  /// Decrypts a payload in place and removes its MIC. Throws `MICFailure` and removes the payload
  /// if the packet was altered, or has another key, counter or direction.
  ///
  /// - Parameters:
  ///   - bytes: The encrypted payload and its MIC, after any bytes that are left unchanged.
  ///   - start: The index in `bytes` at which the payload begins.
  ///   - header: The first octet of the packet's header.
  ///   - counter: The number of the packet in its direction, at most `packetCounterMax`.
  ///   - direction: The direction of the packet.
  package func decrypt(
    _ bytes: inout [UInt8], from start: Int, header: UInt8, counter: UInt64, direction: Direction
  ) throws(MICFailure) {
    let count = bytes.count - start - Self.integrityCheckByteCount
    guard count >= 0 else {
      bytes.removeLast(bytes.count - start)
      throw MICFailure()
    }
    let nonce = block(counter, direction)
    var tag = firstTag(nonce, header: header, count: count)
    var received: UInt32 = 0
    for byte in bytes.suffix(Self.integrityCheckByteCount) {
      received = received << 8 | UInt32(byte)
    }
    bytes.removeLast(Self.integrityCheckByteCount)
    var payload = bytes.mutableSpan
    var number: UInt128 = 0
    for offset in stride(from: start, to: start + count, by: 16) {
      number += 1
      let pieceCount = min(16, start + count - offset)
      let pad = UInt128.max << UInt128(8 * (16 - pieceCount))
      let encrypted = Self.load(payload.span, offset, pieceCount)
      let plain = (encrypted ^ cipher.encrypt(Self.keystreamFlags | nonce | number)) & pad
      tag = cipher.encrypt(tag ^ plain)
      Self.store(plain, in: &payload, offset, pieceCount)
    }
    guard check(tag, nonce) == received else {
      bytes.removeLast(count)
      throw MICFailure()
    }
  }
}

// Blocks of CCM (Core 5.4, Vol 6, Part E, §2.2 and §2.3), most significant octet first.
extension LinkCipher {
  /// The first octet of B0: there is additional data, the MIC has 4 octets, the length has 2.
  private static let firstFlags: UInt128 = 0x49 << 120
  /// The first octet of the blocks that become keystream: the counter has 2 octets.
  private static let keystreamFlags: UInt128 = 0x01 << 120

  /// The nonce where a block has it: behind one octet of flags, before two that are left zero.
  private func block(_ counter: UInt64, _ direction: Direction) -> UInt128 {
    precondition(counter <= Self.packetCounterMax, "a packet counter has 39 bits")
    // Five octets, least significant first.
    let first = (counter | UInt64(direction.rawValue) << 39).byteSwapped >> 24
    return UInt128(first) << 80 | UInt128(initializationVector) << 16
  }

  /// The authentication of B0 and of B1, which is the additional data: one octet.
  private func firstTag(_ nonce: UInt128, header: UInt8, count: Int) -> UInt128 {
    precondition(0...0xFFFF ~= count, "CCM writes the length of a payload in two octets")
    let length = UInt128(truncatingIfNeeded: count)
    let additional = 1 << 112 | UInt128(header & Self.headerMask) << 104
    return cipher.encrypt(cipher.encrypt(Self.firstFlags | nonce | length) ^ additional)
  }

  /// The MIC: the tag, encrypted with the keystream's block 0.
  private func check(_ tag: UInt128, _ nonce: UInt128) -> UInt32 {
    UInt32(truncatingIfNeeded: (tag ^ cipher.encrypt(Self.keystreamFlags | nonce)) >> 96)
  }

  /// Up to 16 octets as a block, zeros behind them.
  @inline(__always)
  private static func load(_ bytes: Span<UInt8>, _ start: Int, _ count: Int) -> UInt128 {
    var block: UInt128 = 0
    if count == 16 {
      precondition(start >= 0 && start <= bytes.count - 16)
      var high: UInt64 = 0
      var low: UInt64 = 0
      for index in 0..<8 {
        high = high << 8 | UInt64(bytes[start &+ index])
        low = low << 8 | UInt64(bytes[start &+ index &+ 8])
      }
      block = UInt128(high) << 64 | UInt128(low)
    } else {
      for index in 0..<count { block = block << 8 | UInt128(bytes[start + index]) }
      block <<= UInt128(8 * (16 - count))
    }
    return block
  }

  /// Writes the first `count` octets of a block.
  @inline(__always)
  private static func store(
    _ block: UInt128, in bytes: inout MutableSpan<UInt8>, _ start: Int, _ count: Int
  ) {
    if count == 16 {
      precondition(start >= 0 && start <= bytes.count - 16)
      let high = UInt64(truncatingIfNeeded: block >> 64)
      let low = UInt64(truncatingIfNeeded: block)
      for index in 0..<8 {
        bytes[start &+ index] = UInt8(truncatingIfNeeded: high >> UInt64(56 &- 8 &* index))
        bytes[start &+ index &+ 8] = UInt8(truncatingIfNeeded: low >> UInt64(56 &- 8 &* index))
      }
    } else {
      for index in 0..<count {
        bytes[start + index] = UInt8(truncatingIfNeeded: block >> UInt128(120 - 8 * index))
      }
    }
  }
}

/// A packet's message integrity check is wrong: it was altered, or encrypted with another key.
package struct MICFailure: Error, Hashable, Sendable {
  /// The failure.
  package init() {}
}
