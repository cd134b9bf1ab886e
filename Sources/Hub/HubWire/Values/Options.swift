import BluetoothInterface

// The options of requests. Each is enclosed, since later versions add some.

extension ScanOptions: HubCodable {
  static func coded<C: HubCoder>(_ value: Self?, by coder: inout C) throws(HubWireError) -> Self {
    try coder.enclosed { coder throws(HubWireError) in
      var options = ScanOptions()
      options.services = try coder.field(value) { $0.services }
      options.solicitedServices = try coder.field(value) { $0.solicitedServices }
      options.allowsDuplicates = try coder.field(value) { $0.allowsDuplicates }
      options.isActive = try coder.field(value) { $0.isActive }
      options.usesExtendedScanning = try coder.field(value) { $0.usesExtendedScanning }
      options.usesCodedPHY = try coder.field(value) { $0.usesCodedPHY }
      if value?.seeksBeacons == true {
        options.isInBackground = try coder.addedField(value, default: false) { $0.isInBackground }
      } else {
        options.isInBackground = try coder.lastAddedField(value, default: false) {
          $0.isInBackground
        }
      }
      options.seeksBeacons = try coder.lastAddedField(value, default: false) { $0.seeksBeacons }
      return options
    }
  }
}

extension AdvertisingOptions: HubCodable {
  static func coded<C: HubCoder>(_ value: Self?, by coder: inout C) throws(HubWireError) -> Self {
    try coder.enclosed { coder throws(HubWireError) in
      var options = AdvertisingOptions()
      options.data = try coder.field(value) { $0.data }
      options.scanResponse = try coder.field(value) { $0.scanResponse }
      options.isConnectable = try coder.field(value) { $0.isConnectable }
      options.interval = try coder.field(value) { $0.interval }
      options.usesExtendedAdvertising = try coder.field(value) { $0.usesExtendedAdvertising }
      options.usesCodedPHY = try coder.field(value) { $0.usesCodedPHY }
      options.target = try coder.field(value) { $0.target }
      return options
    }
  }
}

extension ConnectOptions: HubCodable {
  static func coded<C: HubCoder>(_ value: Self?, by coder: inout C) throws(HubWireError) -> Self {
    try coder.enclosed { coder throws(HubWireError) in
      var options = ConnectOptions()
      options.parameters = try coder.field(value) { $0.parameters }
      options.reconnectsAutomatically = try coder.field(value) { $0.reconnectsAutomatically }
      options.startDelay = try coder.field(value) { $0.startDelay }
      options.usesCodedPHY = try coder.field(value) { $0.usesCodedPHY }
      options.alerts = try coder.lastAddedField(value, default: []) { $0.alerts }
      return options
    }
  }
}

extension ConnectionAlerts: HubCodable {
  static func coded<C: HubCoder>(_ value: Self?, by coder: inout C) throws(HubWireError) -> Self {
    ConnectionAlerts(rawValue: try coder.byte(value?.rawValue))
  }
}
