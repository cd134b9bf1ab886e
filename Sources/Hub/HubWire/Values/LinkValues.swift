import BluetoothInterface
import BluetoothWire

// The states of the radio and of links.

extension RadioState: HubNumbered {
  var number: UInt8 {
    switch self {
    case .unknown: 1
    case .resetting: 2
    case .unsupported: 3
    case .unauthorized: 4
    case .poweredOff: 5
    case .poweredOn: 6
    }
  }

  static var substitute: RadioState? { .unknown }
}

extension LinkInfo.Role: HubNumbered {
  var number: UInt8 {
    switch self {
    case .central: 1
    case .peripheral: 2
    }
  }
}

extension AdvertisingReport: HubCodable {
  static func coded<C: HubCoder>(_ value: Self?, by coder: inout C) throws(HubWireError) -> Self {
    try AdvertisingReport(
      address: coder.field(value) { $0.address },
      isConnectable: coder.field(value) { $0.isConnectable },
      isScannable: coder.field(value) { $0.isScannable },
      isLegacy: coder.field(value) { $0.isLegacy },
      rssi: coder.field(value) { $0.rssi },
      txPower: coder.field(value) { $0.txPower },
      data: coder.field(value) { $0.data },
      scanResponse: coder.field(value) { $0.scanResponse },
      heardAt: coder.field(value) { $0.heardAt })
  }
}

extension LinkInfo: HubCodable {
  static func coded<C: HubCoder>(_ value: Self?, by coder: inout C) throws(HubWireError) -> Self {
    try coder.enclosed { coder throws(HubWireError) in
      var link = try LinkInfo(
        peer: coder.field(value) { $0.peer }, role: coder.field(value) { $0.role })
      link.mtu = try coder.field(value) { $0.mtu }
      link.intervalUnits = try coder.field(value) { $0.intervalUnits }
      link.latency = try coder.field(value) { $0.latency }
      link.timeoutUnits = try coder.field(value) { $0.timeoutUnits }
      link.subrateFactor = try coder.field(value) { $0.subrateFactor }
      link.continuationNumber = try coder.field(value) { $0.continuationNumber }
      link.transmitPHY = try coder.field(value) { $0.transmitPHY }
      link.receivePHY = try coder.field(value) { $0.receivePHY }
      link.sentPacketByteCountMax = try coder.field(value) { $0.sentPacketByteCountMax }
      link.receivedPacketByteCountMax = try coder.field(value) { $0.receivedPacketByteCountMax }
      link.encryption = try coder.field(value) { $0.encryption }
      link.name = try coder.field(value) { $0.name }
      link.services = try coder.field(value) { $0.services }
      return link
    }
  }
}

extension EncryptionInfo: HubCodable {
  static func coded<C: HubCoder>(_ value: Self?, by coder: inout C) throws(HubWireError) -> Self {
    try EncryptionInfo(
      keyByteCount: coder.field(value) { $0.keyByteCount },
      isAuthenticated: coder.field(value) { $0.isAuthenticated },
      isSecureConnections: coder.field(value) { $0.isSecureConnections })
  }
}

extension ChannelInfo: HubCodable {
  static func coded<C: HubCoder>(_ value: Self?, by coder: inout C) throws(HubWireError) -> Self {
    try ChannelInfo(
      id: coder.field(value) { $0.id }, peer: coder.field(value) { $0.peer },
      psm: coder.field(value) { $0.psm }, peerMTU: coder.field(value) { $0.peerMTU })
  }
}

extension ConnectionParameters: HubCodable {
  static func coded<C: HubCoder>(_ value: Self?, by coder: inout C) throws(HubWireError) -> Self {
    try ConnectionParameters(
      intervalUnits: coder.field(value) { $0.intervalUnits },
      latency: coder.field(value) { $0.latency },
      timeoutUnits: coder.field(value) { $0.timeoutUnits })
  }
}

extension PHYPreference: HubCodable {
  static func coded<C: HubCoder>(_ value: Self?, by coder: inout C) throws(HubWireError) -> Self {
    try PHYPreference(
      transmit: coder.field(value) { $0.transmit }, receive: coder.field(value) { $0.receive })
  }
}

extension SubrateRequest: HubCodable {
  static func coded<C: HubCoder>(_ value: Self?, by coder: inout C) throws(HubWireError) -> Self {
    try SubrateRequest(
      factorMin: coder.field(value) { $0.factorMin },
      factorMax: coder.field(value) { $0.factorMax },
      latencyMax: coder.field(value) { $0.latencyMax },
      continuationNumber: coder.field(value) { $0.continuationNumber },
      timeoutUnits10ms: coder.field(value) { $0.timeoutUnits10ms })
  }
}
