import Glibc

/// The speeds that Linux knows for serial lines.
enum SerialSpeed {
  /// What termios calls each of them.
  static let all: [Int: speed_t] = [
    9_600: 0o000_015, 19_200: 0o000_016, 38_400: 0o000_017, 57_600: 0o010_001,
    115_200: 0o010_002, 230_400: 0o010_003, 460_800: 0o010_004, 500_000: 0o010_005,
    576_000: 0o010_006, 921_600: 0o010_007, 1_000_000: 0o010_010, 1_152_000: 0o010_011,
    1_500_000: 0o010_012, 2_000_000: 0o010_013, 2_500_000: 0o010_014, 3_000_000: 0o010_015,
    3_500_000: 0o010_016, 4_000_000: 0o010_017,
  ]

  /// All of them, for people.
  static var list: String { all.keys.sorted().map(String.init).joined(separator: ", ") }
}
