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
    /// An hour of a strap's notifications takes less than a megabyte.
    public static let byteCount = 16 << 20
    /// Attribute handles are 16 bits; a real device has a dozen services.
    public static let serviceCount = 64
    /// Likewise.
    public static let characteristicCount = 64
    /// Real characteristics have three or four.
    public static let descriptorCount = 16
    /// An attribute value's longest length (Core 5.4, Vol 3, Part F, §3.2.9).
    public static let valueByteCount = 512
    /// Enough for an hour at one a second.
    public static let valueCount = 3_600
    /// Of one characteristic: enough for a quarter of an hour at 100 a second.
    public static let notificationCount = 100_000
    /// Commands that a control point knows, and then some.
    public static let answerCount = 1_024
    /// Changes of the advertising data.
    public static let advertisingChangeCount = 10_000
    /// What fits into one advertising PDU of either kind (Core 5.4, Vol 6, Part B, §2.3.4.9).
    public static let advertisingByteCount = 251
    /// What fits into a legacy advertising PDU.
    public static let legacyAdvertisingByteCount = 31
    /// Notifications follow each other no faster than connection events do.
    public static let shortestInterval = TimeSpan.milliseconds(10)
    /// A day.
    public static let longestTime = TimeSpan.seconds(86_400)
    /// A device name's longest length (Core 5.4, Vol 3, Part C, §12.1).
    public static let nameByteCount = 248
  }

  /// The GAP device name, which is advertised unless `advertising` is set.
  public var name: String?
  /// The GAP appearance.
  public var appearance: UInt16?
  /// The device's own address; nil for any.
  public var address: DeviceAddress?
  /// The services to advertise unless `advertising` is set; by default all primary ones.
  public var advertisedServices: [BluetoothUUID] = []
  /// The exact advertising data; nil to make it from name and services.
  public var advertising: Advertising?
  /// The GATT database, without the services that every device has (1800, 1801).
  public var services: [Service] = []
  /// How long the notifications take until they begin anew, or end.
  public var duration: TimeSpan?
  /// Whether notifications and changes of advertising begin anew after their duration.
  public var repeats = true

  /// A device without anything.
  public init() {}

  /// What a device advertises.
  public struct Advertising: Hashable, Sendable {
    /// Whether it takes connections.
    public var isConnectable = true
    /// Time between two advertising events.
    public var interval = TimeSpan.milliseconds(100)
    /// The advertising data.
    public var data: [UInt8] = []
    /// What answers a scan request.
    public var scanResponse: [UInt8] = []
    /// How strongly it was heard, in dBm. For people; playing does not use it.
    public var rssi: Int?
    /// Later advertising data, in the order of time.
    public var changes: [Change] = []
    /// After how long the changes begin anew, if the file repeats.
    public var duration: TimeSpan?

    /// Connectable advertising of nothing.
    public init() {}

    /// Advertising data from a point of time on.
    public struct Change: Hashable, Sendable {
      /// Since the device was switched on.
      public var time: TimeSpan
      /// The advertising data.
      public var data: [UInt8]
      /// What answers a scan request.
      public var scanResponse: [UInt8]

      /// A change.
      public init(time: TimeSpan, data: [UInt8], scanResponse: [UInt8]) {
        self.time = time
        self.data = data
        self.scanResponse = scanResponse
      }
    }
  }

  /// A service.
  public struct Service: Hashable, Sendable {
    /// What it is.
    public var uuid: BluetoothUUID
    /// Whether it is more than there to be included.
    public var isPrimary = true
    /// The services it includes, by their index in the file.
    public var includedServices: [Int] = []
    /// Its characteristics.
    public var characteristics: [Characteristic] = []

    /// A primary service with nothing in it.
    public init(uuid: BluetoothUUID) { self.uuid = uuid }
  }

  /// A characteristic.
  public struct Characteristic: Hashable, Sendable {
    /// What it is.
    public var uuid: BluetoothUUID
    /// What may be done with it.
    public var properties: CharacteristicProperties
    /// The value, or the values that follow one another.
    public var values: [[UInt8]] = []
    /// The time between `values`, or between two notifications of the same value.
    public var interval: TimeSpan?
    /// What a read is refused with.
    public var readError: ATTErrorCode?
    /// Whether reading needs an encrypted link.
    public var readNeedsEncryption = false
    /// Whether writing needs an encrypted link.
    public var writeNeedsEncryption = false
    /// Whether subscribing needs an encrypted link.
    public var notifyNeedsEncryption = false
    /// Descriptors, without the configuration (2902), which follows from the properties.
    public var descriptors: [Descriptor] = []
    /// Where written values are notified: a characteristic of the same service.
    public var echo: BluetoothUUID?
    /// The longest value that may be written.
    public var longest = Limits.valueByteCount
    /// Notifications, in the order of time, which counts from the first subscription.
    public var notifications: [TimedValue] = []
    /// What given writes lead to.
    public var answers: [Answer] = []

    /// A characteristic without a value.
    public init(uuid: BluetoothUUID, properties: CharacteristicProperties) {
      self.uuid = uuid
      self.properties = properties
    }
  }

  /// A descriptor.
  public struct Descriptor: Hashable, Sendable {
    /// What it is.
    public var uuid: BluetoothUUID
    /// Its value.
    public var value: [UInt8]

    /// A descriptor with its value.
    public init(uuid: BluetoothUUID, value: [UInt8]) {
      self.uuid = uuid
      self.value = value
    }
  }

  /// A value at a point of time.
  public struct TimedValue: Hashable, Sendable {
    /// The time from the start of the list's timeline.
    public var time: TimeSpan
    /// The value.
    public var value: [UInt8]

    /// A value at a point of time.
    public init(time: TimeSpan, value: [UInt8]) {
      self.time = time
      self.value = value
    }
  }

  /// What the device does when a certain value is written.
  public struct Answer: Hashable, Sendable {
    /// The value that was written.
    public var written: [UInt8]
    /// What the write is refused with.
    public var error: ATTErrorCode?
    /// The value of later reads; nil for the written value.
    public var value: [UInt8]?
    /// Notifications after the write; times count from the write.
    public var notifications: [Notification] = []

    /// An answer that takes the write.
    public init(written: [UInt8]) { self.written = written }

    /// A notification that a write leads to.
    public struct Notification: Hashable, Sendable {
      /// Since the write.
      public var time: TimeSpan
      /// On which characteristic.
      public var target: CharacteristicIndex
      /// The value.
      public var value: [UInt8]

      /// A notification that a write leads to.
      public init(time: TimeSpan, target: CharacteristicIndex, value: [UInt8]) {
        self.time = time
        self.target = target
        self.value = value
      }
    }
  }

  /// Names a characteristic of the file.
  public struct CharacteristicIndex: Hashable, Sendable, Comparable {
    /// The index of its service.
    public var service: Int
    /// Its index in the service.
    public var characteristic: Int

    /// Names a characteristic.
    public init(service: Int, characteristic: Int) {
      self.service = service
      self.characteristic = characteristic
    }

    /// In the order of the file.
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

/// What may be done with a characteristic, in the words of the files and of `ambit inspect`.
public enum PropertyNames {
  /// Each property with its word.
  public static let all: [(property: CharacteristicProperties, name: String)] = [
    (.broadcast, "broadcast"), (.read, "read"),
    (.writeWithoutResponse, "write-without-response"), (.write, "write"), (.notify, "notify"),
    (.indicate, "indicate"), (.authenticatedSignedWrites, "signed-write"),
    (.extendedProperties, "extended"),
  ]

  /// The words for some properties.
  public static func names(_ properties: CharacteristicProperties) -> [String] {
    all.filter { properties.contains($0.property) }.map(\.name)
  }
}
