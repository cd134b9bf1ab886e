package import BluetoothInterface

extension HostRequest {
  /// Writes or reads the fields of the request with this number. The token was written or read before.
  static func coded<C: HubCoder>(
    _ request: HostRequest?, _ number: UInt8, _ token: RequestToken, by coder: inout C
  ) throws(HubWireError) -> HostRequest {
    if let number = AttributeRequestNumber(rawValue: number) {
      return try number.coded(request, token, by: &coder)
    }
    if let number = ChannelRequestNumber(rawValue: number) {
      return try number.coded(request, token, by: &coder)
    }
    if let number = LinkRequestNumber(rawValue: number) {
      return try number.coded(request, token, by: &coder)
    }
    if let number = RadioRequestNumber(rawValue: number) {
      return try number.coded(request, token, by: &coder)
    }
    if let number = SecurityRequestNumber(rawValue: number) {
      return try number.coded(request, token, by: &coder)
    }
    throw .unknownNumber(of: "HostRequest", number: number)
  }

  /// The number of this request. Those of requests with a token have the bit `mustUnderstand`.
  var number: UInt8 {
    switch self {
    case .startScan: RadioRequestNumber.startScan.rawValue
    case .stopScan: RadioRequestNumber.stopScan.rawValue
    case .startAdvertising: RadioRequestNumber.startAdvertising.rawValue
    case .stopAdvertising: RadioRequestNumber.stopAdvertising.rawValue
    case .barrier: RadioRequestNumber.barrier.rawValue
    case .connect: LinkRequestNumber.connect.rawValue
    case .disconnect: LinkRequestNumber.disconnect.rawValue
    case .readRSSI: LinkRequestNumber.readRSSI.rawValue
    case .updateParameters: LinkRequestNumber.updateParameters.rawValue
    case .setPHY: LinkRequestNumber.setPHY.rawValue
    case .setSubrate: LinkRequestNumber.setSubrate.rawValue
    case .pair: SecurityRequestNumber.pair.rawValue
    case .setPairingAgent: SecurityRequestNumber.setPairingAgent.rawValue
    case .answerPairing: SecurityRequestNumber.answerPairing.rawValue
    case .createOutOfBandData: SecurityRequestNumber.createOutOfBandData.rawValue
    case .setOutOfBandData: SecurityRequestNumber.setOutOfBandData.rawValue
    case .removeBond: SecurityRequestNumber.removeBond.rawValue
    case .attendAllPairings: SecurityRequestNumber.attendAllPairings.rawValue
    case .gatt: AttributeRequestNumber.gatt.rawValue
    case .subscribe: AttributeRequestNumber.subscribe.rawValue
    case .unsubscribe: AttributeRequestNumber.unsubscribe.rawValue
    case .addService: AttributeRequestNumber.addService.rawValue
    case .removeService: AttributeRequestNumber.removeService.rawValue
    case .removeAllServices: AttributeRequestNumber.removeAllServices.rawValue
    case .respond: AttributeRequestNumber.respond.rawValue
    case .updateValue: AttributeRequestNumber.updateValue.rawValue
    case .publishChannel: ChannelRequestNumber.publishChannel.rawValue
    case .unpublishChannel: ChannelRequestNumber.unpublishChannel.rawValue
    case .openChannel: ChannelRequestNumber.openChannel.rawValue
    case .sendOnChannel: ChannelRequestNumber.sendOnChannel.rawValue
    case .consumedFromChannel: ChannelRequestNumber.consumedFromChannel.rawValue
    case .closeChannel: ChannelRequestNumber.closeChannel.rawValue
    }
  }

  /// The token of the completion that a client waits for; nil if the request has none.
  package var token: RequestToken? {
    switch self {
    case .startAdvertising(_, let token), .barrier(let token), .readRSSI(_, let token),
      .updateParameters(_, _, let token), .setPHY(_, _, let token), .setSubrate(_, _, let token),
      .pair(_, let token), .createOutOfBandData(let token), .setOutOfBandData(_, _, let token),
      .removeBond(_, let token), .attendAllPairings(let token), .gatt(_, _, let token),
      .subscribe(_, _, let token),
      .unsubscribe(_, _, let token), .addService(_, let token), .updateValue(_, _, _, let token),
      .publishChannel(_, _, let token), .openChannel(_, _, let token),
      .sendOnChannel(_, _, let token):
      token
    case .startScan, .stopScan, .stopAdvertising, .connect, .disconnect, .setPairingAgent,
      .answerPairing, .removeService, .removeAllServices, .respond, .unpublishChannel,
      .consumedFromChannel, .closeChannel:
      nil
    }
  }
}

extension HubCoder {
  /// A request with one field and its token, which precedes the field.
  mutating func fields<A: HubCodable>(
    _ request: HostRequest?, _ token: RequestToken, _ make: (A, RequestToken) -> HostRequest,
    _ take: (HostRequest) -> A?
  ) throws(HubWireError) -> HostRequest {
    try fields(request, { (first: A) in make(first, token) }, take)
  }

  /// A request with two fields and its token.
  mutating func fields<A: HubCodable, B: HubCodable>(
    _ request: HostRequest?, _ token: RequestToken, _ make: (A, B, RequestToken) -> HostRequest,
    _ take: (HostRequest) -> (A, B)?
  ) throws(HubWireError) -> HostRequest {
    try fields(request, { (first: A, second: B) in make(first, second, token) }, take)
  }

  /// A request with three fields and its token.
  mutating func fields<A: HubCodable, B: HubCodable, D: HubCodable>(
    _ request: HostRequest?, _ token: RequestToken,
    _ make: (A, B, D, RequestToken) -> HostRequest, _ take: (HostRequest) -> (A, B, D)?
  ) throws(HubWireError) -> HostRequest {
    try fields(
      request, { (first: A, second: B, third: D) in make(first, second, third, token) }, take)
  }
}
