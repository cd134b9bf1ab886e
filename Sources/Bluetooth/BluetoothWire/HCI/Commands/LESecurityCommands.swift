// Encryption, the filter accept list, and privacy.

/// Encrypts a connection, as its central.
package struct LEEnableEncryption: HCIRecord, HCICommand {
  /// LE Enable Encryption (Core 5.4, Vol 4, Part E, §7.8.24).
  package static let opcode = HCIOpcode.leEnableEncryption
  /// The connection.
  package var handle: UInt16
  /// The number that the key was distributed with; 0 with LE Secure Connections.
  package var random: UInt64
  /// The diversifier that the key was distributed with; 0 with LE Secure Connections.
  package var diversifier: UInt16
  /// The key.
  package var longTermKey: UInt128

  /// The command with its parameters.
  package init(handle: UInt16, random: UInt64, diversifier: UInt16, longTermKey: UInt128) {
    self.handle = handle
    self.random = random
    self.diversifier = diversifier
    self.longTermKey = longTermKey
  }

  /// The parameters in wire order.
  package static let layout = HCILayout(Self.init(handle:random:diversifier:longTermKey:)) {
    ($0.handle, $0.random, $0.diversifier, $0.longTermKey)
  }
}

/// Returns the requested long term key to the controller.
package struct LELongTermKeyRequestReply: HCIRecord, HCICommand {
  /// The return parameters.
  package typealias Return = ConnectionHandleReturn
  /// LE Long Term Key Request Reply (Core 5.4, Vol 4, Part E, §7.8.25).
  package static let opcode = HCIOpcode.leLongTermKeyRequestReply
  /// The connection.
  package var handle: UInt16
  /// The key.
  package var longTermKey: UInt128

  /// The command with its parameters.
  package init(handle: UInt16, longTermKey: UInt128) {
    self.handle = handle
    self.longTermKey = longTermKey
  }

  /// The parameters in wire order.
  package static let layout = HCILayout(Self.init(handle:longTermKey:)) {
    ($0.handle, $0.longTermKey)
  }
}

/// Reports to the controller that there is no long term key.
package struct LELongTermKeyRequestNegativeReply: ConnectionCommand {
  /// The return parameters.
  package typealias Return = ConnectionHandleReturn
  /// LE Long Term Key Request Negative Reply (Core 5.4, Vol 4, Part E, §7.8.26).
  package static let opcode = HCIOpcode.leLongTermKeyRequestNegativeReply
  /// The connection.
  package var handle: UInt16

  /// The command with its parameters.
  package init(handle: UInt16) {
    self.handle = handle
  }

  /// The parameters in wire order.
  package static let layout = HCILayout(Self.init(handle:)) { $0.handle }
}

/// Reads the size of the filter accept list.
package struct LEReadFilterAcceptListSize: ParameterlessCommand {
  /// The return parameters.
  package typealias Return = ListSizeReturn
  /// LE Read Filter Accept List Size (Core 5.4, Vol 4, Part E, §7.8.14).
  package static let opcode = HCIOpcode.leReadFilterAcceptListSize

  /// The command.
  package init() {}
}

/// The size of a list of devices.
package struct ListSizeReturn: HCIRecord {
  /// The number; it may change.
  package var count: UInt8

  /// Parameters from their values.
  package init(count: UInt8) {
    self.count = count
  }

  /// The parameters in wire order.
  package static let layout = HCILayout(Self.init(count:)) { $0.count }
}

/// Empties the filter accept list.
package struct LEClearFilterAcceptList: ParameterlessCommand {
  /// LE Clear Filter Accept List (Core 5.4, Vol 4, Part E, §7.8.15).
  package static let opcode = HCIOpcode.leClearFilterAcceptList

  /// The command.
  package init() {}
}

/// Adds a device to the filter accept list.
package struct LEAddDeviceToFilterAcceptList: HCIRecord, HCICommand {
  /// LE Add Device To Filter Accept List (Core 5.4, Vol 4, Part E, §7.8.16).
  package static let opcode = HCIOpcode.leAddDeviceToFilterAcceptList
  /// The device; nil for all that advertise without an address.
  package var address: DeviceAddress?

  /// The command with its parameters.
  package init(address: DeviceAddress?) {
    self.address = address
  }

  /// The parameters in wire order.
  package static let layout = HCILayout(Self.init(address:)) { $0.address }
}

/// Removes a device from the filter accept list.
package struct LERemoveDeviceFromFilterAcceptList: HCIRecord, HCICommand {
  /// LE Remove Device From Filter Accept List (Core 5.4, Vol 4, Part E, §7.8.17).
  package static let opcode = HCIOpcode.leRemoveDeviceFromFilterAcceptList
  /// The device; nil for all that advertise without an address.
  package var address: DeviceAddress?

  /// The command with its parameters.
  package init(address: DeviceAddress?) {
    self.address = address
  }

  /// The parameters in wire order.
  package static let layout = HCILayout(Self.init(address:)) { $0.address }
}

/// Adds a device and its keys to the resolving list.
package struct LEAddDeviceToResolvingList: HCIRecord, HCICommand {
  /// LE Add Device To Resolving List (Core 5.4, Vol 4, Part E, §7.8.38).
  package static let opcode = HCIOpcode.leAddDeviceToResolvingList
  /// The device.
  package var peerIdentity: DeviceAddress
  /// The device's identity resolving key; 0 where it has none.
  package var peerKey: UInt128
  /// Our identity resolving key for it; 0 where we use none.
  package var localKey: UInt128

  /// The command with its parameters.
  package init(peerIdentity: DeviceAddress, peerKey: UInt128, localKey: UInt128) {
    self.peerIdentity = peerIdentity
    self.peerKey = peerKey
    self.localKey = localKey
  }

  /// The parameters in wire order.
  package static let layout = HCILayout(Self.init(peerIdentity:peerKey:localKey:)) {
    ($0.peerIdentity, $0.peerKey, $0.localKey)
  }
}

/// Removes a device from the resolving list.
package struct LERemoveDeviceFromResolvingList: HCIRecord, HCICommand {
  /// LE Remove Device From Resolving List (Core 5.4, Vol 4, Part E, §7.8.39).
  package static let opcode = HCIOpcode.leRemoveDeviceFromResolvingList
  /// The device.
  package var peerIdentity: DeviceAddress

  /// The command with its parameters.
  package init(peerIdentity: DeviceAddress) {
    self.peerIdentity = peerIdentity
  }

  /// The parameters in wire order.
  package static let layout = HCILayout(Self.init(peerIdentity:)) { $0.peerIdentity }
}

/// Empties the resolving list.
package struct LEClearResolvingList: ParameterlessCommand {
  /// LE Clear Resolving List (Core 5.4, Vol 4, Part E, §7.8.40).
  package static let opcode = HCIOpcode.leClearResolvingList

  /// The command.
  package init() {}
}

/// Reads the size of the resolving list.
package struct LEReadResolvingListSize: ParameterlessCommand {
  /// The return parameters.
  package typealias Return = ListSizeReturn
  /// LE Read Resolving List Size (Core 5.4, Vol 4, Part E, §7.8.41).
  package static let opcode = HCIOpcode.leReadResolvingListSize

  /// The command.
  package init() {}
}

/// Reads which private address a device uses now.
package struct LEReadPeerResolvableAddress: HCIRecord, HCICommand {
  /// The return parameters.
  package typealias Return = ResolvableAddressReturn
  /// LE Read Peer Resolvable Address (Core 5.4, Vol 4, Part E, §7.8.42).
  package static let opcode = HCIOpcode.leReadPeerResolvableAddress
  /// The device.
  package var peerIdentity: DeviceAddress

  /// The command with its parameters.
  package init(peerIdentity: DeviceAddress) {
    self.peerIdentity = peerIdentity
  }

  /// The parameters in wire order.
  package static let layout = HCILayout(Self.init(peerIdentity:)) { $0.peerIdentity }
}

/// Reads which private address we use towards a device now.
package struct LEReadLocalResolvableAddress: HCIRecord, HCICommand {
  /// The return parameters.
  package typealias Return = ResolvableAddressReturn
  /// LE Read Local Resolvable Address (Core 5.4, Vol 4, Part E, §7.8.43).
  package static let opcode = HCIOpcode.leReadLocalResolvableAddress
  /// The device.
  package var peerIdentity: DeviceAddress

  /// The command with its parameters.
  package init(peerIdentity: DeviceAddress) {
    self.peerIdentity = peerIdentity
  }

  /// The parameters in wire order.
  package static let layout = HCILayout(Self.init(peerIdentity:)) { $0.peerIdentity }
}

/// A resolvable private address.
package struct ResolvableAddressReturn: HCIRecord {
  /// The address.
  package var address: DeviceAddress

  /// Parameters from their values.
  package init(address: DeviceAddress) { self.address = address }

  /// The address without its type, which is always random.
  package static let layout = HCILayout({ (bits: AddressBits) in Self(address: bits.asRandom) }) {
    AddressBits($0.address)
  }
}

/// Turns the resolving of private addresses on or off.
package struct LESetAddressResolutionEnable: HCIRecord, HCICommand {
  /// LE Set Address Resolution Enable (Core 5.4, Vol 4, Part E, §7.8.44).
  package static let opcode = HCIOpcode.leSetAddressResolutionEnable
  /// Whether the controller resolves.
  package var isEnabled: Bool

  /// The command with its parameters.
  package init(isEnabled: Bool) {
    self.isEnabled = isEnabled
  }

  /// The parameters in wire order.
  package static let layout = HCILayout(Self.init(isEnabled:)) { $0.isEnabled }
}

/// Sets the time after which the controller replaces a private address.
package struct LESetResolvablePrivateAddressTimeout: HCIRecord, HCICommand {
  /// LE Set Resolvable Private Address Timeout (Core 5.4, Vol 4, Part E, §7.8.45).
  package static let opcode = HCIOpcode.leSetResolvablePrivateAddressTimeout
  /// The timeout in seconds, 1 ... 3600.
  package var seconds: UInt16

  /// The command with its parameters.
  package init(seconds: UInt16 = 900) {
    self.seconds = seconds
  }

  /// The parameters in wire order.
  package static let layout = HCILayout(Self.init(seconds:)) { $0.seconds }
}

/// Sets whether a device may also use its identity address.
package struct LESetPrivacyMode: HCIRecord, HCICommand {
  /// LE Set Privacy Mode (Core 5.4, Vol 4, Part E, §7.8.77).
  package static let opcode = HCIOpcode.leSetPrivacyMode
  /// The device.
  package var peerIdentity: DeviceAddress
  /// The privacy mode.
  package var mode: PrivacyMode

  /// The command with its parameters.
  package init(peerIdentity: DeviceAddress, mode: PrivacyMode) {
    self.peerIdentity = peerIdentity
    self.mode = mode
  }

  /// The parameters in wire order.
  package static let layout = HCILayout(Self.init(peerIdentity:mode:)) {
    ($0.peerIdentity, $0.mode)
  }
}

/// Whether a peer with an identity resolving key may also use its identity address.
package enum PrivacyMode: UInt8, HCICodable {
  /// Network privacy mode: packets with the peer's identity address are ignored.
  case network = 0
  /// Device privacy mode: packets with the peer's identity address are accepted.
  case device = 1
}
