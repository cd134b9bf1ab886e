import BluetoothWire

/// How long packets take on air (Core 5.4, Vol 6, Part B, §2.1 and §2.2).
enum AirTime {
  /// Silence between two packets of one exchange: T_IFS, 150 µs.
  static let interFrameNanoseconds: Int64 = 150_000

  /// The duration of a packet with a payload of this length (MIC included), in nanoseconds.
  static func nanoseconds(payloadBytes: Int, phy: PHY) -> Int64 {
    let payload = Int64(payloadBytes)
    switch phy {
    case .le1M: return (1 + 4 + 2 + payload + 3) * 8_000
    case .le2M: return (2 + 4 + 2 + payload + 3) * 4_000
    // S=8: preamble 80 µs, access address 256, coding indicator 16, first terminator 24, then
    // 64 µs a byte, then the second terminator.
    case .leCoded: return (80 + 256 + 16 + 24 + (2 + payload + 3) * 64 + 24) * 1_000
    }
  }

  /// How much weaker a signal may be than on LE 1M.
  static func sensitivityGainDB(_ phy: PHY) -> Double {
    switch phy {
    case .le1M: 0
    case .le2M: -3
    case .leCoded: 8
    }
  }
}
