package import BluetoothWire

/// The attributes of a peer that a session has discovered over the link that is open.
package struct PeerAttributes: Sendable, Hashable {
  /// A discovered service.
  package struct Service: Sendable, Hashable {
    package var service: RemoteService
    /// Whether a discovery of services has found it, and not only one of included services.
    package var isListed: Bool
    /// The first handles of the services that it includes; nil until they are discovered.
    package var includedServices: [UInt16]?
    /// In the order of their handles; nil until they are discovered.
    package var characteristics: [Characteristic]?

    package init(
      service: RemoteService, isListed: Bool, includedServices: [UInt16]? = nil,
      characteristics: [Characteristic]? = nil
    ) {
      self.service = service
      self.isListed = isListed
      self.includedServices = includedServices
      self.characteristics = characteristics
    }
  }

  /// A discovered characteristic.
  package struct Characteristic: Sendable, Hashable {
    package var characteristic: RemoteCharacteristic
    /// Nil until they are discovered.
    package var descriptors: [RemoteDescriptor]?

    package init(characteristic: RemoteCharacteristic, descriptors: [RemoteDescriptor]? = nil) {
      self.characteristic = characteristic
      self.descriptors = descriptors
    }
  }

  package var peer: DeviceAddress
  /// In the order of their handles.
  package var services: [Service]

  package init(peer: DeviceAddress, services: [Service] = []) {
    self.peer = peer
    self.services = services
  }
}
