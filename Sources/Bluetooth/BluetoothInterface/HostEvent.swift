public import BluetoothWire
public import Essentials

/// An event that a host delivers to a client.
///
/// A new client gets every open link first, and then the state. Received values share the storage of the
/// packet they came in: copy values that are stored.
public enum HostEvent: Sendable, Hashable {
  /// The radio's state. Every client gets it when it is added, after the links that are open, and
  /// again with every change.
  case stateChanged(RadioState)
  /// A request with this token has ended.
  case completed(RequestToken, Result<HostReply, HostError>)

  /// A peer was discovered that matches the client's scan.
  case discovered(AdvertisingReport)

  /// A link of either role was established, on behalf of any client. Delivered to all clients.
  case linkOpened(LinkInfo)
  /// A property of an open link changed: MTU, timing, encryption, the peer's name or services.
  case linkUpdated(LinkInfo)
  /// A link was disconnected. Delivered to all clients.
  case linkClosed(DeviceAddress, HostError)
  /// The link that this client requested is established. Follows `linkOpened` if it is new.
  case connected(DeviceAddress)
  /// The link that this client requested can't be established.
  case connectionFailed(DeviceAddress, HostError)
  /// This client's use of the link has ended: nil if the client requested that, or else the reason.
  /// With `reconnecting`, the host tries to connect again.
  case disconnected(DeviceAddress, HostError?, reconnecting: Bool)

  /// A pairing needs an answer of a user, or displays a number. Sent to the client that was the
  /// pairing agent when the pairing began.
  case pairingPrompt(DeviceAddress, PairingPrompt, PairingPromptID)
  /// A pairing has ended, or one that the peer or an operation of a client needed was refused before it
  /// began; nil if it succeeded. Its prompts are no longer valid. One that succeeded may end
  /// once more with `peerFailed(.keyRejected)`: the peer has rejected the bond, which is removed. For each reason the first refusal on a
  /// link is delivered. Delivered to all clients; of a hub's programs, to those that cause the pairing.
  case pairingEnded(DeviceAddress, SecurityFailure?)
  /// A pairing leaves no bond, for this reason; precedes its `pairingEnded`, and is delivered to the same clients.
  case bondNotKept(DeviceAddress, BondRejection)

  /// A subscribed notification or indication was received.
  case valueUpdated(DeviceAddress, handle: UInt16, ArraySlice<UInt8>)
  /// This number of notifications of the characteristic was dropped before the next `valueUpdated`,
  /// because this client was too slow and flow control would have delayed other clients.
  case valuesDropped(DeviceAddress, handle: UInt16, count: Int)
  /// The host waits until this client has acknowledged all events up to this one. Only for clients
  /// that acknowledge events.
  case acknowledgementRequested
  /// The peer's attributes in this range changed; discovered attributes there are no longer valid.
  case servicesChanged(DeviceAddress, HandleRange)

  /// A peer reads or writes one of this client's characteristics.
  case serverRequest(ServerRequest)
  /// This number of writes without response to this client's characteristic was dropped before the
  /// next `serverRequest`, as in `valuesDropped`.
  case writesDropped(DeviceAddress, handle: UInt16, count: Int)
  /// The host answered this number of the peer's requests for this client's characteristic with an
  /// error, because the client did not answer within 20 s, or had not handled its events in time.
  case requestsExpired(DeviceAddress, handle: UInt16, count: Int)
  /// A peer subscribed to a characteristic, which is identified by its value handle.
  case subscribed(DeviceAddress, handle: UInt16)
  /// A peer unsubscribed, or disconnected.
  case unsubscribed(DeviceAddress, handle: UInt16)

  /// A peer opened a channel to a PSM that this client published.
  case channelOpened(ChannelInfo)
  /// Bytes were received on a channel.
  case channelReceived(ChannelID, ArraySlice<UInt8>)
  /// A channel was closed by the peer, a protocol error or the end of the link; nil if this client
  /// closed it.
  case channelClosed(ChannelID, HostError?)
}

extension HostEvent {
  /// Whether clients acknowledge this event. Those of channels have a flow control of their own:
  /// a peer has only as many credits as the client has consumed bytes for.
  package var isAcknowledged: Bool {
    switch self {
    case .channelReceived, .channelClosed: false
    case .stateChanged, .completed, .discovered, .linkOpened, .linkUpdated, .linkClosed, .connected,
      .connectionFailed, .disconnected, .valueUpdated, .valuesDropped, .acknowledgementRequested,
      .servicesChanged, .serverRequest, .writesDropped, .requestsExpired, .subscribed,
      .unsubscribed, .channelOpened,
      .pairingPrompt, .pairingEnded, .bondNotKept:
      true
    }
  }
}

/// The result of a successful request.
public enum HostReply: Sendable, Hashable {
  /// The request succeeded and has no other result.
  case done
  /// The discovered services.
  case services([RemoteService])
  /// The discovered characteristics.
  case characteristics([RemoteCharacteristic])
  /// The discovered descriptors.
  case descriptors([RemoteDescriptor])
  /// The value that was read.
  case value([UInt8])
  /// The values that were read.
  case values([AttributeValue])
  /// The RSSI of the link in dBm; 127 if the controller cannot measure it.
  case rssi(Int8)
  /// The published service.
  case published(PublishedService)
  /// The PSM that the host listens on.
  case psm(UInt16)
  /// The opened channel.
  case channel(ChannelInfo)
  /// The out-of-band data of this host, to be passed to a peer.
  case outOfBandData(OutOfBandData)
}

/// The state of a host's radio, as Core Bluetooth's managers report it.
public enum RadioState: String, Sendable, Hashable, Codable, CaseIterable {
  /// The controller hasn't responded yet.
  case unknown
  /// Another controller replaced the previous one. This host has another address, and clients must
  /// discard their data about peers. `poweredOn` follows.
  case resetting
  /// The controller doesn't support Bluetooth LE.
  case unsupported
  /// This process is not authorized to use the controller.
  case unauthorized
  /// The controller is missing, switched off, or being restarted after a failure.
  case poweredOff
  /// The controller is ready for use.
  case poweredOn
}

/// The reason why a request failed or a link ended.
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
  /// The peer did not answer within 30 s. The link's ATT bearer can't be used any more.
  case attTimeout
  /// The peer's response is malformed or doesn't match the request.
  case invalidResponse
  /// The peer refused a channel with this L2CAP result.
  case channelRefused(UInt16)
  /// The link could not be encrypted or authenticated.
  case security(SecurityFailure)
  /// The transport to the controller broke; the text gives the cause.
  case transport(String)
  /// This process is not authorized to use the controller; the text names the missing permission.
  case unauthorized(String)
  /// The link was ended because its app is suspended and the peer sends more notifications than may wait for it.
  case tooManyNotifications
}

/// A report of an advertiser.
///
/// Each extended advertising set of a device is reported separately, with the device's address.
public struct AdvertisingReport: Sendable, Hashable {
  /// The advertiser's address: the identity address if the controller resolved it.
  public var address: DeviceAddress
  /// Whether it is connectable.
  public var isConnectable: Bool
  /// Whether it is scannable.
  public var isScannable: Bool
  /// Whether it was received as a legacy PDU.
  public var isLegacy: Bool
  /// The RSSI in dBm; 127 if the controller can't measure it.
  public var rssi: Int8
  /// The transmit power from an extended header in dBm; 127 if unknown.
  public var txPower: Int8
  /// The advertising data.
  public var data: ArraySlice<UInt8>
  /// The scan response data, once a scan response was received.
  public var scanResponse: ArraySlice<UInt8>
  /// The time at which it was received.
  public var heardAt: Instant

  /// Creates a report.
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
  public enum Role: String, Sendable, Hashable, Codable, CaseIterable {
    /// This host initiated the connection.
    case central
    /// The peer initiated the connection.
    case peripheral
  }

  /// The address of the peer.
  public var peer: DeviceAddress
  /// The role of this host.
  public var role: Role
  /// The ATT MTU in bytes.
  public var mtu: Int = 23
  /// Connection interval in units of 1.25 ms.
  public var intervalUnits: UInt16 = 0
  /// The peripheral latency: the number of connection events that the peripheral may skip.
  public var latency: UInt16 = 0
  /// Supervision timeout in units of 10 ms.
  public var timeoutUnits: UInt16 = 0
  /// The subrate factor: one of this number of connection events is used.
  public var subrateFactor: UInt16 = 1
  /// The continuation number: the number of additional connection events that are used after one
  /// with data.
  public var continuationNumber: UInt16 = 0
  /// The PHY on which this host sends.
  public var transmitPHY = PHY.le1M
  /// The PHY on which the peer sends.
  public var receivePHY = PHY.le1M
  /// The maximum payload of link layer packets that this host sends.
  public var sentPacketByteCountMax = 27
  /// The maximum payload of link layer packets that the peer sends.
  public var receivedPacketByteCountMax = 27
  /// The encryption of the link; nil if it is not encrypted.
  public var encryption: EncryptionInfo?
  /// Whether the link is encrypted.
  public var isEncrypted: Bool { encryption != nil }
  /// The peer's GAP device name, once read.
  public var name: String?
  /// The primary services of the peer that any client has discovered.
  public var services: [BluetoothUUID] = []

  /// Creates a link with default values, until its parameters are known.
  public init(peer: DeviceAddress, role: Role) {
    self.peer = peer
    self.role = role
  }
}

/// An open channel.
public struct ChannelInfo: Sendable, Hashable {
  /// The identifier in requests and events.
  public var id: ChannelID
  /// The address of the peer.
  public var peer: DeviceAddress
  /// The PSM that it was opened with.
  public var psm: UInt16
  /// The maximum SDU that the peer accepts.
  public var peerMTU: Int

  /// Creates the properties of an open channel.
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
    /// Read the value from `offset` on. The response is truncated to one PDU.
    case read(handle: UInt16, offset: Int)
    /// Perform all of these writes or none, in this order.
    case write([Write])
  }

  /// One write within a request.
  public struct Write: Sendable, Hashable {
    /// The characteristic value's handle.
    public var handle: UInt16
    /// The offset in the value.
    public var offset: Int
    /// The bytes to write.
    public var value: [UInt8]

    /// Creates a write.
    public init(handle: UInt16, offset: Int, value: [UInt8]) {
      self.handle = handle
      self.offset = offset
      self.value = value
    }
  }

  /// The identifier to pass to the response.
  public var id: ServerRequestID
  /// The requesting peer.
  public var peer: DeviceAddress
  /// The requested operation.
  public var kind: Kind
  /// The handle of the first characteristic value that it concerns; 0 for no writes.
  public var firstHandle: UInt16 {
    switch kind {
    case .read(let handle, _): handle
    case .write(let writes): writes.first?.handle ?? 0
    }
  }
  /// False for a Write Command, which has no response.
  public var needsResponse: Bool

  /// Creates a request.
  public init(id: ServerRequestID, peer: DeviceAddress, kind: Kind, needsResponse: Bool) {
    self.id = id
    self.peer = peer
    self.kind = kind
    self.needsResponse = needsResponse
  }
}
