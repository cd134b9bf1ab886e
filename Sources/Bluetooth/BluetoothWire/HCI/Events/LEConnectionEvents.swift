// Events about connections.

/// A connection was made, or could not be.
package struct LEConnectionComplete: HCIRecord, HCIEventParameters {
  /// LE Connection Complete (Core 5.4, Vol 4, Part E, §7.7.65.1).
  package static let code = HCIEventCode.le(0x01)
  /// The status of the command or procedure.
  package var status: HCIStatus
  /// The connection.
  package var handle: UInt16
  /// Our end.
  package var role: LinkRole
  /// The other end.
  package var peer: PeerAddress
  /// The timing.
  package var timing: ConnectionTiming
  /// The central's clock accuracy: 0 for 500 ppm ... 7 for 20 ppm.
  package var clockAccuracy: UInt8

  /// The event with its parameters.
  package init(
    status: HCIStatus = .success, handle: UInt16, role: LinkRole, peer: PeerAddress,
    timing: ConnectionTiming, clockAccuracy: UInt8 = 0
  ) {
    self.status = status
    self.handle = handle
    self.role = role
    self.peer = peer
    self.timing = timing
    self.clockAccuracy = clockAccuracy
  }

  /// The parameters in wire order.
  package static let layout = HCILayout(Self.init(status:handle:role:peer:timing:clockAccuracy:)) {
    ($0.status, $0.handle, $0.role, $0.peer, $0.timing, $0.clockAccuracy)
  }
}

/// A connection was made, or could not be; with the private addresses in use.
package struct LEEnhancedConnectionComplete: HCIRecord, HCIEventParameters {
  /// LE Enhanced Connection Complete [v1] (Core 5.4, Vol 4, Part E, §7.7.65.10).
  package static let code = HCIEventCode.le(0x0A)
  /// The status of the command or procedure.
  package var status: HCIStatus
  /// The connection.
  package var handle: UInt16
  /// Our end.
  package var role: LinkRole
  /// The other end.
  package var peer: PeerAddress
  /// The resolvable private address that we used; nil for none.
  package var localPrivateAddress: DeviceAddress?
  /// The resolvable private address that the peer used; nil for none.
  package var peerPrivateAddress: DeviceAddress?
  /// The timing.
  package var timing: ConnectionTiming
  /// The central's clock accuracy: 0 for 500 ppm ... 7 for 20 ppm.
  package var clockAccuracy: UInt8

  /// The event with its parameters.
  package init(
    status: HCIStatus = .success, handle: UInt16, role: LinkRole, peer: PeerAddress,
    localPrivateAddress: DeviceAddress? = nil, peerPrivateAddress: DeviceAddress? = nil,
    timing: ConnectionTiming, clockAccuracy: UInt8 = 0
  ) {
    self.status = status
    self.handle = handle
    self.role = role
    self.peer = peer
    self.localPrivateAddress = localPrivateAddress
    self.peerPrivateAddress = peerPrivateAddress
    self.timing = timing
    self.clockAccuracy = clockAccuracy
  }

  /// The parameters in wire order. A missing private address is encoded as zero.
  package static let layout = HCILayout(
    {
      (
        status: HCIStatus, handle: UInt16, role: LinkRole, peer: PeerAddress,
        localBits: AddressBits, peerBits: AddressBits, timing: ConnectionTiming,
        clockAccuracy: UInt8
      ) in
      Self(
        status: status, handle: handle, role: role, peer: peer,
        localPrivateAddress: localBits.bits == 0 ? nil : localBits.asRandom,
        peerPrivateAddress: peerBits.bits == 0 ? nil : peerBits.asRandom,
        timing: timing, clockAccuracy: clockAccuracy)
    },
    {
      let none = DeviceAddress(bits: 0, kind: .random)
      return (
        $0.status, $0.handle, $0.role, $0.peer, AddressBits($0.localPrivateAddress ?? none),
        AddressBits($0.peerPrivateAddress ?? none), $0.timing, $0.clockAccuracy
      )
    })
}

/// A connection's timing changed, or could not be changed.
package struct LEConnectionUpdateComplete: HCIRecord, HCIEventParameters {
  /// LE Connection Update Complete (Core 5.4, Vol 4, Part E, §7.7.65.3).
  package static let code = HCIEventCode.le(0x03)
  /// The status of the command or procedure.
  package var status: HCIStatus
  /// The connection.
  package var handle: UInt16
  /// The timing.
  package var timing: ConnectionTiming

  /// The event with its parameters.
  package init(status: HCIStatus = .success, handle: UInt16, timing: ConnectionTiming) {
    self.status = status
    self.handle = handle
    self.timing = timing
  }

  /// The parameters in wire order.
  package static let layout = HCILayout(Self.init(status:handle:timing:)) {
    ($0.status, $0.handle, $0.timing)
  }
}

/// The features of a peer.
package struct LEReadRemoteFeaturesComplete: HCIRecord, HCIEventParameters {
  /// LE Read Remote Features Complete (Core 5.4, Vol 4, Part E, §7.7.65.4).
  package static let code = HCIEventCode.le(0x04)
  /// The status of the command or procedure.
  package var status: HCIStatus
  /// The connection.
  package var handle: UInt16
  /// The features that both ends may use.
  package var features: LEFeatures

  /// The event with its parameters.
  package init(status: HCIStatus = .success, handle: UInt16, features: LEFeatures) {
    self.status = status
    self.handle = handle
    self.features = features
  }

  /// The parameters in wire order.
  package static let layout = HCILayout(Self.init(status:handle:features:)) {
    ($0.status, $0.handle, $0.features)
  }
}

/// The central starts encryption; the controller requests the key from the host.
package struct LELongTermKeyRequest: HCIRecord, HCIEventParameters {
  /// LE Long Term Key Request (Core 5.4, Vol 4, Part E, §7.7.65.5).
  package static let code = HCIEventCode.le(0x05)
  /// The connection.
  package var handle: UInt16
  /// The number that the key was distributed with.
  package var random: UInt64
  /// The diversifier that the key was distributed with.
  package var diversifier: UInt16

  /// The event with its parameters.
  package init(handle: UInt16, random: UInt64, diversifier: UInt16) {
    self.handle = handle
    self.random = random
    self.diversifier = diversifier
  }

  /// The parameters in wire order.
  package static let layout = HCILayout(Self.init(handle:random:diversifier:)) {
    ($0.handle, $0.random, $0.diversifier)
  }
}

/// The peer requests other connection parameters.
package struct LERemoteConnectionParameterRequest: HCIRecord, HCIEventParameters {
  /// LE Remote Connection Parameter Request (Core 5.4, Vol 4, Part E, §7.7.65.6).
  package static let code = HCIEventCode.le(0x06)
  /// The connection.
  package var handle: UInt16
  /// The shortest connection interval, in units of 1.25 ms.
  package var intervalMinUnits1250us: UInt16
  /// The longest connection interval, in units of 1.25 ms.
  package var intervalMaxUnits1250us: UInt16
  /// The peripheral latency: the number of connection events that the peripheral may skip.
  package var latency: UInt16
  /// The supervision timeout, in units of 10 ms.
  package var timeoutUnits10ms: UInt16

  /// The event with its parameters.
  package init(
    handle: UInt16, intervalMinUnits1250us: UInt16, intervalMaxUnits1250us: UInt16, latency: UInt16,
    timeoutUnits10ms: UInt16
  ) {
    self.handle = handle
    self.intervalMinUnits1250us = intervalMinUnits1250us
    self.intervalMaxUnits1250us = intervalMaxUnits1250us
    self.latency = latency
    self.timeoutUnits10ms = timeoutUnits10ms
  }

  /// The parameters in wire order.
  package static let layout = HCILayout(
    Self.init(handle:intervalMinUnits1250us:intervalMaxUnits1250us:latency:timeoutUnits10ms:)
  ) {
    (
      $0.handle, $0.intervalMinUnits1250us, $0.intervalMaxUnits1250us, $0.latency,
      $0.timeoutUnits10ms
    )
  }
}

/// A connection's packets may have another length.
package struct LEDataLengthChange: HCIRecord, HCIEventParameters {
  /// LE Data Length Change (Core 5.4, Vol 4, Part E, §7.7.65.7).
  package static let code = HCIEventCode.le(0x07)
  /// The connection.
  package var handle: UInt16
  /// The current data length.
  package var length: LEMaximumDataLength

  /// The event with its parameters.
  package init(handle: UInt16, length: LEMaximumDataLength) {
    self.handle = handle
    self.length = length
  }

  /// The parameters in wire order.
  package static let layout = HCILayout(Self.init(handle:length:)) { ($0.handle, $0.length) }
}

/// A connection's PHYs changed, or could not be changed.
package struct LEPHYUpdateComplete: HCIRecord, HCIEventParameters {
  /// LE PHY Update Complete (Core 5.4, Vol 4, Part E, §7.7.65.12).
  package static let code = HCIEventCode.le(0x0C)
  /// The status of the command or procedure.
  package var status: HCIStatus
  /// The connection.
  package var handle: UInt16
  /// For sending.
  package var transmit: PHY
  /// For receiving.
  package var receive: PHY

  /// The event with its parameters.
  package init(status: HCIStatus = .success, handle: UInt16, transmit: PHY, receive: PHY) {
    self.status = status
    self.handle = handle
    self.transmit = transmit
    self.receive = receive
  }

  /// The parameters in wire order.
  package static let layout = HCILayout(Self.init(status:handle:transmit:receive:)) {
    ($0.status, $0.handle, $0.transmit, $0.receive)
  }
}

/// The channel selection algorithm of a new connection.
package struct LEChannelSelectionAlgorithm: HCIRecord, HCIEventParameters {
  /// LE Channel Selection Algorithm (Core 5.4, Vol 4, Part E, §7.7.65.20).
  package static let code = HCIEventCode.le(0x14)
  /// The connection.
  package var handle: UInt16
  /// 0 for algorithm #1, 1 for algorithm #2.
  package var algorithm: UInt8

  /// The event with its parameters.
  package init(handle: UInt16, algorithm: UInt8) {
    self.handle = handle
    self.algorithm = algorithm
  }

  /// The parameters in wire order.
  package static let layout = HCILayout(Self.init(handle:algorithm:)) { ($0.handle, $0.algorithm) }
}
