import BluetoothWire

/// What a controller reported about itself while it was started.
struct ControllerAbilities: Sendable {
  /// Its version and manufacturer; nil if it did not report them.
  var version: ReadLocalVersionInformationReturn?
  /// The supported commands; empty if it did not report them.
  var commands = SupportedCommands()
  /// The supported link layer features.
  var features: LEFeatures = []
  /// The longest ACL packet payload that it accepts, in bytes.
  var aclByteCountMax = 0
  /// How many ACL packets it buffers.
  var aclPacketCount = 0
  /// The address that this host uses.
  var address = DeviceAddress(bits: 0, kind: .public)
  /// How many peers its filter accept list takes.
  var acceptListCapacity = 0
  /// How many peers its resolving list takes; 0 where it has none.
  var resolvingListCapacity = 0
  /// The longest link layer packet payload that it sends, in bytes.
  var linkDataByteCountMax = 27
  /// The time that such a packet may take, in microseconds.
  var linkDataTimeMaxMicroseconds = 328
  /// What it has kept of the data length that this host suggested; nil if it did not report it.
  var suggestedDataLength: LESuggestedDataLength?
  /// Whether it hands over data only while the host has buffers for it.
  var usesHostFlowControl = false
  /// How many advertising sets it has.
  var advertisingSetCount = 1
  /// The longest advertising data.
  var advertisingDataByteCountMax = 31

  /// Whether the extended commands are used to advertise, scan and connect. A controller takes
  /// either these or the legacy ones, not both (Core 5.4, Vol 4, Part E, §3.1.1).
  var usesExtendedCommands: Bool {
    features.contains(.extendedAdvertising)
      && commands.contains(.leSetExtendedAdvertisingParameters)
      && commands.contains(.leSetExtendedScanParameters)
      && commands.contains(.leExtendedCreateConnection)
  }

  /// Whether it can resolve private addresses of peers.
  var hasResolvingList: Bool {
    features.contains(.privacy)
      && [
        .leReadResolvingListSize, .leAddDeviceToResolvingList, .leRemoveDeviceFromResolvingList,
        .leSetAddressResolutionEnable,
      ].allSatisfy { commands.contains($0) }
  }

  /// Whether longer link layer packets can be agreed on.
  var canLengthenPackets: Bool {
    features.contains(.dataLengthExtension) && commands.contains(.leSetDataLength)
      && linkDataByteCountMax > 27
  }

  /// Whether it has the LE 2M PHY and lets the host choose it.
  var canUse2M: Bool { features.contains(.le2M) && commands.contains(.leSetPHY) }

  /// Whether scanning and connecting listen on LE Coded, too.
  var canUseCoded: Bool { features.contains(.leCoded) && usesExtendedCommands }

  /// Whether links may use a part of their events.
  var canSubrate: Bool {
    features.contains(.connectionSubrating) && commands.contains(.leSubrateRequest)
      && commands.contains(.leSetHostFeature)
  }

  /// The type of this host's address in commands.
  var ownAddressType: OwnAddressType { address.kind == .random ? .random : .public }
}
