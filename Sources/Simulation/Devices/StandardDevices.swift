import BluetoothInterface
public import BluetoothWire
public import Essentials

/// UUIDs of the ready-made devices that are not assigned by the Bluetooth SIG.
public enum StandardDeviceUUIDs {
  /// Nordic's UART service, which many terminal apps know.
  public static let uartService = BluetoothUUID(
    high: 0x6E40_0001_B5A3_F393, low: 0xE0A9_E50E_24DC_CA9E)
  /// The UART characteristic that the central writes.
  public static let uartReceive = BluetoothUUID(
    high: 0x6E40_0002_B5A3_F393, low: 0xE0A9_E50E_24DC_CA9E)
  /// The UART characteristic that notifies the central.
  public static let uartTransmit = BluetoothUUID(
    high: 0x6E40_0003_B5A3_F393, low: 0xE0A9_E50E_24DC_CA9E)
  /// The thermostat's set-point in hundredths of a degree Celsius, signed.
  public static let setPoint = BluetoothUUID(
    high: 0x7C3B_0002_92F1_4E0B, low: 0x8B1E_5D0A_4C1F_2E6D)
  /// The thermostat's service.
  public static let thermostat = BluetoothUUID(
    high: 0x7C3B_0001_92F1_4E0B, low: 0x8B1E_5D0A_4C1F_2E6D)
  /// The hours of operation, which can be read over an encrypted link only.
  public static let maintenance = BluetoothUUID(
    high: 0x7C3B_0003_92F1_4E0B, low: 0x8B1E_5D0A_4C1F_2E6D)
  /// The lock's service.
  public static let lock = BluetoothUUID(
    high: 0x7C3B_0004_92F1_4E0B, low: 0x8B1E_5D0A_4C1F_2E6D)
  /// The state of the lock: 1 is locked, 0 open. Access requires pairing with the passkey that the
  /// lock displays.
  public static let lockState = BluetoothUUID(
    high: 0x7C3B_0005_92F1_4E0B, low: 0x8B1E_5D0A_4C1F_2E6D)
  /// Apple's characteristic for the PSM of an L2CAP channel.
  public static let channelPSM = BluetoothUUID(
    high: 0xABDD_3056_28FA_441D, low: 0xA470_55A7_5A52_553A)
}

extension World {
  /// Adds a heart-rate strap that measures once a second: 2A37 with RR intervals, 2A38, 2A39, and
  /// its battery. The pulse varies randomly, with the world's seed.
  @discardableResult
  public func addHeartRateStrap(
    named name: String = "Pulse strap", at position: Position
  ) -> SimulatedDevice {
    var random = makeRandom(for: name)
    return addDevice(named: name, at: position) { strap in
      strap.appearance = 0x0341
      strap.advertisedServices = [0x180D, 0x180F]
      let service = strap.addService(0x180D)
      let measurement = service.addCharacteristic(0x2A37, [.notify])
      service.addCharacteristic(0x2A38, [.read], value: [0x01])
      let controlPoint = service.addCharacteristic(0x2A39, [.write])
      let battery = strap.addBattery(levelPercent: 87)
      strap.addDeviceInformation(model: "Strap 1")

      var pulse = 72.0
      var expendedKilojoules: UInt16 = 0
      controlPoint.onWrite { _, value in
        // 0x80: "Control Point value not supported" of the Heart Rate Service.
        guard value == [0x01] else { return .failure(ATTErrorCode(rawValue: 0x80)) }
        expendedKilojoules = 0
        return .success(())
      }
      var seconds = 0
      strap.every(.seconds(1)) {
        seconds += 1
        pulse = min(178, max(48, pulse + (random.unit() - 0.5) * 4))
        expendedKilojoules &+= seconds % 10 == 0 ? 1 : 0
        if seconds % 600 == 0 { battery.notify([max(1, battery.value[0] &- 1)]) }
        measurement.notify(Self.heartRateMeasurement(pulse, expended: expendedKilojoules))
      }
    }
  }

  /// Flags (sensor contact, energy expended and RR intervals present), the rate, the energy and one
  /// RR interval in 1/1024 s (Heart Rate Service 1.0, §3.1).
  private static func heartRateMeasurement(_ pulse: Double, expended: UInt16) -> [UInt8] {
    var writer = ByteWriter(capacity: 6)
    writer.uint8(0b0001_1110)
    writer.uint8(UInt8(pulse.rounded()))
    writer.uint16(expended)
    writer.uint16(UInt16(60 * 1024 / pulse))
    return writer.bytes
  }

  /// Adds a thermostat: a temperature that can be read and notified, a set-point that can be
  /// written (5 to 30 °C) and that the temperature then approaches, and hours of operation that can
  /// be read over an encrypted link only.
  @discardableResult
  public func addThermostat(
    named name: String = "Thermostat", at position: Position
  ) -> SimulatedDevice {
    var random = makeRandom(for: name)
    return addDevice(named: name, at: position) { thermostat in
      thermostat.appearance = 0x0540
      thermostat.advertisingInterval = .milliseconds(500)
      thermostat.advertisedServices = [0x181A]
      let environment = thermostat.addService(0x181A)
      let temperature = environment.addCharacteristic(
        0x2A6E, [.read, .notify], value: Self.hundredths(20.5), description: "Room temperature")
      let service = thermostat.addService(StandardDeviceUUIDs.thermostat)
      let setPoint = service.addCharacteristic(
        StandardDeviceUUIDs.setPoint, [.read, .write], value: Self.hundredths(21),
        description: "Set-point, 0.01 °C")
      service.addCharacteristic(
        StandardDeviceUUIDs.maintenance, [.read], value: [0x39, 0x05, 0, 0],
        requiresEncryption: true, description: "Hours of operation")
      thermostat.addDeviceInformation(model: "Thermostat 2")

      var room = 20.5
      setPoint.onWrite { [unowned setPoint] _, value in
        guard let wanted = Self.degrees(value) else {
          return .failure(.invalidAttributeValueLength)
        }
        guard 5...30 ~= wanted else { return .failure(.outOfRange) }
        setPoint.value = value
        return .success(())
      }
      thermostat.every(.seconds(5)) {
        let wanted = Self.degrees(setPoint.value) ?? room
        room += (wanted - room) * 0.05 + (random.unit() - 0.5) * 0.02
        temperature.notify(Self.hundredths(room))
      }
    }
  }

  private static func hundredths(_ degrees: Double) -> [UInt8] {
    let raw = UInt16(bitPattern: Int16((degrees * 100).rounded()))
    return [UInt8(truncatingIfNeeded: raw), UInt8(truncatingIfNeeded: raw >> 8)]
  }

  private static func degrees(_ value: [UInt8]) -> Double? {
    guard value.count == 2 else { return nil }
    return Double(Int16(bitPattern: UInt16(value[0]) | UInt16(value[1]) << 8)) / 100
  }

  /// Adds a door lock, which displays a passkey for pairing. Only peers that paired with it can
  /// read or change its state.
  @discardableResult
  public func addLock(
    named name: String = "Front door", at position: Position
  ) -> SimulatedDevice {
    addDevice(named: name, at: position) { lock in
      lock.appearance = 0x0708  // Door lock
      lock.advertisingInterval = .milliseconds(500)
      lock.ioCapability = .displayOnly
      lock.onPairingPrompt = { [unowned self] _, prompt, _ in
        guard case .displayPasskey(let passkey) = prompt else { return }
        onDisplay?(name, PairingPrompt.digits(passkey))
      }
      let service = lock.addService(StandardDeviceUUIDs.lock)
      let state = service.addCharacteristic(
        StandardDeviceUUIDs.lockState, [.read, .write, .notify], value: [1],
        requiresAuthentication: true, description: "1 locked, 0 open")
      state.onWrite { [unowned state] _, value in
        guard value == [0] || value == [1] else { return .failure(.outOfRange) }
        if value != state.value { state.notify(value) }
        return .success(())
      }
      lock.addDeviceInformation(model: "Lock 1")
    }
  }

  /// Adds a battery, which loses a percent a minute.
  @discardableResult
  public func addBattery(
    named name: String = "Door sensor", at position: Position
  ) -> SimulatedDevice {
    addDevice(named: name, at: position) { device in
      device.advertisingInterval = .seconds(1)
      let battery = device.addBattery(levelPercent: 100)
      device.addDeviceInformation(model: "Sensor 3")
      device.every(.seconds(60)) { battery.notify([max(1, battery.value[0] &- 1)]) }
    }
  }

  /// Adds a device that echoes all data, through Nordic's UART service and through an L2CAP channel
  /// whose PSM is in Apple's characteristic.
  @discardableResult
  public func addUARTEcho(
    named name: String = "UART echo", at position: Position
  ) -> SimulatedDevice {
    addDevice(named: name, at: position) { echo in
      let psm: UInt16 = 0x0081
      let service = echo.addService(StandardDeviceUUIDs.uartService)
      let receive = service.addCharacteristic(
        StandardDeviceUUIDs.uartReceive, [.write, .writeWithoutResponse])
      let transmit = service.addCharacteristic(StandardDeviceUUIDs.uartTransmit, [.notify])
      service.addCharacteristic(
        StandardDeviceUUIDs.channelPSM, [.read],
        value: [UInt8(truncatingIfNeeded: psm), UInt8(truncatingIfNeeded: psm >> 8)])
      receive.onWrite { _, value in
        transmit.notify(value)
        return .success(())
      }
      echo.addChannel(psm: psm) { Array($0) }
    }
  }

  /// Adds an iBeacon (Apple, Proximity Beacon Specification): UUID, major, minor, and measured
  /// power at one metre in dBm. It only advertises, so a world can have thousands.
  @discardableResult
  public func addBeacon(
    uuid: BluetoothUUID, major: UInt16, minor: UInt16, measuredPower: Int8 = -59,
    every interval: TimeSpan = .milliseconds(100), at position: Position
  ) -> AdvertiserID {
    addBeacon(
      uuid: uuid, major: major, minor: minor, measuredPower: measuredPower, every: interval,
      moving: .still(position))
  }

  /// Adds a moving iBeacon. Its transmit power is such that a receiver one metre away measures
  /// `measuredPower`, plus an error.
  ///
  /// - Parameter errorDB: The transmit power relative to the advertised power, in dB.
  @discardableResult
  public func addBeacon(
    uuid: BluetoothUUID, major: UInt16, minor: UInt16, measuredPower: Int8 = -59,
    errorDB: Double = 0, every interval: TimeSpan = .milliseconds(100), moving motion: Motion
  ) -> AdvertiserID {
    var identity = ByteWriter(capacity: 23)
    identity.append([0x02, 0x15])
    identity.bigEndian(uuid.high, count: 8)
    identity.bigEndian(uuid.low, count: 8)
    identity.bigEndian(UInt64(major), count: 2)
    identity.bigEndian(UInt64(minor), count: 2)
    identity.int8(measuredPower)
    var data = AdvertisingDataBuilder()
    data.append([.generalDiscoverable, .classicNotSupported] as AdvertisingFlags)
    data.append(manufacturer: 0x004C, identity.bytes)
    var random = makeRandom(for: "iBeacon \(uuid) \(major) \(minor)")
    var advertisement = Advertisement(
      address: .randomStatic(using: &random), data: data.bytes)
    advertisement.interval = interval
    advertisement.powerDBm = Double(measuredPower) + radio.lossAtOneMetreDB + errorDB
    return advertise(advertisement, at: motion)
  }
}

extension SimulatedDevice {
  /// Adds the battery service.
  @discardableResult
  public func addBattery(levelPercent: UInt8) -> SimulatedCharacteristic {
    addService(0x180F).addCharacteristic(0x2A19, [.read, .notify], value: [min(100, levelPercent)])
  }

  /// Adds the device information service.
  public func addDeviceInformation(model: String) {
    let service = addService(0x180A)
    service.addCharacteristic(0x2A29, [.read], value: Array("Ambit".utf8))
    service.addCharacteristic(0x2A24, [.read], value: Array(model.utf8))
  }
}
