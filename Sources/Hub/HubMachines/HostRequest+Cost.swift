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
    /// A scan that goes on until it is stopped.
    case scan
    /// An advertisement that goes on until it is stopped.
    case advertisement
  }

  /// What the request costs.
  var cost: Cost {
    switch self {
    case .connect(let address, _): .link(address)
    case .addService: .service
    case .publishChannel: .listener
    case .startScan: .scan
    case .startAdvertising: .advertisement
    case .stopScan, .stopAdvertising, .disconnect, .readRSSI, .updateParameters, .setPHY,
      .setSubrate, .pair, .setPairingAgent, .answerPairing,
      .createOutOfBandData, .setOutOfBandData, .removeBond, .gatt, .subscribe, .unsubscribe,
      .removeService, .removeAllServices, .respond, .updateValue, .unpublishChannel, .openChannel,
      .sendOnChannel, .consumedFromChannel, .closeChannel, .barrier:
      .none
    }
  }
}
