/// A bonded peer's configuration of this host's GATT server, which is stored for later links (Core
/// 5.4, Vol 3, Part G, §2.5.2, §3.3.3.3, §7.2).
package struct ClientConfiguration: Sendable, Hashable {
  /// The maximum number of descriptors that are stored, in the order of handles; others end with
  /// the link.
  package static let descriptorCountMax = 128

  /// The Database Hash of the database that the handles refer to, 16 bytes; of a hub, a hash of the database and of
  /// the programs that have published its services. The handles are not valid for any other database.
  package var databaseHash: [UInt8]
  /// Whether the peer was change-aware.
  package var isAware: Bool
  /// The first octet of Client Supported Features.
  package var features: UInt8
  /// The client characteristic configuration descriptors that are not 0, by handle.
  package var descriptors: [UInt16: UInt16]

  /// Creates a configuration.
  package init(
    databaseHash: [UInt8], isAware: Bool, features: UInt8, descriptors: [UInt16: UInt16]
  ) {
    self.databaseHash = databaseHash
    self.isAware = isAware
    self.features = features
    self.descriptors = descriptors
  }
}
