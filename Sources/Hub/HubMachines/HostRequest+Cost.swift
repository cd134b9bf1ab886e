import BluetoothInterface
import BluetoothWire

extension HostRequest {
  /// What a request costs the host beyond its handling.
  enum Cost {
    /// Nothing after its completion.
    case none
    /// A link that is wanted until the client lets go of it.
    case link(DeviceAddress)
    /// A service that stays published.
    case service
    /// A PSM that stays taken.
    case listener
  }

  /// What the request costs.
  var cost: Cost {
    switch self {
    case .connect(let address, _): .link(address)
    case .addService: .service
    case .publishChannel: .listener
    case .startScan, .stopScan, .startAdvertising, .stopAdvertising, .disconnect, .readRSSI,
      .updateParameters, .setPHY, .setSubrate, .pair, .setPairingAgent, .answerPairing,
      .createOutOfBandData, .setOutOfBandData, .removeBond, .gatt, .subscribe, .unsubscribe,
      .removeService, .removeAllServices, .respond, .updateValue, .unpublishChannel, .openChannel,
      .sendOnChannel, .consumedFromChannel, .closeChannel, .barrier:
      .none
    }
  }

  /// The token of the completion that a client waits for; nil if the request has none.
  var awaitedToken: RequestToken? {
    switch self {
    case .startAdvertising(_, let token), .barrier(let token), .readRSSI(_, let token),
      .updateParameters(_, _, let token), .setPHY(_, _, let token), .setSubrate(_, _, let token),
      .pair(_, let token), .createOutOfBandData(let token), .setOutOfBandData(_, _, let token),
      .removeBond(_, let token), .gatt(_, _, let token), .subscribe(_, _, let token),
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
