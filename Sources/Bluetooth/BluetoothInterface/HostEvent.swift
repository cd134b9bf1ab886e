public import BluetoothWire
public import Essentials

/// An event that a host delivers to a client.
///
/// A new client gets the state and every open link first. Received values share the storage of
/// the packet they came in: copy one that is kept for long.
public enum HostEvent: Sendable {
  /// The radio's state; the first event of every client.
  case stateChanged(RadioState)
  /// A request with this token has ended.
  case completed(RequestToken, Result<HostReply, HostError>)

  /// A peer advertises what the client's scan looks for.
  case discovered(AdvertisingReport)

  /// A link of either role was established, for any client.
  case linkOpened(LinkInfo)
  /// A property of an open link changed: MTU, timing, encryption, the peer's name or services.
  case linkUpdated(LinkInfo)
  /// A link went down, for all clients.
  case linkClosed(DeviceAddress, HostError)
  /// The link that this client requested is up; follows `linkOpened` if it is new.
  case connected(DeviceAddress)
  /// The link that this client requested cannot be established.
  case connectionFailed(DeviceAddress, HostError)
  /// This client no longer holds the link: nil when it requested that itself, else the reason. With
  /// `reconnecting`, the host is trying to connect again.
  case disconnected(DeviceAddress, HostError?, reconnecting: Bool)

  /// A pairing needs an answer from a person, or has a number to show. Sent to the client that was
  /// the pairing agent when the pairing began.
  case pairingPrompt(DeviceAddress, PairingPrompt, PairingPromptID)
  /// A pairing has ended, for all clients; nil if it succeeded. Its prompts are no longer valid.
  case pairingEnded(DeviceAddress, SecurityFailure?)

  /// A notification or indication that this client subscribed to.
  case valueUpdated(DeviceAddress, handle: UInt16, ArraySlice<UInt8>)
  /// This number of notifications of the characteristic was dropped before the next `valueUpdated`,
  /// because this client was behind and waiting for it would have held up others.
  case valuesDropped(DeviceAddress, handle: UInt16, count: Int)
  /// The host waits until this client has acknowledged every event up to this one. Only for clients
  /// that acknowledge events.
  case acknowledgementRequested
  /// The peer's attributes in this range changed; discovered attributes there are no longer valid.
  case servicesChanged(DeviceAddress, HandleRange)

  /// A peer reads or writes one of this client's characteristics.
  case serverRequest(ServerRequest)
  /// This number of writes without response to this client's characteristic was dropped before the
  /// next `serverRequest`, as in `valuesDropped`.
  case writesDropped(DeviceAddress, handle: UInt16, count: Int)
  /// A peer subscribed to a characteristic (named by its value's handle).
  case subscribed(DeviceAddress, handle: UInt16)
  /// A peer no longer subscribes, or its link went down.
  case unsubscribed(DeviceAddress, handle: UInt16)

  /// A peer opened a channel to a PSM that this client published.
  case channelOpened(ChannelInfo)
  /// Bytes arrived on a channel.
  case channelReceived(ChannelID, ArraySlice<UInt8>)
  /// A channel was closed by the peer, a protocol error or the end of the link; nil when this
  /// client closed it.
  case channelClosed(ChannelID, HostError?)
}

/// The result of a successful request.
public enum HostReply: Sendable, Hashable {
  /// The request succeeded and has no other result.
  case done
  /// Services found.
  case services([RemoteService])
  /// Characteristics found.
  case characteristics([RemoteCharacteristic])
  /// Descriptors found.
  case descriptors([RemoteDescriptor])
  /// The value read.
  case value([UInt8])
  /// The values read.
  case values([AttributeValue])
  /// The RSSI of the link in dBm; 127 if the controller cannot measure it.
  case rssi(Int8)
  /// The published service.
  case published(PublishedService)
  /// The PSM listened on.
  case psm(UInt16)
  /// The opened channel.
  case channel(ChannelInfo)
  /// The out-of-band data of this host, to be passed to a peer.
  case outOfBandData(OutOfBandData)
}

/// The state of a host's radio, as Core Bluetooth's managers report it.
public enum RadioState: String, Sendable, Hashable, Codable {
  /// The controller hasn't responded yet.
  case unknown
  /// Another controller replaced the previous one: this host has another address, and clients must
  /// discard everything they know of peers. `poweredOn` follows.
  case resetting
  /// The controller cannot do Bluetooth LE.
  case unsupported
  /// This process may not use the controller.
  case unauthorized
  /// The controller is gone, switched off, or being started again after a failure.
  case poweredOff
  /// Ready.
  case poweredOn
}

/// Why a request failed or a link ended.
public enum HostError: Error, Sendable, Hashable {
  /// The radio is not powered on.
  case radioNotReady
  /// The controller refused a command.
  case controller(HCIStatus)
  /// The controller or the host doesn't support this; the text names the feature.
  case unsupported(String)
  /// The request is invalid; the text gives the reason.
  case invalidArgument(String)
  /// A limit was reached; the text names it.
  case limitReached(String)
  /// There is no link to this peer.
  case notConnected
  /// The link could not be established.
  case connectionFailed(HCIStatus)
  /// The link ended, for this reason.
  case disconnected(HCIStatus)
  /// The client cancelled the request.
  case cancelled
  /// The peer answered with an error.
  case att(ATTErrorCode, handle: UInt16)
  /// The peer did not answer within 30 s; the link's attribute protocol is dead.
  case attTimeout
  /// The peer's response is malformed or doesn't match the request.
  case invalidResponse
  /// The peer refused a channel with this L2CAP result.
  case channelRefused(UInt16)
  /// The link could not be protected, or its protection failed.
  case security(SecurityFailure)
  /// The transport to the controller broke; the text gives the cause.
  case transport(String)
  /// This process may not use the controller; the text names the missing permission.
  case unauthorized(String)
}

/// A report of one advertiser.
///
/// Each extended advertising set of a device is reported for itself, under the device's address.
public struct AdvertisingReport: Sendable, Hashable {
  /// The advertiser's address: the identity address if the controller resolved it.
  public var address: DeviceAddress
  /// Whether it is connectable.
  public var isConnectable: Bool
  /// Whether it is scannable.
  public var isScannable: Bool
  /// Whether it came as a legacy PDU.
  public var isLegacy: Bool
  /// Strength in dBm; 127 if the controller cannot tell.
  public var rssi: Int8
  /// Transmit power from an extended header, in dBm; 127 if unknown.
  public var txPower: Int8
  /// The advertising data.
  public var data: ArraySlice<UInt8>
  /// The scan response, once one was heard.
  public var scanResponse: ArraySlice<UInt8>
  /// When it was heard.
  public var heardAt: Instant

  /// A report of one advertiser.
  public init(
    address: DeviceAddress, isConnectable: Bool, isScannable: Bool, isLegacy: Bool, rssi: Int8,
    txPower: Int8 = 127, data: ArraySlice<UInt8>, scanResponse: ArraySlice<UInt8> = [],
    heardAt: Instant
  ) {
    self.address = address
    self.isConnectable = isConnectable
    self.isScannable = isScannable
    self.isLegacy = isLegacy
    self.rssi = rssi
    self.txPower = txPower
    self.data = data
    self.scanResponse = scanResponse
    self.heardAt = heardAt
  }
}

/// The properties of an open link.
public struct LinkInfo: Sendable, Hashable {
  /// The role of this host on a link.
  public enum Role: String, Sendable, Hashable, Codable {
    /// This host made the link.
    case central
    /// The peer made the link.
    case peripheral
  }

  /// The other end.
  public var peer: DeviceAddress
  /// This end's role.
  public var role: Role
  /// The largest attribute PDU.
  public var mtu: Int = 23
  /// Connection interval in units of 1.25 ms.
  public var intervalUnits: UInt16 = 0
  /// Connection events that the peripheral may skip.
  public var latency: UInt16 = 0
  /// Supervision timeout in units of 10 ms.
  public var timeoutUnits: UInt16 = 0
  /// One of this number of connection events is used; 1: all of them.
  public var subrateFactor: UInt16 = 1
  /// How many connection events after one with data are used as well, if not all are.
  public var continuationNumber: UInt16 = 0
  /// The PHY on which this host sends.
  public var transmitPHY = PHY.le1M
  /// The PHY on which the peer sends.
  public var receivePHY = PHY.le1M
  /// The longest payload of a link layer packet that this host sends.
  public var sentPacketByteCountMax = 27
  /// The longest payload of one that the peer sends.
  public var receivedPacketByteCountMax = 27
  /// How the link is protected; nil where it is not encrypted.
  public var encryption: EncryptionInfo?
  /// Whether the link is encrypted.
  public var isEncrypted: Bool { encryption != nil }
  /// The peer's GAP device name, once read.
  public var name: String?
  /// Primary services of the peer that any client has discovered.
  public var services: [BluetoothUUID] = []

  /// A link with the default values until its parameters are known.
  public init(peer: DeviceAddress, role: Role) {
    self.peer = peer
    self.role = role
  }
}

/// An open channel.
public struct ChannelInfo: Sendable, Hashable {
  /// Its name in requests and events.
  public var id: ChannelID
  /// The other end.
  public var peer: DeviceAddress
  /// The PSM it was opened on.
  public var psm: UInt16
  /// The largest SDU that the peer accepts.
  public var peerMTU: Int

  /// A channel that just opened.
  public init(id: ChannelID, peer: DeviceAddress, psm: UInt16, peerMTU: Int) {
    self.id = id
    self.peer = peer
    self.psm = psm
    self.peerMTU = peerMTU
  }
}

/// A peer's read or write of attributes whose values a client supplies.
public struct ServerRequest: Sendable, Hashable {
  /// The operation that the peer requests.
  public enum Kind: Sendable, Hashable {
    /// The value from `offset` on. The answer is cut to what fits in one response.
    case read(handle: UInt16, offset: Int)
    /// All of these writes or none, in this order.
    case write([Write])
  }

  /// One write within a request.
  public struct Write: Sendable, Hashable {
    /// The characteristic value's handle.
    public var handle: UInt16
    /// The offset in the value at which it begins.
    public var offset: Int
    /// The bytes to write.
    public var value: [UInt8]

    /// A write of some bytes at an offset.
    public init(handle: UInt16, offset: Int, value: [UInt8]) {
      self.handle = handle
      self.offset = offset
      self.value = value
    }
  }

  /// Names the request in the response.
  public var id: ServerRequestID
  /// The requesting peer.
  public var peer: DeviceAddress
  /// The requested operation.
  public var kind: Kind
  /// False for a Write Command, whose response is ignored.
  public var needsResponse: Bool

  /// A request that waits for an answer.
  public init(id: ServerRequestID, peer: DeviceAddress, kind: Kind, needsResponse: Bool) {
    self.id = id
    self.peer = peer
    self.kind = kind
    self.needsResponse = needsResponse
  }
}
