import BluetoothWire
import Essentials

// Advertising reports.

extension SimulatedController {
  func report(
    _ advertiser: Advertiser, from peer: PeerAddress?, rssi: Double, isScanResponse: Bool
  ) {
    guard isNew(advertiser, peer, isScanResponse: isScanResponse) else { return }
    let rssi = reported(rssi)
    if settings.scan.isExtended {
      guard isUnmasked(LEExtendedAdvertisingReports.code) else { return }
      reportExtended(advertiser, from: peer, rssi: rssi, isScanResponse: isScanResponse)
    } else if let peer {
      reportLegacy(advertiser, from: peer, rssi: rssi, isScanResponse: isScanResponse)
    }
  }

  /// Whether the duplicate filter lets it pass. Data doesn't count, but its identifier does
  /// (Core 5.4, Vol 6, Part B, §4.4.3.5).
  private func isNew(
    _ advertiser: Advertiser, _ peer: PeerAddress?, isScanResponse: Bool
  ) -> Bool {
    guard settings.scan.duplicates != .off else { return true }
    if settings.scan.duplicates == .resetEachPeriod {
      let since = world.now.nanoseconds - settings.scan.startNanoseconds
      let period = since / max(1, settings.scan.periodNanoseconds)
      if period != duplicates.period {
        duplicates = DuplicateMemory()
        duplicates.period = period
      }
    }
    var key = (peer?.address.bits ?? 0) | (isScanResponse ? 1 << 48 : 0)
    if peer?.address.kind == .random { key |= 1 << 49 }
    if !advertiser.properties.contains(.legacy) {
      key |= 1 << 50
      key = HashedRandom.mix(key, UInt64(advertiser.dataID) << 8 | UInt64(advertiser.setID))
    }
    return duplicates.insert(key)
  }

  private func reported(_ rssi: Double) -> Int8? {
    if faults.missingRSSIProbability > 0, generator.unit() < faults.missingRSSIProbability {
      return nil
    }
    // Chips report −127 ... +20; 127 means "not available".
    return Int8(max(-127, min(20, rssi.rounded())))
  }

  private func reportLegacy(
    _ advertiser: Advertiser, from peer: PeerAddress, rssi: Int8?, isScanResponse: Bool
  ) {
    let properties = advertiser.properties
    let kind: LEAdvertisingReport.Kind =
      if isScanResponse {
        .scanResponse
      } else if properties.contains(.directed) {
        .directed
      } else if properties.contains(.connectable) {
        .connectable
      } else if properties.contains(.scannable) {
        .scannable
      } else {
        .nonConnectable
      }
    if kind == .directed, let target = advertiser.target, !isOwn(target) {
      return send(
        LEDirectedAdvertisingReports([
          LEDirectedAdvertisingReport(
            advertiser: peer, target: PeerAddress(target), rssi: rssi)
        ]))
    }
    guard isUnmasked(LEAdvertisingReports.code) else { return }
    let data = isScanResponse ? advertiser.scanResponse : advertiser.data
    var writer = ByteWriter(capacity: 14 + data.count)
    writer.uint8(0x3E)
    writer.uint8(UInt8(truncatingIfNeeded: 12 + data.count))
    writer.uint8(LEAdvertisingReport.subevent)
    writer.uint8(1)
    LEAdvertisingReport(kind: kind, advertiser: peer, data: data[...], rssi: rssi)
      .encode(into: &writer)
    deliver(HCIPacket(kind: .event, bytes: writer.bytes))
  }

  private func reportExtended(
    _ advertiser: Advertiser, from peer: PeerAddress?, rssi: Int8?, isScanResponse: Bool
  ) {
    let properties = advertiser.properties
    let isLegacy = properties.contains(.legacy)
    typealias EventType = LEExtendedAdvertisingReport.EventType
    var type = EventType(rawValue: properties.rawValue & 0x07)
    if isLegacy { type.insert(.legacy) }
    if isScanResponse { type.insert(.scanResponse) }
    let data = isScanResponse ? advertiser.scanResponse : advertiser.data
    let target = properties.contains(.directed) ? advertiser.target : nil
    var rest = data[...]
    repeat {
      let piece = rest.prefix(Limits.reportDataMax)
      rest = rest.dropFirst(Limits.reportDataMax)
      var pieceType = type
      if !rest.isEmpty { pieceType.insert(.moreToCome) }
      let report = LEExtendedAdvertisingReport(
        type: pieceType, advertiser: peer, primaryPHY: advertiser.primaryPHY,
        secondaryPHY: isLegacy ? nil : advertiser.secondaryPHY,
        setID: isLegacy ? nil : advertiser.setID,
        txPowerDBm: properties.contains(.includesPower) ? Int8(advertiser.powerDBm) : nil,
        rssi: rssi,
        target: target.map { PeerAddress($0) }, data: piece)
      var writer = ByteWriter(capacity: 30 + piece.count)
      writer.uint8(0x3E)
      writer.uint8(UInt8(truncatingIfNeeded: 26 + piece.count))
      writer.uint8(LEExtendedAdvertisingReport.subevent)
      writer.uint8(1)
      report.encode(into: &writer)
      deliver(HCIPacket(kind: .event, bytes: writer.bytes))
    } while !rest.isEmpty
  }
}
