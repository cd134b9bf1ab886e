import BluetoothInterface
import HubWire

extension RadioUse.Reason {
  /// How a request makes the radio work; nil for one that doesn't, or that ends such work.
  init?(_ request: HostRequest) {
    switch request {
    case .startScan: self = .scan
    case .connect: self = .connection
    case .startAdvertising: self = .advertisement
    case .gatt, .subscribe, .unsubscribe: self = .attributes
    case .updateValue: self = .notification
    case .respond: self = .response
    case .pair: self = .pairing
    case .openChannel, .sendOnChannel: self = .channel
    case .readRSSI, .updateParameters, .setPHY, .setSubrate: self = .link
    case .stopScan, .stopAdvertising, .disconnect, .setPairingAgent, .attendAllPairings,
      .answerPairing, .createOutOfBandData, .setOutOfBandData, .removeBond, .addService,
      .removeService, .removeAllServices, .publishChannel, .unpublishChannel,
      .consumedFromChannel, .closeChannel, .barrier:
      return nil
    }
  }
}
