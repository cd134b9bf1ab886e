import BluetoothInterface
import BluetoothWire

extension HostRequest {
  /// What a request takes of the host, which has a bounded number of it for all programs.
  enum Cost {
    /// Nothing.
    case none
    /// A command of the controller, until its completion.
    case command
    /// A link that is wanted until the client lets go of it.
    case link(DeviceAddress)
    /// A service with this number of attributes that stays published.
    case service(attributeCount: Int)
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
    case .addService(let service, _): .service(attributeCount: service.attributeCount)
    case .publishChannel: .listener
    case .readRSSI, .updateParameters, .setPHY, .setSubrate: .command
    case .startScan: .scan
    case .startAdvertising: .advertisement
    case .stopScan, .stopAdvertising, .disconnect, .pair, .setPairingAgent, .attendAllPairings,
      .answerPairing, .createOutOfBandData, .setOutOfBandData, .removeBond, .gatt, .subscribe,
      .unsubscribe, .removeService, .removeAllServices, .respond, .updateValue, .unpublishChannel,
      .openChannel, .sendOnChannel, .consumedFromChannel, .closeChannel, .barrier:
      .none
    }
  }
}
