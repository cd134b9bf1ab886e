import BluetoothInterface
import BluetoothWire
package import Essentials

// PDUs from the peer, and the effects of a link's encryption.

extension GATTClient {
  // MARK: Security

  /// Starts no operation, and ignores received values, until `secured`.
  package mutating func hold() {
    isHeld = true
    isProving = true
  }

  /// Begins nothing until `secured`. Signed writes that wait then need no signature, or fail.
  mutating func awaitProtection() { isHeld = true }

  /// Called when encrypting the link has ended. If it succeeded, the refused operation is repeated
  /// once, and the others follow. If not, the operation fails.
  package mutating func secured(_ isSecured: Bool, now: Instant, into outputs: inout [Output]) {
    isHeld = false
    isProving = false
    if let pdu = heldIndication.take(), isSecured { receive(pdu[...], now: now, into: &outputs) }
    if !isSecured { failSignedWrites(into: &outputs) }
    if let refused = refused.take() {
      if isSecured {
        // Ahead of the runs that were started after it; over the fixed channel when that is free.
        runs.insert(
          Run(
            purpose: refused.purpose, procedure: procedure(for: refused.purpose), bearer: nil,
            request: .errorResponse, mtu: mtu, deadline: now, changeCount: changeCount,
            commandCount: 0, isRepeated: true), at: 0)
      } else if let id = refused.purpose.id {
        outputs.append(.completed(id, .failure(refused.error)))
      }
    }
    finishInOrder(now: now, into: &outputs)
    goOn(now: now, into: &outputs)
  }

  /// Without a signing key, signed writes are sent over encrypted links only: fails those that
  /// wait.
  private mutating func failSignedWrites(into outputs: inout [Output]) {
    let unsigned = waiting.takeAll {
      if case .operation(_, .signedWrite, _) = $0 { true } else { false }
    }
    waitingCommandCount -= unsigned.count
    for case .operation(let id, .signedWrite(let handle, _), _) in unsigned {
      let error = HostError.att(.insufficientAuthentication, handle: handle)
      outputs.append(.completed(id, .failure(error)))
    }
  }

  /// Puts an operation aside that the peer refused for want of security (Core 5.4, Vol 3, Part C,
  /// §10.3.2); false if it may not be repeated.
  mutating func isRefusedForSecurity(
    _ run: Run, _ step: GATTStep, into outputs: inout [Output]
  ) -> Bool {
    guard case .failed(let error) = step, case .att(let code, _) = error, code.isWantOfSecurity,
      run.purpose.mayPair
    else { return false }
    guard !run.isRepeated else {
      outputs.append(.link(.securityInsufficient(code)))
      return false
    }
    refused = Refused(purpose: run.purpose, error: error)
    isHeld = true
    outputs.append(.link(.securityRequired(code)))
    return true
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
