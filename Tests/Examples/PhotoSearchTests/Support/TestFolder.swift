import Foundation
import Testing

@testable import photo_search

/// A folder of a test's, which is removed afterwards.
final class TestFolder: Sendable {
  let path: String

  init() throws {
    let url = FileManager.default.temporaryDirectory.appending(path: "photos-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    path = url.path
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }

  /// Writes a file, in folders that are made for it.
  func write(_ bytes: [UInt8], to name: String) throws {
    let url = URL(filePath: path).appending(path: name)
    try FileManager.default.createDirectory(
      at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
    try Data(bytes).write(to: url)
  }

  func link(_ name: String, to target: String) throws {
    try FileManager.default.createSymbolicLink(
      atPath: path + "/" + name, withDestinationPath: target)
  }

  func folder() throws -> PictureFolder { try PictureFolder(path) }
}

/// Pictures for tests.
enum TestPicture {
  /// A PNG file with stripes of a colour, without compression.
  static func png(width: Int = 8, height: Int = 8, red: UInt8 = 200) -> [UInt8] {
    var raw: [UInt8] = []
    for row in 0..<height {
      raw.append(0)
      for column in 0..<width {
        raw += [red, UInt8(truncatingIfNeeded: row), UInt8(truncatingIfNeeded: column)]
      }
    }
    return header(width: width, height: height) + chunk("IDAT", stored(raw)) + chunk("IEND", [])
  }

  /// The beginning of a PNG file, with the size of the picture.
  static func header(width: Int, height: Int) -> [UInt8] {
    [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]
      + chunk("IHDR", four(width) + four(height) + [8, 2, 0, 0, 0])
  }

  /// A JPEG file, 16 pixels wide and 8 high, of one colour.
  ///
  /// - Parameter orientation: How the camera was held (Exif 2.3, §4.6.4, tag 274): 6 is turned by a
  ///   quarter.
  static func jpeg(orientation: UInt8) throws -> [UInt8] {
    let tiff: [UInt8] =
      Array("MM".utf8) + [0, 42, 0, 0, 0, 8, 0, 1, 1, 0x12, 0, 3, 0, 0, 0, 1, 0, orientation]
      + [0, 0, 0, 0, 0, 0]
    let segment = Array("Exif\0\0".utf8) + tiff
    let file = Array(try #require(Data(base64Encoded: jpegText)))
    return file.prefix(2) + [0xFF, 0xE1, 0, UInt8(segment.count + 2)] + segment + file.dropFirst(2)
  }

  private static let jpegText =
    "/9j/4AAQSkZJRgABAQAAAQABAAD/4gHYSUNDX1BST0ZJTEUAAQEAAAHIAAAAAAQwAABtbnRyUkdCIFhZWiAH4AAB"
    + "AAEAAAAAAABhY3NwAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAQAA9tYAAQAAAADTLQAAAAAAAAAAAAAAAAAA"
    + "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAlkZXNjAAAA8AAAACRyWFlaAAABFAAAABRnWFla"
    + "AAABKAAAABRiWFlaAAABPAAAABR3dHB0AAABUAAAABRyVFJDAAABZAAAAChnVFJDAAABZAAAAChiVFJDAAABZAAA"
    + "AChjcHJ0AAABjAAAADxtbHVjAAAAAAAAAAEAAAAMZW5VUwAAAAgAAAAcAHMAUgBHAEJYWVogAAAAAAAAb6IAADj1"
    + "AAADkFhZWiAAAAAAAABimQAAt4UAABjaWFlaIAAAAAAAACSgAAAPhAAAts9YWVogAAAAAAAA9tYAAQAAAADTLXBh"
    + "cmEAAAAAAAQAAAACZmYAAPKnAAANWQAAE9AAAApbAAAAAAAAAABtbHVjAAAAAAAAAAEAAAAMZW5VUwAAACAAAAAc"
    + "AEcAbwBvAGcAbABlACAASQBuAGMALgAgADIAMAAxADb/2wBDABsSFBcUERsXFhceHBsgKEIrKCUlKFE6PTBCYFVl"
    + "ZF9VXVtqeJmBanGQc1tdhbWGkJ6jq62rZ4C8ybqmx5moq6T/2wBDARweHigjKE4rK06kbl1upKSkpKSkpKSkpKSk"
    + "pKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKT/wAARCAAIABADASIAAhEBAxEB/8QAFQABAQAA"
    + "AAAAAAAAAAAAAAAAAAT/xAAUEAEAAAAAAAAAAAAAAAAAAAAA/8QAFQEBAQAAAAAAAAAAAAAAAAAABAX/xAAUEQEA"
    + "AAAAAAAAAAAAAAAAAAAA/9oADAMBAAIRAxEAPwCYBRFf/9k="

  private static func chunk(_ name: String, _ content: [UInt8]) -> [UInt8] {
    let checked = Array(name.utf8) + content
    return four(content.count) + checked + four(Int(crc(checked)))
  }

  private static func four(_ number: Int) -> [UInt8] {
    [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: number >> $0) }
  }

  /// RFC 1950 and RFC 1951, §3.2.4: blocks that aren't compressed.
  private static func stored(_ raw: [UInt8]) -> [UInt8] {
    var bytes: [UInt8] = [0x78, 0x01]
    var offset = 0
    while offset < raw.count {
      let count = min(65_535, raw.count - offset)
      bytes.append(offset + count == raw.count ? 1 : 0)
      for number in [count, ~count] {
        bytes += [UInt8(truncatingIfNeeded: number), UInt8(truncatingIfNeeded: number >> 8)]
      }
      bytes += raw[offset..<offset + count]
      offset += count
    }
    var (a, b) = (1, 0)
    for byte in raw {
      a = (a + Int(byte)) % 65_521
      b = (b + a) % 65_521
    }
    return bytes + four(b << 16 | a)
  }

  private static func crc(_ bytes: [UInt8]) -> UInt32 {
    ~bytes.reduce(UInt32.max) { sum, byte in
      sum >> 8 ^ crcTable[Int(UInt8(truncatingIfNeeded: sum) ^ byte)]
    }
  }

  private static let crcTable: [UInt32] = (0..<256).map { index in
    (0..<8).reduce(UInt32(index)) { each, _ in
      each & 1 == 1 ? each >> 1 ^ 0xEDB8_8320 : each >> 1
    }
  }
}
