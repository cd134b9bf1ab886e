// Making and tuning connections.

/// Starts connecting; LE Connection Complete reports the outcome.
package struct LECreateConnection: HCIRecord, HCICommand {
  /// LE Create Connection (Core 5.4, Vol 4, Part E, §7.8.12).
  package static let opcode = HCIOpcode.leCreateConnection
  /// The scan interval and window while connecting.
  package var scan: ScanTiming
  /// Whether to connect to `peer` or to the devices of the filter accept list.
  package var filterPolicy: InitiatorFilterPolicy
  /// The peer; ignored where the filter accept list is used.
  package var peer: PeerAddress
  /// The type of the host's own address.
  package var ownAddressType: OwnAddressType
  /// The wanted timing.
  package var timing: ConnectionTimingRequest

  /// The command with its parameters.
  package init(
    scan: ScanTiming = ScanTiming(), filterPolicy: InitiatorFilterPolicy = .peerAddress,
    peer: PeerAddress = PeerAddress(DeviceAddress(bits: 0, kind: .public)),
    ownAddressType: OwnAddressType = .public, timing: ConnectionTimingRequest
  ) {
    self.scan = scan
    self.filterPolicy = filterPolicy
    self.peer = peer
    self.ownAddressType = ownAddressType
    self.timing = timing
  }

  /// The parameters in wire order.
  package static let layout = HCILayout(Self.init(scan:filterPolicy:peer:ownAddressType:timing:)) {
    ($0.scan, $0.filterPolicy, $0.peer, $0.ownAddressType, $0.timing)
  }
}

/// Stops connecting; LE Connection Complete follows with Unknown Connection Identifier.
package struct LECreateConnectionCancel: ParameterlessCommand {
  /// LE Create Connection Cancel (Core 5.4, Vol 4, Part E, §7.8.13).
  package static let opcode = HCIOpcode.leCreateConnectionCancel

  /// The command.
  package init() {}
}

/// Changes the timing of a connection; LE Connection Update Complete reports the outcome.
package struct LEConnectionUpdate: HCIRecord, HCICommand {
  /// LE Connection Update (Core 5.4, Vol 4, Part E, §7.8.18).
  package static let opcode = HCIOpcode.leConnectionUpdate
  /// The connection.
  package var handle: UInt16
  /// The wanted timing.
  package var timing: ConnectionTimingRequest

  /// The command with its parameters.
  package init(handle: UInt16, timing: ConnectionTimingRequest) {
    self.handle = handle
    self.timing = timing
  }

  /// The parameters in wire order.
  package static let layout = HCILayout(Self.init(handle:timing:)) { ($0.handle, $0.timing) }
}

/// Classifies the data channels.
package struct LESetHostChannelClassification: HCIRecord, HCICommand {
  /// LE Set Host Channel Classification (Core 5.4, Vol 4, Part E, §7.8.19).
  package static let opcode = HCIOpcode.leSetHostChannelClassification
  /// The channels that are not known to be bad.
  package var channels: ChannelMap

  /// The command with its parameters.
  package init(channels: ChannelMap) {
    self.channels = channels
  }

  /// The parameters in wire order.
  package static let layout = HCILayout(Self.init(channels:)) { $0.channels }
}

/// Reads which data channels a connection uses.
package struct LEReadChannelMap: ConnectionCommand {
  /// The return parameters.
  package typealias Return = LEReadChannelMapReturn
  /// LE Read Channel Map (Core 5.4, Vol 4, Part E, §7.8.20).
  package static let opcode = HCIOpcode.leReadChannelMap
  /// The connection.
  package var handle: UInt16

  /// The command with its parameters.
  package init(handle: UInt16) {
    self.handle = handle
  }

  /// The parameters in wire order.
  package static let layout = HCILayout(Self.init(handle:)) { $0.handle }
}

/// The data channels of a connection.
package struct LEReadChannelMapReturn: HCIRecord {
  /// The connection.
  package var handle: UInt16
  /// The channels in use.
  package var channels: ChannelMap

  /// Parameters from their values.
  package init(handle: UInt16, channels: ChannelMap) {
    self.handle = handle
    self.channels = channels
  }

  /// The parameters in wire order.
  package static let layout = HCILayout(Self.init(handle:channels:)) { ($0.handle, $0.channels) }
}

/// Requests the peer's features, which an event reports.
package struct LEReadRemoteFeatures: ConnectionCommand {
  /// LE Read Remote Features (Core 5.4, Vol 4, Part E, §7.8.21).
  package static let opcode = HCIOpcode.leReadRemoteFeatures
  /// The connection.
  package var handle: UInt16

  /// The command with its parameters.
  package init(handle: UInt16) {
    self.handle = handle
  }

  /// The parameters in wire order.
  package static let layout = HCILayout(Self.init(handle:)) { $0.handle }
}

/// Accepts the connection parameters that the peer requested.
package struct LERemoteConnectionParameterRequestReply: HCIRecord, HCICommand {
  /// The return parameters.
  package typealias Return = ConnectionHandleReturn
  /// LE Remote Connection Parameter Request Reply (Core 5.4, Vol 4, Part E, §7.8.31).
  package static let opcode = HCIOpcode.leRemoteConnectionParameterRequestReply
  /// The connection.
  package var handle: UInt16
  /// The accepted timing.
  package var timing: ConnectionTimingRequest

  /// The command with its parameters.
  package init(handle: UInt16, timing: ConnectionTimingRequest) {
    self.handle = handle
    self.timing = timing
  }

  /// The parameters in wire order.
  package static let layout = HCILayout(Self.init(handle:timing:)) { ($0.handle, $0.timing) }
}

/// Rejects the connection parameters that the peer requested.
package struct LERemoteConnectionParameterRequestNegativeReply: HCIRecord, HCICommand {
  /// The return parameters.
  package typealias Return = ConnectionHandleReturn
  /// LE Remote Connection Parameter Request Negative Reply (Core 5.4, Vol 4, Part E, §7.8.32).
  package static let opcode = HCIOpcode.leRemoteConnectionParameterRequestNegativeReply
  /// The connection.
  package var handle: UInt16
  /// The reason.
  package var reason: HCIStatus

  /// The command with its parameters.
  package init(handle: UInt16, reason: HCIStatus) {
    self.handle = handle
    self.reason = reason
  }

  /// The parameters in wire order.
  package static let layout = HCILayout(Self.init(handle:reason:)) { ($0.handle, $0.reason) }
}

/// The connection that a command concerned.
package struct ConnectionHandleReturn: HCIRecord {
  /// The connection.
  package var handle: UInt16

  /// Parameters from their values.
  package init(handle: UInt16) {
    self.handle = handle
  }

  /// The parameters in wire order.
  package static let layout = HCILayout(Self.init(handle:)) { $0.handle }
}

/// Suggests how long a connection's packets may be.
package struct LESetDataLength: HCIRecord, HCICommand {
  /// The return parameters.
  package typealias Return = ConnectionHandleReturn
  /// LE Set Data Length (Core 5.4, Vol 4, Part E, §7.8.33).
  package static let opcode = HCIOpcode.leSetDataLength
  /// The connection.
  package var handle: UInt16
  /// The most bytes in a packet, 27 ... 251.
  package var txOctets: UInt16
  /// The longest time for a packet, 328 ... 17040 µs.
  package var txTimeMicroseconds: UInt16

  /// The command with its parameters.
  package init(handle: UInt16, txOctets: UInt16, txTimeMicroseconds: UInt16) {
    self.handle = handle
    self.txOctets = txOctets
    self.txTimeMicroseconds = txTimeMicroseconds
  }

  /// The parameters in wire order.
  package static let layout = HCILayout(Self.init(handle:txOctets:txTimeMicroseconds:)) {
    ($0.handle, $0.txOctets, $0.txTimeMicroseconds)
  }
}

/// Reads what LE Write Suggested Default Data Length wrote.
package struct LEReadSuggestedDefaultDataLength: ParameterlessCommand {
  /// The return parameters.
  package typealias Return = LESuggestedDataLength
  /// LE Read Suggested Default Data Length (Core 5.4, Vol 4, Part E, §7.8.34).
  package static let opcode = HCIOpcode.leReadSuggestedDefaultDataLength

  /// The command.
  package init() {}
}

/// The data length that the host suggests for new connections.
package struct LESuggestedDataLength: HCIRecord {
  /// The most bytes in a packet, 27 ... 251.
  package var txOctets: UInt16
  /// The longest time for a packet, 328 ... 17040 µs.
  package var txTimeMicroseconds: UInt16

  /// Parameters from their values.
  package init(txOctets: UInt16, txTimeMicroseconds: UInt16) {
    self.txOctets = txOctets
    self.txTimeMicroseconds = txTimeMicroseconds
  }

  /// The parameters in wire order.
  package static let layout = HCILayout(Self.init(txOctets:txTimeMicroseconds:)) {
    ($0.txOctets, $0.txTimeMicroseconds)
  }
}

/// Suggests how long packets of new connections may be.
package struct LEWriteSuggestedDefaultDataLength: HCIRecord, HCICommand {
  /// LE Write Suggested Default Data Length (Core 5.4, Vol 4, Part E, §7.8.35).
  package static let opcode = HCIOpcode.leWriteSuggestedDefaultDataLength
  /// The suggestion.
  package var length: LESuggestedDataLength

  /// The command with its parameters.
  package init(length: LESuggestedDataLength) {
    self.length = length
  }

  /// The parameters in wire order.
  package static let layout = HCILayout(Self.init(length:)) { $0.length }
}

/// Reads how long packets the controller can do.
package struct LEReadMaximumDataLength: ParameterlessCommand {
  /// The return parameters.
  package typealias Return = LEMaximumDataLength
  /// LE Read Maximum Data Length (Core 5.4, Vol 4, Part E, §7.8.46).
  package static let opcode = HCIOpcode.leReadMaximumDataLength

  /// The command.
  package init() {}
}

/// The maximum data length that the controller supports.
package struct LEMaximumDataLength: HCIRecord {
  /// The most bytes to send in a packet.
  package var txOctets: UInt16
  /// The longest time to send a packet.
  package var txTimeMicroseconds: UInt16
  /// The most bytes to receive in a packet.
  package var rxOctets: UInt16
  /// The longest time to receive a packet.
  package var rxTimeMicroseconds: UInt16

  /// Parameters from their values.
  package init(
    txOctets: UInt16, txTimeMicroseconds: UInt16, rxOctets: UInt16, rxTimeMicroseconds: UInt16
  ) {
    self.txOctets = txOctets
    self.txTimeMicroseconds = txTimeMicroseconds
    self.rxOctets = rxOctets
    self.rxTimeMicroseconds = rxTimeMicroseconds
  }

  /// The parameters in wire order.
  package static let layout = HCILayout(
    Self.init(txOctets:txTimeMicroseconds:rxOctets:rxTimeMicroseconds:)
  ) {
    ($0.txOctets, $0.txTimeMicroseconds, $0.rxOctets, $0.rxTimeMicroseconds)
  }
}

/// Reads the PHYs of a connection.
package struct LEReadPHY: ConnectionCommand {
  /// The return parameters.
  package typealias Return = LEReadPHYReturn
  /// LE Read PHY (Core 5.4, Vol 4, Part E, §7.8.47).
  package static let opcode = HCIOpcode.leReadPHY
  /// The connection.
  package var handle: UInt16

  /// The command with its parameters.
  package init(handle: UInt16) {
    self.handle = handle
  }

  /// The parameters in wire order.
  package static let layout = HCILayout(Self.init(handle:)) { $0.handle }
}

/// The PHYs of a connection.
package struct LEReadPHYReturn: HCIRecord {
  /// The connection.
  package var handle: UInt16
  /// For sending.
  package var transmit: PHY
  /// For receiving.
  package var receive: PHY

  /// Parameters from their values.
  package init(handle: UInt16, transmit: PHY, receive: PHY) {
    self.handle = handle
    self.transmit = transmit
    self.receive = receive
  }

  /// The parameters in wire order.
  package static let layout = HCILayout(Self.init(handle:transmit:receive:)) {
    ($0.handle, $0.transmit, $0.receive)
  }
}

/// Sets the preferred PHYs of new connections.
package struct LESetDefaultPHY: HCIRecord, HCICommand {
  /// LE Set Default PHY (Core 5.4, Vol 4, Part E, §7.8.48).
  package static let opcode = HCIOpcode.leSetDefaultPHY
  /// The wanted PHYs.
  package var preference: PHYPreference

  /// The command with its parameters.
  package init(preference: PHYPreference) {
    self.preference = preference
  }

  /// The parameters in wire order.
  package static let layout = HCILayout(Self.init(preference:)) { $0.preference }
}

/// Requests other PHYs; LE PHY Update Complete reports the outcome.
package struct LESetPHY: HCIRecord, HCICommand {
  /// LE Set PHY (Core 5.4, Vol 4, Part E, §7.8.49).
  package static let opcode = HCIOpcode.leSetPHY
  /// The connection.
  package var handle: UInt16
  /// The wanted PHYs.
  package var preference: PHYPreference
  /// The wanted coding on LE Coded: 0 any, 1 S=2, 2 S=8.
  package var coding: UInt16

  /// The command with its parameters.
  package init(handle: UInt16, preference: PHYPreference, coding: UInt16 = 0) {
    self.handle = handle
    self.preference = preference
    self.coding = coding
  }

  /// The parameters in wire order.
  package static let layout = HCILayout(Self.init(handle:preference:coding:)) {
    ($0.handle, $0.preference, $0.coding)
  }
}
