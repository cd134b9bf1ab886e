import BluetoothWire
import Essentials

extension FuzzTarget {
  /// One for every decoder of the wire floor. What decodes must encode, and decode to the same.
  static let wire: [FuzzTarget] = [
    FuzzTarget(name: "HCIEvent") { bytes in
      guard let event = try? HCIEvent(decoding: bytes[...]) else { return }
      let again = try? HCIEvent(decoding: event.packet.bytes)
      precondition(again == event, "\(event) came back as \(String(describing: again))")
    },
    hciCommand,
    FuzzTarget(name: "ACL") { bytes in
      _ = try? ACLHeader.decode(from: bytes[...])
    },
    h4Decoder,
    btsnoop,
    FuzzTarget(name: "L2CAPSignal") { bytes in
      guard let signal = try? L2CAPSignalPDU(decoding: bytes[...]) else { return }
      let again = try? L2CAPSignalPDU(decoding: signal.bytes[...])
      precondition(again == signal, "\(signal) came back as \(String(describing: again))")
    },
    FuzzTarget(name: "ATTPDU") { bytes in
      guard let pdu = try? ATTPDU(decoding: bytes[...]) else { return }
      let again = try? ATTPDU(decoding: pdu.bytes[...])
      precondition(again == pdu, "\(pdu) came back as \(String(describing: again))")
    },
    FuzzTarget(name: "SMPPDU") { bytes in
      guard let pdu = try? SMPPDU(decoding: bytes[...]) else { return }
      precondition(pdu.bytes == Array(bytes), "code \(pdu.code) is not written as it was read")
    },
    advertisingData,
    standardValue,
    beacon,
  ]

  /// A stream in chunks of the size in its first byte must give the same packets as a whole one.
  private static let h4Decoder = FuzzTarget(name: "H4Decoder") { bytes in
    guard let first = bytes.first else { return }
    let stream = bytes[1...]
    let whole = h4Packets(stream, chunkByteCount: max(1, stream.count))
    let cut = h4Packets(stream, chunkByteCount: Int(first) % 16 + 1)
    precondition(whole.packets == cut.packets, "chunks changed the packets")
    precondition(whole.error == cut.error, "chunks changed the error")
    precondition(whole.error != nil || whole.bufferedByteCount == cut.bufferedByteCount)
  }

  private struct H4Result {
    var packets: [HCIPacket] = []
    var error: WireError?
    var bufferedByteCount = 0
  }

  private static func h4Packets(_ stream: ArraySlice<UInt8>, chunkByteCount: Int) -> H4Result {
    var decoder = H4Decoder()
    var result = H4Result()
    var rest = stream
    while !rest.isEmpty {
      decoder.append(rest.prefix(chunkByteCount))
      rest = rest.dropFirst(chunkByteCount)
      do throws(WireError) {
        while let packet = try decoder.next() { result.packets.append(packet) }
      } catch {
        result.error = error
        return result
      }
    }
    result.bufferedByteCount = decoder.bufferedByteCount
    return result
  }

  /// The bytes as a file, and as the records of a file whose header is right.
  private static let btsnoop = FuzzTarget(name: "BTSnoop") { bytes in
    for file in [bytes, BTSnoop.header + bytes] {
      guard var reader = try? BTSnoop.Reader(file[...]) else { continue }
      while let record = try? reader.next() {
        let copy = BTSnoop.record(
          record.packet, direction: record.direction, microseconds: record.microseconds)
        var again = try? BTSnoop.Reader((BTSnoop.header + copy)[...])
        let same = try? again?.next()
        precondition(same?.packet == record.packet, "\(record) changed in writing")
        precondition(same?.microseconds == record.microseconds, "\(record) changed its time")
      }
    }
  }

  /// The first byte is the length of the advertising data; the scan response follows.
  private static let advertisingData = FuzzTarget(name: "AdvertisingData") { bytes in
    guard let first = bytes.first else { return }
    let data = bytes[1...].prefix(Int(first))
    let response = bytes[1...].dropFirst(Int(first))
    let advertisement = AdvertisingData(data)
    var byteCount = 0
    for structure in advertisement {
      byteCount += structure.data.count + 2
      switch structure.element {
      case .services(let uuids, isComplete: _), .solicitedServices(let uuids):
        precondition(Array(uuids).count == uuids.count, "a list miscounts its services")
        for uuid in uuids { _ = advertisement.solicitsService(uuid) }
      default: break
      }
    }
    precondition(byteCount <= data.count, "more structures than bytes")
    _ = advertisement.isMalformed
    let fields = AdvertisingFields(data, scanResponse: response)
    for uuid in AdvertisingFields(data).services {
      precondition(fields.services.contains(uuid), "a scan response took a service away")
      precondition(advertisement.listsService(uuid), "a listed service is not listed")
    }
  }

  /// The first two bytes name the characteristic or descriptor.
  private static let standardValue = FuzzTarget(name: "StandardValue") { bytes in
    guard bytes.count >= 2 else { return }
    let number = (UInt16(bytes[0]) | UInt16(bytes[1]) << 8) % 0x0400
    let value = bytes[2...]
    let uuid = BluetoothUUID(0x2900 + number)
    for text in [
      StandardValue.text(value, of: uuid), StandardValue.text(value, ofDescriptor: uuid),
      StandardValue.printable(value),
    ] {
      precondition(text?.unicodeScalars.allSatisfy { $0.value >= 0x20 } ?? true, "controls in text")
    }
  }

  private static let beacon = FuzzTarget(name: "Beacon") { bytes in
    if let beacon = Beacon(manufacturerData: bytes[...]) { _ = beacon.description }
    let frame = Beacon(serviceData: bytes[...], of: Beacon.eddystoneService)
    if let frame { _ = frame.description }
    precondition(Beacon(serviceData: bytes[...], of: 0x180D) == nil, "a beacon in another service")
    if let beacon = try? IBeacon(decoding: bytes[...]) {
      precondition(beacon.bytes == bytes, "\(beacon) is not written as it was read")
      let read = Beacon.read(AdvertisingData(beacon.advertisingData[...]))
      precondition(read == .beacon(.iBeacon(beacon)), "\(beacon) is not found in its own data")
    }
    if let beacon = try? AltBeacon(decoding: bytes[...]) {
      precondition(beacon.manufacturerData == bytes, "\(beacon) is not written as it was read")
      precondition(beacon.asIBeacon != nil, "an identifier without its numbers")
    }
    if case .beacon(let beacon) = Beacon.read(AdvertisingData(bytes[...])) {
      _ = beacon.powerAtOneMetre
    }
  }
}
