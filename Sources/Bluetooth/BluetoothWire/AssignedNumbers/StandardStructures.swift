import Essentials

/// One notification of a heart rate sensor (Heart Rate Service 1.0, §3.1).
package struct HeartRateMeasurement: Hashable, Sendable {
  /// Beats per minute.
  package var beatsPerMinute: UInt16
  /// Whether the sensor touches skin; nil if it doesn't support contact detection.
  package var hasContact: Bool?
  /// Energy spent since the last reset, in kilojoules.
  package var energyKilojoules: UInt16?
  /// Times between beats in units of 1/1024 s, oldest first.
  package var intervalUnits: [UInt16]

  /// Reads the characteristic's value.
  package init(decoding bytes: ArraySlice<UInt8>) throws(WireError) {
    var reader = ByteReader(bytes)
    do throws(Truncated) {
      let flags = try reader.uint8()
      beatsPerMinute = flags & 0x01 == 0 ? UInt16(try reader.uint8()) : try reader.uint16()
      hasContact = flags & 0x04 == 0 ? nil : flags & 0x02 != 0
      energyKilojoules = flags & 0x08 == 0 ? nil : try reader.uint16()
      intervalUnits = []
      if flags & 0x10 != 0 {
        while !reader.isAtEnd { intervalUnits.append(try reader.uint16()) }
      }
    } catch {
      throw WireError(error)
    }
    guard reader.isAtEnd else { throw .trailingBytes(count: reader.count) }
  }

  /// `72 bpm, contact, 12 kJ, beats 1000 ms 996 ms`.
  package var text: String {
    var parts = ["\(beatsPerMinute) bpm"]
    if let hasContact { parts.append(hasContact ? "contact" : "no contact") }
    if let energyKilojoules { parts.append("\(energyKilojoules) kJ") }
    if !intervalUnits.isEmpty {
      let beats = intervalUnits.map { "\((Int($0) * 1000 + 512) / 1024) ms" }
      parts.append("beats " + beats.joined(separator: " "))
    }
    return parts.joined(separator: ", ")
  }
}

extension StandardValue {
  /// Values with several fields.
  static func structure(_ bytes: ArraySlice<UInt8>, _ number: UInt16) -> String? {
    var reader = ByteReader(bytes)
    switch number {
    case 0x2A01:
      return decode(&reader) { r throws(Truncated) in
        let value = try r.uint16()
        return AssignedNumbers.appearanceName(value) ?? "appearance 0x\(BluetoothUUID(value))"
      }
    case 0x2A04: return decode(&reader, preferredParameters)
    case 0x2A05:
      return decode(&reader) { r throws(Truncated) in
        "handles 0x\(BluetoothUUID(try r.uint16()))–0x\(BluetoothUUID(try r.uint16()))"
      }
    case 0x2A08: return decode(&reader, dateTime)
    case 0x2A1C, 0x2A1E: return decode(&reader, temperatureMeasurement)
    case 0x2A23: return decode(&reader, systemID)
    case 0x2A2B: return decode(&reader, currentTime)
    case 0x2A35: return decode(&reader, bloodPressure)
    case 0x2A37: return (try? HeartRateMeasurement(decoding: bytes))?.text
    case 0x2A50: return decode(&reader, plugAndPlay)
    case 0x2A5B: return decode(&reader, cyclingMeasurement)
    case 0x2A53: return decode(&reader, runningMeasurement)
    case 0x2A9D: return decode(&reader, weightMeasurement)
    default: return nil
    }
  }

  private static func preferredParameters(_ r: inout ByteReader) throws(Truncated) -> String? {
    let shortest = try r.uint16()
    let longest = try r.uint16()
    let latency = try r.uint16()
    let timeout = try r.uint16()
    func milliseconds(_ units: UInt16) -> String {
      units == 0xFFFF ? "any" : DecimalText.string(Int64(units) * 125, exponent: -2) + " ms"
    }
    let end = timeout == 0xFFFF ? "any" : "\(Int(timeout) * 10) ms"
    return "interval \(milliseconds(shortest)) to \(milliseconds(longest)), latency \(latency), "
      + "timeout \(end)"
  }

  /// Year to seconds; unknown parts are zero (GATT Specification Supplement, §3.72).
  private static func dateTime(_ r: inout ByteReader) throws(Truncated) -> String? {
    let year = try r.uint16()
    let month = try r.uint8()
    let day = try r.uint8()
    let hour = try r.uint8()
    let minute = try r.uint8()
    let second = try r.uint8()
    guard month <= 12, day <= 31, hour <= 23, minute <= 59, second <= 59 else { return nil }
    func two(_ value: UInt8) -> String { value < 10 ? "0\(value)" : "\(value)" }
    let date = year == 0 ? "????" : String(year)
    return "\(date)-\(two(month))-\(two(day)) \(two(hour)):\(two(minute)):\(two(second))"
  }

  private static func currentTime(_ r: inout ByteReader) throws(Truncated) -> String? {
    guard let time = try dateTime(&r) else { return nil }
    _ = try r.uint8()  // The day of the week follows from the date.
    let hundredths = Int(try r.uint8()) * 100 / 256
    let reasons = try r.uint8()
    let names = ["manual update", "reference update", "time zone change", "DST change"]
    let set = names.indices.filter { reasons >> $0 & 1 != 0 }.map { names[$0] }
    let fraction = hundredths < 10 ? "0\(hundredths)" : "\(hundredths)"
    return "\(time).\(fraction)" + (set.isEmpty ? "" : " (\(set.joined(separator: ", ")))")
  }

  /// Health Thermometer Service 1.0, §3.1.
  private static func temperatureMeasurement(_ r: inout ByteReader) throws(Truncated) -> String? {
    let flags = try r.uint8()
    let value = MedicalFloat(bits32: try r.uint32())
    var text = "\(value) \(flags & 1 == 0 ? "°C" : "°F")"
    if flags & 2 != 0 {
      guard let time = try dateTime(&r) else { return nil }
      text += ", \(time)"
    }
    if flags & 4 != 0, let place = Self.text(try r.slice(1), of: 0x2A1D) { text += ", \(place)" }
    return text
  }

  private static func systemID(_ r: inout ByteReader) throws(Truncated) -> String? {
    let manufacturer = try r.slice(5).reversed()
    let organization = try r.slice(3).reversed()
    return "organization \(Hexadecimal.string(organization)), "
      + "manufacturer \(Hexadecimal.string(manufacturer))"
  }

  /// Device Information Service 1.1, §3.9.
  private static func plugAndPlay(_ r: inout ByteReader) throws(Truncated) -> String? {
    let source = try r.uint8()
    let vendor = try r.uint16()
    let product = try r.uint16()
    let version = try r.uint16()
    let hex = "0x\(BluetoothUUID(vendor))"
    let vendorText =
      switch source {
      case 1: AssignedNumbers.companyName(vendor) ?? "Bluetooth vendor \(hex)"
      case 2: "USB vendor \(hex)"
      default: "vendor \(hex)"
      }
    return "\(vendorText), product 0x\(BluetoothUUID(product)), "
      + "version \(version >> 8).\(version >> 4 & 15).\(version & 15)"
  }

  /// Blood Pressure Service 1.1, §3.1.
  private static func bloodPressure(_ r: inout ByteReader) throws(Truncated) -> String? {
    let flags = try r.uint8()
    let systolic = MedicalFloat(bits16: try r.uint16())
    let diastolic = MedicalFloat(bits16: try r.uint16())
    let mean = MedicalFloat(bits16: try r.uint16())
    var text = "\(systolic)/\(diastolic) \(flags & 1 == 0 ? "mmHg" : "kPa"), mean \(mean)"
    if flags & 2 != 0 {
      guard let time = try dateTime(&r) else { return nil }
      text += ", \(time)"
    }
    if flags & 4 != 0 { text += ", pulse \(MedicalFloat(bits16: try r.uint16())) bpm" }
    if flags & 8 != 0 { text += ", user \(try r.uint8())" }
    if flags & 16 != 0 { _ = try r.uint16() }
    return text
  }

  /// Cycling Speed and Cadence Service 1.0, §3.1.
  private static func cyclingMeasurement(_ r: inout ByteReader) throws(Truncated) -> String? {
    let flags = try r.uint8()
    var parts: [String] = []
    if flags & 1 != 0 {
      let revolutions = try r.uint32()
      parts.append("wheel \(revolutions) turns at \(clock(try r.uint16()))")
    }
    if flags & 2 != 0 {
      let revolutions = try r.uint16()
      parts.append("crank \(revolutions) turns at \(clock(try r.uint16()))")
    }
    return parts.isEmpty ? "nothing measured" : parts.joined(separator: ", ")
  }

  /// A time in units of 1/1024 s, rounded down to milliseconds.
  private static func clock(_ units: UInt16) -> String {
    DecimalText.string(Int64(units) * 1000 / 1024, exponent: -3) + " s"
  }

  /// Running Speed and Cadence Service 1.0, §3.1.
  private static func runningMeasurement(_ r: inout ByteReader) throws(Truncated) -> String? {
    let flags = try r.uint8()
    let speed = Int64(try r.uint16()) * 100 / 256
    let cadence = try r.uint8()
    var text = flags & 4 == 0 ? "walking" : "running"
    text += " \(DecimalText.string(speed, exponent: -2)) m/s, \(cadence) steps/min"
    if flags & 1 != 0 { text += ", stride \(try r.uint16()) cm" }
    if flags & 2 != 0 {
      text += ", \(DecimalText.string(Int64(try r.uint32()), exponent: -1)) m"
    }
    return text
  }

  /// Weight Scale Service 1.0, §3.2.
  private static func weightMeasurement(_ r: inout ByteReader) throws(Truncated) -> String? {
    let flags = try r.uint8()
    let raw = Int64(try r.uint16())
    var text =
      flags & 1 == 0
      ? DecimalText.string(raw * 5, exponent: -3) + " kg"
      : DecimalText.string(raw, exponent: -2) + " lb"
    if flags & 2 != 0 {
      guard let time = try dateTime(&r) else { return nil }
      text += ", \(time)"
    }
    if flags & 4 != 0 { text += ", user \(try r.uint8())" }
    if flags & 8 != 0 {
      let index = DecimalText.string(Int64(try r.uint8()), exponent: -1)
      text += ", BMI \(index), height \(try r.uint16()) mm"
    }
    return text
  }
}
