import BluetoothInterface
import BluetoothWire

// Questions of pairings, their answers, and what devices exchange outside of Bluetooth.

extension PairingPrompt: HubChoice {
  enum Number: UInt8, CaseIterable {
    case consent = 1
    case displayPasskey = 2
    case enterPasskey = 3
    case compareNumber = 4
    case replaceBond = 5
  }

  var number: Number {
    switch self {
    case .consent: .consent
    case .displayPasskey: .displayPasskey
    case .enterPasskey: .enterPasskey
    case .compareNumber: .compareNumber
    case .replaceBond: .replaceBond
    }
  }

  static func coded<C: HubCoder>(
    _ value: Self?, _ number: Number, by coder: inout C
  ) throws(HubWireError) -> Self {
    switch number {
    case .consent: return .consent
    case .displayPasskey:
      return try coder.fields(value, Self.displayPasskey) {
        if case .displayPasskey(let passkey) = $0 { passkey } else { nil }
      }
    case .enterPasskey: return .enterPasskey
    case .compareNumber:
      return try coder.fields(value, Self.compareNumber) {
        if case .compareNumber(let shown) = $0 { shown } else { nil }
      }
    case .replaceBond:
      return try coder.fields(value, Self.replaceBond) {
        if case .replaceBond(let peer) = $0 { peer } else { nil }
      }
    }
  }
}

extension PairingAnswer: HubChoice {
  enum Number: UInt8, CaseIterable {
    case accept = 1
    case passkey = 2
    case reject = 3
  }

  var number: Number {
    switch self {
    case .accept: .accept
    case .passkey: .passkey
    case .reject: .reject
    }
  }

  static func coded<C: HubCoder>(
    _ value: Self?, _ number: Number, by coder: inout C
  ) throws(HubWireError) -> Self {
    switch number {
    case .accept: return .accept
    case .passkey:
      return try coder.fields(value, Self.passkey) {
        if case .passkey(let passkey) = $0 { passkey } else { nil }
      }
    case .reject: return .reject
    }
  }
}

extension OutOfBandData: HubChoice {
  enum Number: UInt8, CaseIterable {
    case secureConnections = 1
    case legacy = 2
  }

  var number: Number {
    switch self {
    case .secureConnections: .secureConnections
    case .legacy: .legacy
    }
  }

  static func coded<C: HubCoder>(
    _ value: Self?, _ number: Number, by coder: inout C
  ) throws(HubWireError) -> Self {
    switch number {
    case .secureConnections:
      return try coder.fields(value, Self.secureConnections) {
        if case .secureConnections(confirm: let confirm, random: let random) = $0 {
          (confirm, random)
        } else {
          nil
        }
      }
    case .legacy:
      return try coder.fields(value, Self.legacy) {
        if case .legacy(temporaryKey: let key) = $0 { key } else { nil }
      }
    }
  }
}
