import BluetoothInterface
import BluetoothWire

// The reasons why requests fail and links end.

extension HostError: HubChoice {
  enum Number: UInt8, CaseIterable {
    case radioNotReady = 1
    case controller = 2
    case unsupported = 3
    case invalidArgument = 4
    case limitReached = 5
    case notConnected = 6
    case connectionFailed = 7
    case disconnected = 8
    case cancelled = 9
    case att = 10
    case attTimeout = 11
    case invalidResponse = 12
    case channelRefused = 13
    case security = 14
    case transport = 15
    case unauthorized = 16
    case tooManyNotifications = 17
  }

  var number: Number {
    switch self {
    case .radioNotReady: .radioNotReady
    case .controller: .controller
    case .unsupported: .unsupported
    case .invalidArgument: .invalidArgument
    case .limitReached: .limitReached
    case .notConnected: .notConnected
    case .connectionFailed: .connectionFailed
    case .disconnected: .disconnected
    case .cancelled: .cancelled
    case .att: .att
    case .attTimeout: .attTimeout
    case .invalidResponse: .invalidResponse
    case .channelRefused: .channelRefused
    case .security: .security
    case .transport: .transport
    case .unauthorized: .unauthorized
    case .tooManyNotifications: .tooManyNotifications
    }
  }

  static func coded<C: HubCoder>(
    _ value: Self?, _ number: Number, by coder: inout C
  ) throws(HubWireError) -> Self {
    switch number {
    case .radioNotReady: return .radioNotReady
    case .controller:
      return try coder.fields(value, Self.controller) {
        if case .controller(let status) = $0 { status } else { nil }
      }
    case .unsupported:
      return try coder.fields(value, Self.unsupported) {
        if case .unsupported(let text) = $0 { text } else { nil }
      }
    case .invalidArgument:
      return try coder.fields(value, Self.invalidArgument) {
        if case .invalidArgument(let text) = $0 { text } else { nil }
      }
    case .limitReached:
      return try coder.fields(value, Self.limitReached) {
        if case .limitReached(let text) = $0 { text } else { nil }
      }
    case .notConnected: return .notConnected
    case .connectionFailed:
      return try coder.fields(value, Self.connectionFailed) {
        if case .connectionFailed(let status) = $0 { status } else { nil }
      }
    case .disconnected:
      return try coder.fields(value, Self.disconnected) {
        if case .disconnected(let status) = $0 { status } else { nil }
      }
    case .cancelled: return .cancelled
    case .att:
      return try coder.fields(value, Self.att) {
        if case .att(let code, let handle) = $0 { (code, handle) } else { nil }
      }
    case .attTimeout: return .attTimeout
    case .invalidResponse: return .invalidResponse
    case .channelRefused:
      return try coder.fields(value, Self.channelRefused) {
        if case .channelRefused(let result) = $0 { result } else { nil }
      }
    case .security:
      return try coder.fields(value, Self.security) {
        if case .security(let failure) = $0 { failure } else { nil }
      }
    case .transport:
      return try coder.fields(value, Self.transport) {
        if case .transport(let text) = $0 { text } else { nil }
      }
    case .unauthorized:
      return try coder.fields(value, Self.unauthorized) {
        if case .unauthorized(let text) = $0 { text } else { nil }
      }
    case .tooManyNotifications: return .tooManyNotifications
    }
  }

  /// An error is the last field of what contains it, so that none of a later version is lost.
  static func substitute(for number: UInt8) -> HostError? {
    .unsupported("error \(number) of a newer hub")
  }
}

extension SecurityFailure: HubChoice {
  enum Number: UInt8, CaseIterable {
    case pairingFailed = 1
    case peerFailed = 2
    case timeout = 3
    case keyMissing = 4
    case encryptionFailed = 5
    case disconnected = 6
  }

  var number: Number {
    switch self {
    case .pairingFailed: .pairingFailed
    case .peerFailed: .peerFailed
    case .timeout: .timeout
    case .keyMissing: .keyMissing
    case .encryptionFailed: .encryptionFailed
    case .disconnected: .disconnected
    }
  }

  static func coded<C: HubCoder>(
    _ value: Self?, _ number: Number, by coder: inout C
  ) throws(HubWireError) -> Self {
    switch number {
    case .pairingFailed:
      return try coder.fields(value, Self.pairingFailed) {
        if case .pairingFailed(let reason) = $0 { reason } else { nil }
      }
    case .peerFailed:
      return try coder.fields(value, Self.peerFailed) {
        if case .peerFailed(let reason) = $0 { reason } else { nil }
      }
    case .timeout: return .timeout
    case .keyMissing: return .keyMissing
    case .encryptionFailed:
      return try coder.fields(value, Self.encryptionFailed) {
        if case .encryptionFailed(let status) = $0 { status } else { nil }
      }
    case .disconnected: return .disconnected
    }
  }

  static func substitute(for number: UInt8) -> SecurityFailure? {
    .pairingFailed(.unspecifiedReason)
  }
}

extension BondRejection: HubNumbered {
  var number: UInt8 {
    switch self {
    case .full: 1
    case .changingAddress: 2
    case .weaker: 3
    case .unconfirmed: 4
    case .claimed: 5
    }
  }
}
