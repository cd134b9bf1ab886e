public import BluetoothInterface
public import BluetoothWire
public import Essentials

/// A Bluetooth LE device as a file describes it: its advertising, its GATT database, and its
/// behaviour over time. `docs/peripheral-file.md` documents the format.
///
/// `PeripheralPlayer` implements the behaviour; `World.addDevice(_:at:)` of `Simulation` and `ambit
/// peripheral` put the device on the air.
public struct PeripheralFile: Hashable, Sendable {
  /// Limits of a file's contents.
  public enum Limits {
    /// The maximum size of a file. An hour of a strap's notifications takes less than a megabyte.
    public static let byteCount = 16 << 20
    /// The maximum number of services. Attribute handles are 16 bits; a real device has a dozen
    /// services.
    public static let serviceCount = 64
    /// The maximum number of characteristics of a service.
    public static let characteristicCount = 64
    /// The maximum number of descriptors of a characteristic. Real ones have three or four.
    public static let descriptorCount = 16
    /// The maximum length of an attribute value (Core 5.4, Vol 3, Part F, §3.2.9).
    public static let valueByteCount = 512
    /// The maximum number of `values` of a characteristic: an hour at one a second.
    public static let valueCount = 3_600
    /// The maximum number of notifications of a characteristic: a quarter of an hour at 100 a
    /// second.
    public static let notificationCount = 100_000
    /// The maximum number of answers of a characteristic, more than control points have commands.
    public static let answerCount = 1_024
    /// The maximum number of changes of the advertising data.
    public static let advertisingChangeCount = 10_000
    /// The maximum size of one advertising PDU's data of either kind (Core 5.4, Vol 6, Part B,
    /// §2.3.4.9).
    public static let advertisingByteCount = 251
    /// The maximum size of a legacy advertising PDU's data.
    public static let legacyAdvertisingByteCount = 31
    /// The minimum time between notifications, that of the fastest connection events.
    public static let shortestInterval = TimeSpan.milliseconds(10)
    /// The maximum time: one day.
    public static let longestTime = TimeSpan.seconds(86_400)
    /// The maximum length of a device name (Core 5.4, Vol 3, Part C, §12.1).
    public static let nameByteCount = 248
  }

  /// The GAP device name, which is advertised unless `advertising` is set.
  public var name: String?
  /// The GAP appearance.
  public var appearance: UInt16?
  /// The device's address; nil for any.
  public var address: DeviceAddress?
  /// The services to advertise unless `advertising` is set; by default all primary ones.
  public var advertisedServices: [BluetoothUUID] = []
  /// The exact advertising data; nil to derive it from name and services.
  public var advertising: Advertising?
  /// The GATT database, without the services that every device has (1800, 1801).
  public var services: [Service] = []
  /// The duration after which the notifications repeat or end.
  public var duration: TimeSpan?
  /// Whether notifications and changes of advertising repeat after their duration.
  public var repeats = true

  /// Creates a device without content.
  public init() {}

  /// The advertising of a device.
  public struct Advertising: Hashable, Sendable {
    /// Whether the advertising is connectable.
    public var isConnectable = true
    /// Time between two advertising events.
    public var interval = TimeSpan.milliseconds(100)
    /// The advertising data.
    public var data: [UInt8] = []
    /// The scan response data.
    public var scanResponse: [UInt8] = []
    /// The recorded RSSI in dBm. For information only; it has no effect on playback.
    public var rssi: Int?
    /// Later advertising data, in order of time.
    public var changes: [Change] = []
    /// The time after which the changes repeat, if the file repeats.
    public var duration: TimeSpan?

    /// Creates connectable advertising without data.
    public init() {}

    /// Advertising data that is used from a time on.
    public struct Change: Hashable, Sendable {
      /// The time since the device was switched on.
      public var time: TimeSpan
      /// The advertising data.
      public var data: [UInt8]
      /// The scan response data.
      public var scanResponse: [UInt8]

      /// Creates a change.
      public init(time: TimeSpan, data: [UInt8], scanResponse: [UInt8]) {
        self.time = time
        self.data = data
        self.scanResponse = scanResponse
      }
    }
  }

  /// A service.
  public struct Service: Hashable, Sendable {
    /// The type of the service.
    public var uuid: BluetoothUUID
    /// Whether the service is primary. A secondary service is only included in other services.
    public var isPrimary = true
    /// The included services, by their index in the file.
    public var includedServices: [Int] = []
    /// Its characteristics.
    public var characteristics: [Characteristic] = []

    /// Creates a primary service without characteristics.
    public init(uuid: BluetoothUUID) { self.uuid = uuid }
  }

  /// A characteristic.
  public struct Characteristic: Hashable, Sendable {
    /// The type of the characteristic.
    public var uuid: BluetoothUUID
    /// The operations that the characteristic supports.
    public var properties: CharacteristicProperties
    /// The value, or the list of values that it has one after the other.
    public var values: [[UInt8]] = []
    /// The time between `values`, or between two notifications of the same value.
    public var interval: TimeSpan?
    /// The error that reads return.
    public var readError: ATTErrorCode?
    /// Whether reading needs an encrypted link.
    public var readNeedsEncryption = false
    /// Whether writing needs an encrypted link.
    public var writeNeedsEncryption = false
    /// Whether subscribing needs an encrypted link.
    public var notifyNeedsEncryption = false
    /// Whether reading needs a link that is encrypted with an authenticated key.
    public var readNeedsAuthentication = false
    /// Whether writing needs a link that is encrypted with an authenticated key.
    public var writeNeedsAuthentication = false
    /// Whether subscribing needs a link that is encrypted with an authenticated key.
    public var notifyNeedsAuthentication = false
    /// The descriptors, without the client characteristic configuration (2902), which follows from
    /// the properties.
    public var descriptors: [Descriptor] = []
    /// The characteristic of the same service that notifies the written values.
    public var echo: BluetoothUUID?
    /// The maximum length of a written value.
    public var longest = Limits.valueByteCount
    /// The notifications, in order of time, which starts with the first subscription.
    public var notifications: [TimedValue] = []
    /// The answers to certain written values.
    public var answers: [Answer] = []

    /// Creates a characteristic without a value.
    public init(uuid: BluetoothUUID, properties: CharacteristicProperties) {
      self.uuid = uuid
      self.properties = properties
    }
  }

  /// A descriptor.
  public struct Descriptor: Hashable, Sendable {
    /// The type of the descriptor.
    public var uuid: BluetoothUUID
    /// Its value.
    public var value: [UInt8]

    /// Creates a descriptor.
    public init(uuid: BluetoothUUID, value: [UInt8]) {
      self.uuid = uuid
      self.value = value
    }
  }

  /// A value at a certain time.
  public struct TimedValue: Hashable, Sendable {
    /// The time from the start of the list's timeline.
    public var time: TimeSpan
    /// The value.
    public var value: [UInt8]

    /// Creates a value at a certain time.
    public init(time: TimeSpan, value: [UInt8]) {
      self.time = time
      self.value = value
    }
  }

  /// The reaction of the device to a certain written value.
  public struct Answer: Hashable, Sendable {
    /// The value that was written.
    public var written: [UInt8]
    /// The error that the write returns.
    public var error: ATTErrorCode?
    /// The value of later reads; nil for the written value.
    public var value: [UInt8]?
    /// Notifications after the write; times count from the write.
    public var notifications: [Notification] = []

    /// Creates an answer that accepts the write.
    public init(written: [UInt8]) { self.written = written }

    /// A notification that follows a write.
    public struct Notification: Hashable, Sendable {
      /// The time since the write.
      public var time: TimeSpan
      /// The characteristic that notifies.
      public var target: CharacteristicIndex
      /// The value.
      public var value: [UInt8]

      /// Creates a notification that follows a write.
      public init(time: TimeSpan, target: CharacteristicIndex, value: [UInt8]) {
        self.time = time
        self.target = target
        self.value = value
      }
    }
  }

  /// The position of a characteristic in the file.
  public struct CharacteristicIndex: Hashable, Sendable, Comparable {
    /// The index of its service.
    public var service: Int
    /// The index of the characteristic in the service.
    public var characteristic: Int

    /// Creates an index.
    public init(service: Int, characteristic: Int) {
      self.service = service
      self.characteristic = characteristic
    }

    /// Compares by the order in the file.
    public static func < (a: CharacteristicIndex, b: CharacteristicIndex) -> Bool {
      (a.service, a.characteristic) < (b.service, b.characteristic)
    }
  }

  /// The characteristic with this index, which must exist.
  public subscript(index: CharacteristicIndex) -> Characteristic {
    get { services[index.service].characteristics[index.characteristic] }
    set { services[index.service].characteristics[index.characteristic] = newValue }
  }

  /// All characteristics, in the order of the file.
  public var characteristicIndices: [CharacteristicIndex] {
    services.indices.flatMap { service in
      services[service].characteristics.indices.map {
        CharacteristicIndex(service: service, characteristic: $0)
      }
    }
  }
}

/// The names of characteristic properties, as in the files and in `ambit inspect`.
public enum PropertyNames {
  /// Each property with its name.
  public static let all: [(property: CharacteristicProperties, name: String)] = [
    (.broadcast, "broadcast"), (.read, "read"),
    (.writeWithoutResponse, "write-without-response"), (.write, "write"), (.notify, "notify"),
    (.indicate, "indicate"), (.authenticatedSignedWrites, "signed-write"),
    (.extendedProperties, "extended"),
  ]

  /// The names of these properties.
  public static func names(_ properties: CharacteristicProperties) -> [String] {
    all.filter { properties.contains($0.property) }.map(\.name)
  }
}
