import BluetoothWire
import Essentials

// Encryption of a link (Core 5.4, Vol 6, Part B, §5.1.3): its start, its pause before a new key, and
// its packets.

/// What one end knows of its link's encryption.
struct EncryptionState {
  /// The cipher of the session, once both ends have exchanged their session halves.
  var cipher: LinkCipher?
  /// Whether what this end sends is encrypted.
  var isSending = false
  /// Whether it takes nothing that isn't.
  var isReceiving = false
  /// How many packets of the session were sent, and how many received: the next one's number.
  var sentCount: UInt64 = 0
  var receivedCount: UInt64 = 0

  // While the procedure goes on.

  /// The key, where this end's host gave it already.
  var longTermKey: UInt128 = 0
  /// What the central drew, and what the peripheral did.
  var central = LinkCipher.SessionHalf(keyDiversifier: 0, initializationVector: 0)
  var peripheral = LinkCipher.SessionHalf(keyDiversifier: 0, initializationVector: 0)
  /// Whether the link had been encrypted before.
  var isRefreshing = false

  /// One direction is encrypted and the other isn't.
  var isHalfway: Bool { isSending != isReceiving }

  mutating func makeCipher() {
    cipher = LinkCipher(longTermKey: longTermKey, central: central, peripheral: peripheral)
  }

  mutating func startSending() {
    isSending = true
    sentCount = 0
  }

  mutating func startReceiving() {
    isReceiving = true
    receivedCount = 0
  }
}

// The procedure. A real peripheral receives encrypted (or plain, when it pauses) from when it sends the
// PDU that announces it, this one from when that PDU has arrived. Nothing else is sent in between, so
// it makes no difference but that a central may end the link meanwhile.
extension Endpoint {
  /// As a central: starts encryption, or refreshes it.
  func requestEncryption(random: UInt64, diversifier: UInt16, key: UInt128) throws(Refusal) {
    let half = link.drawSessionHalf()
    try requestProcedure(
      .encryptionRequest(EncryptionRequest(random: random, diversifier: diversifier, half: half)))
    encryption.longTermKey = key
    encryption.central = half
  }

  /// Sends the first PDU of the procedure; an encrypted link is paused first.
  func startEncryptionProcedure(_ pdu: LinkControl) {
    link.isDataPaused = true
    encryption.isRefreshing = isEncrypted
    enqueue(isEncrypted ? .pauseEncryptionRequest : pdu)
  }

  func heardPauseRequest() {
    encryption.isRefreshing = true
    enqueue(.pauseEncryptionResponse)
  }

  func heardPauseResponse() {
    guard role == .central else {
      encryption.isSending = false
      return
    }
    guard let procedure, case .encryptionRequest = procedure else { return }
    encryption.isSending = false
    encryption.isReceiving = false
    peerEndpoint.encryption.isReceiving = false
    enqueue(.pauseEncryptionResponse)
    enqueue(procedure)
  }

  func heardEncryptionRequest(_ request: EncryptionRequest) {
    encryption.central = request.half
    encryption.peripheral = link.drawSessionHalf()
    enqueue(.encryptionResponse(encryption.peripheral))
    guard controller.isUnmasked(LELongTermKeyRequest.code) else { return refuseKey() }
    awaitsLongTermKey = true
    controller.send(
      LELongTermKeyRequest(
        handle: handle, random: request.random, diversifier: request.diversifier))
  }

  func heardEncryptionResponse(_ half: LinkCipher.SessionHalf) {
    guard case .encryptionRequest = procedure else { return }
    encryption.peripheral = half
    encryption.makeCipher()
  }

  /// As a peripheral: its host gave the key.
  func giveKey(_ key: UInt128) {
    encryption.longTermKey = key
    encryption.makeCipher()
    enqueue(.startEncryptionRequest)
  }

  /// As a peripheral: its host has no key. A link that was encrypted must not go on without.
  func refuseKey() {
    guard !encryption.isRefreshing else { return terminate(.pinOrKeyMissing) }
    enqueue(.reject(.encryptionRequest, .pinOrKeyMissing))
  }

  func heardStartRequest() {
    guard case .encryptionRequest = procedure, encryption.cipher != nil else { return }
    encryption.startSending()
    encryption.startReceiving()
    peerEndpoint.encryption.startReceiving()
    enqueue(.startEncryptionResponse)
  }

  func heardStartResponse() {
    if role == .peripheral {
      encryption.startSending()
      enqueue(.startEncryptionResponse)
    } else {
      link.isDataPaused = false
      finishProcedure()
    }
    encryption.longTermKey = 0
    if encryption.isRefreshing {
      encryption.isRefreshing = false
      controller.send(EncryptionKeyRefreshComplete(handle: handle))
    } else {
      controller.send(EncryptionChange(handle: handle, encryption: .on))
    }
  }
}

extension LinkControl {
  /// Whether it may be sent while a link starts or pauses its encryption. What isn't of that procedure
  /// waits, and the end of the link, too, while it can be understood in one direction only.
  func isAllowed(whileHalfway isHalfway: Bool) -> Bool {
    switch self {
    case .encryptionRequest, .encryptionResponse, .startEncryptionRequest,
      .startEncryptionResponse, .pauseEncryptionRequest, .pauseEncryptionResponse:
      true
    case .reject, .terminate:
      !isHalfway
    case .featureRequest, .featureResponse, .version, .lengthRequest, .lengthResponse,
      .phyRequest, .phyResponse, .phyUpdate, .connectionParameterRequest, .connectionUpdate,
      .channelMap, .subrateRequest, .subrateIndication:
      false
    }
  }
}

// Packets.
extension Endpoint {
  var isEncrypted: Bool { encryption.isSending }

  /// Which way this end sends.
  var direction: LinkCipher.Direction { role == .central ? .toPeripheral : .toCentral }

  /// A packet as it is before encryption, in an array with room for a MIC. Its header has no sequence
  /// numbers yet.
  func unsealed(_ payload: some Collection<UInt8>, kind: LinkPayloadKind) -> ByteWriter {
    var writer = ByteWriter(capacity: 2 + payload.count + LinkCipher.integrityCheckByteCount)
    writer.uint8(kind.rawValue)
    writer.uint8(UInt8(truncatingIfNeeded: payload.count))
    writer.append(payload)
    return writer
  }

  /// A packet for the air: header, payload and, on an encrypted link, MIC.
  func sealed(_ payload: some Collection<UInt8>, kind: LinkPayloadKind) -> [UInt8] {
    var writer = unsealed(payload, kind: kind)
    guard encryption.isSending, let cipher = encryption.cipher else { return writer.bytes }
    cipher.encrypt(
      &writer.bytes, from: 2, header: kind.rawValue, counter: encryption.sentCount,
      direction: direction)
    encryption.sentCount += 1
    writer.bytes[1] = UInt8(truncatingIfNeeded: writer.count - 2)
    return writer.bytes
  }

  /// The payload of a packet that came over the air; nil if its integrity check fails.
  func opened(_ air: [UInt8]) -> ArraySlice<UInt8>? {
    guard let header = air.first else { return nil }
    guard encryption.isReceiving else { return air.dropFirst(2) }
    guard let cipher = encryption.cipher else { return nil }
    var payload = air
    do throws(MICFailure) {
      try cipher.decrypt(
        &payload, from: 2, header: header, counter: encryption.receivedCount,
        direction: peerEndpoint.direction)
    } catch {
      return nil
    }
    encryption.receivedCount += 1
    return payload.dropFirst(2)
  }

  /// Takes an own packet in flight out of the air. The peer's controller takes it without its host,
  /// and its number is used.
  func discardInFlight() {
    if let inFlight, !inFlight.isDelivered, inFlight.air != nil {
      peerEndpoint.encryption.receivedCount += 1
    }
    inFlight = nil
  }
}
