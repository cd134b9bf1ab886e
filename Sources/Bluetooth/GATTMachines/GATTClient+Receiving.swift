import BluetoothInterface
import BluetoothWire
package import Essentials

// PDUs from the peer, and the effects of a link's encryption.

extension GATTClient {
  // MARK: Security

  /// Starts no operation, and ignores received values, until `secured`.
  package mutating func hold() { isProving = true }

  /// Called when encrypting the link has ended. If it succeeded, each refused operation is repeated
  /// once, and the others of its program follow. If not, the refused operations fail.
  package mutating func secured(_ isSecured: Bool, now: Instant, into outputs: inout [Output]) {
    isProving = false
    if let pdu = heldIndication.take(), isSecured { receive(pdu[...], now: now, into: &outputs) }
    if isSecured { securedCount += 1 } else { failSignedWrites(into: &outputs) }
    let ended = refused
    refused = []
    waiting.releaseAll()
    if isSecured {
      for refused in ended.reversed() {
        beginAgain(refused.purpose, isRepeated: true, now: now)
      }
    } else {
      for refused in ended {
        guard let id = refused.purpose.id else { continue }
        outputs.append(.completed(id, .failure(refused.error)))
      }
    }
    finishInOrder(now: now, into: &outputs)
    goOn(now: now, into: &outputs)
  }

  /// Without a signing key, signed writes are sent over encrypted links only: fails those that
  /// wait.
  private mutating func failSignedWrites(into outputs: inout [Output]) {
    let unsigned = waiting.takeAll { $0.isSignedWrite }
    waitingCommandCount -= unsigned.count
    for case .operation(let id, .signedWrite(let handle, _), _) in unsigned {
      let error = HostError.att(.insufficientAuthentication, handle: handle)
      outputs.append(.completed(id, .failure(error)))
    }
  }

  /// Puts an operation aside that the peer refused for want of security, and those of its program behind it
  /// (Core 5.4, Vol 3, Part C, §10.3.2); false if it may not be repeated.
  mutating func isRefusedForSecurity(
    _ run: Run, _ step: GATTStep, now: Instant, into outputs: inout [Output]
  ) -> Bool {
    guard case .failed(let error) = step, case .att(let code, _) = error, code.isWantOfSecurity,
      run.purpose.mayPair
    else { return false }
    guard run.securedCount == securedCount else {
      // The answer of a peer that had the request before the link was secured, for another program.
      beginAgain(run.purpose, isRepeated: run.isRepeated, now: now)
      return true
    }
    guard !run.isRepeated else {
      outputs.append(.link(.securityInsufficient(code)))
      return false
    }
    refused.append(Refused(purpose: run.purpose, error: error))
    waiting.hold(run.purpose.requester)
    outputs.append(.link(.securityRequired(code, for: run.purpose.requester)))
    return true
  }

  /// Whether operations of programs wait for the link's protection.
  var holdsPrograms: Bool { !waiting.heldRequesters.isEmpty }

  /// Ends operations whose clients are gone, as far as they wait for the link's protection. Others of their
  /// program go on, if none of it was refused.
  mutating func cancelHeld(
    where isGone: (OperationID) -> Bool, now: Instant, into outputs: inout [Output]
  ) {
    let held = waiting.heldRequesters
    guard !held.isEmpty else { return }
    var ended = refused.map(\.purpose).filter { $0.id.map(isGone) ?? false }
    refused.removeAll { $0.purpose.id.map(isGone) ?? false }
    let waited = waiting.takeAll { purpose in
      guard let id = purpose.id else { return false }
      return held.contains(purpose.requester) && isGone(id)
    }
    waitingCommandCount -= waited.count { $0.isCommand }
    ended += waited
    for id in ended.compactMap(\.id) { outputs.append(.completed(id, .failure(.cancelled))) }
    for requester in held where !isRefused(requester) { waiting.release(requester) }
    finishInOrder(now: now, into: &outputs)
    goOn(now: now, into: &outputs)
  }

  /// Whether an operation of a program waits for the link's protection.
  private func isRefused(_ requester: Requester) -> Bool {
    refused.contains { $0.purpose.requester == requester }
      || waiting.contains(of: requester) { $0.isSignedWrite }
  }

  /// Whether the client contradicts itself about what waits for the link's protection; a sentence for each
  /// contradiction.
  func violations() -> [String] {
    let held = waiting.heldRequesters
    var found: [String] = []
    if refused.contains(where: { !held.contains($0.purpose.requester) }) {
      found.append("a refused operation doesn't hold its program")
    }
    if held.contains(where: { !isRefused($0) }) {
      found.append("a program is held that has no refused operation")
    }
    return found
  }

  /// The configuration of a characteristic that waits for the protection that one program needs is written
  /// for another, which waits for it as well. The subscription of the program that is held ends with that, before the
  /// operation of it that was refused: the peer has one descriptor for all, and sends values from then on.
  mutating func passConfiguration(
    of valueHandle: UInt16, to requesters: [Requester], now: Instant, into outputs: inout [Output]
  ) {
    guard let requester = requesters.first(where: { !waiting.isHeld($0) }) else { return }
    let found = waiting.takeHeld { $0.configuredValue == valueHandle }
    guard case .configuration(let id, let target, let bits, _) = found else { return }
    waiting.append(.configuration(id, target, bits: bits, requester), of: requester)
    goOn(now: now, into: &outputs)
  }

  // MARK: Receiving

  /// Handles a response, a notification or an indication.
  package mutating func receive(
    _ pdu: ArraySlice<UInt8>, over bearer: ATTBearer = .fixed, now: Instant,
    into outputs: inout [Output]
  ) {
    guard let first = pdu.first, failure == nil else {
      ignoredCount += 1
      return
    }
    let opcode = ATTOpcode(rawValue: first)
    if isProving {
      ignoredCount += 1
      if opcode == .handleValueIndication { heldIndication = Array(pdu) }
      return
    }
    switch opcode {
    case .handleValueNotification, .handleValueIndication:
      let isIndication = opcode == .handleValueIndication
      receiveValue(pdu, indicatedOver: isIndication ? bearer : nil, now: now, into: &outputs)
    case .multipleHandleValueNotification:
      guard case .multipleHandleValueNotification(let list) = try? ATTPDU(decoding: pdu) else {
        ignoredCount += 1
        return
      }
      for entry in list {
        outputs.append(.valueReceived(handle: entry.handle, entry.value, indicatedOver: nil))
      }
    default: receiveResponse(pdu, opcode, over: bearer, now: now, into: &outputs)
    }
  }

  /// The fast path: nothing is decoded but the handle, and nothing allocated.
  mutating func receiveValue(
    _ pdu: ArraySlice<UInt8>, indicatedOver bearer: ATTBearer?, now: Instant,
    into outputs: inout [Output]
  ) {
    guard pdu.count >= 3 else {
      ignoredCount += 1
      return
    }
    let start = pdu.startIndex
    let handle = UInt16(pdu[start + 1]) | UInt16(pdu[start + 2]) << 8
    let value = pdu[(start + 3)...]
    if bearer != nil, case .present(handle, _) = database.serviceChanged {
      servicesChanged(value, now: now, into: &outputs)
    }
    outputs.append(.valueReceived(handle: handle, value, indicatedOver: bearer))
  }

  static let confirmation = [ATTOpcode.handleValueConfirmation.rawValue]

  mutating func servicesChanged(
    _ value: ArraySlice<UInt8>, now: Instant, into outputs: inout [Output]
  ) {
    var reader = ByteReader(value)
    guard value.count == 4, let start = try? reader.uint16(), let end = try? reader.uint16() else {
      ignoredCount += 1
      return
    }
    forget(HandleRange(start, end), now: now, into: &outputs)
  }

  /// The peer's attributes changed: nothing that was remembered counts any more.
  mutating func forget(
    _ range: HandleRange, now: Instant, into outputs: inout [Output]
  ) {
    changeCount += 1
    isHashConfirmed = false
    database.forget()
    if database.hashHandle != 0 { hashDue = now + GATTLimits.hashReadingDelay }
    forgetConfigurations(in: range, into: &outputs)
  }

  mutating func receiveResponse(
    _ pdu: ArraySlice<UInt8>, _ opcode: ATTOpcode, over bearer: ATTBearer, now: Instant,
    into outputs: inout [Output]
  ) {
    // A response carries the opcode after its request's; an Error Response names the request.
    guard let index = runs.firstIndex(where: { $0.bearer == bearer && $0.outcome == nil }),
      isAnswer(pdu, opcode, to: runs[index].request)
    else {
      ignoredCount += 1
      return
    }
    var step = GATTStep.failed(.invalidResponse)
    if let response = try? ATTPDU(decoding: pdu) {
      step = runs[index].procedure.received(response, mtu: runs[index].mtu)
    }
    take(step, of: index, now: now, into: &outputs)
    goOn(now: now, into: &outputs)
  }

  func isAnswer(
    _ pdu: ArraySlice<UInt8>, _ opcode: ATTOpcode, to request: ATTOpcode
  ) -> Bool {
    if opcode == .errorResponse {
      return pdu.count > 1 && pdu[pdu.startIndex + 1] == request.rawValue
    }
    return opcode.rawValue == request.rawValue + 1
  }
}
