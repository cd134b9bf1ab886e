import BluetoothWire

/// Finds the characteristics of a file by their UUIDs; of several, the first.
struct CharacteristicNames {
  private struct Name: Hashable {
    var service: BluetoothUUID
    var characteristic: BluetoothUUID
  }

  private var byName: [Name: PeripheralFile.CharacteristicIndex] = [:]
  private var byService: [[BluetoothUUID: PeripheralFile.CharacteristicIndex]] = []

  init(_ services: [PeripheralFile.Service]) {
    for (number, service) in services.enumerated() {
      var own: [BluetoothUUID: PeripheralFile.CharacteristicIndex] = [:]
      for (place, characteristic) in service.characteristics.enumerated() {
        let index = PeripheralFile.CharacteristicIndex(service: number, characteristic: place)
        let name = Name(service: service.uuid, characteristic: characteristic.uuid)
        if own[characteristic.uuid] == nil { own[characteristic.uuid] = index }
        if byName[name] == nil { byName[name] = index }
      }
      byService.append(own)
    }
  }

  /// The characteristic of one service.
  func find(
    _ uuid: BluetoothUUID, inService service: Int
  ) -> PeripheralFile.CharacteristicIndex? {
    byService.indices.contains(service) ? byService[service][uuid] : nil
  }

  /// The characteristic of the services with a UUID.
  func find(
    _ uuid: BluetoothUUID, inServices service: BluetoothUUID
  ) -> PeripheralFile.CharacteristicIndex? {
    byName[Name(service: service, characteristic: uuid)]
  }
}
