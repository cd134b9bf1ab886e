import ExampleProgram
import Foundation

/// The exhibits, and their pictures.
struct Exhibition: Sendable {
  let exhibits: [Exhibit]
  /// By their paths in the site.
  let pictures: [String: [UInt8]]

  /// A picture is not larger: 4 MB.
  static let pictureByteCountMax = 4 << 20
  /// A file of exhibits is not larger: 1 MB.
  static let fileByteCountMax = 1 << 20

  /// Those that come with the program.
  static func builtIn() throws(ExhibitsError) -> Exhibition {
    Exhibition(
      exhibits: try Exhibit.list(String(decoding: PackageResources.exhibits_tsv, as: UTF8.self)),
      pictures: [
        "pictures/astrolabe.svg": PackageResources.astrolabe_svg,
        "pictures/chronometer.svg": PackageResources.chronometer_svg,
        "pictures/compass.svg": PackageResources.compass_svg,
        "pictures/globe.svg": PackageResources.globe_svg,
        "pictures/lighthouse.svg": PackageResources.lighthouse_svg,
        "pictures/sandglass.svg": PackageResources.sandglass_svg,
        "pictures/satellite.svg": PackageResources.satellite_svg,
        "pictures/sextant.svg": PackageResources.sextant_svg,
      ])
  }

  /// Those of a file, with pictures in the folder `pictures` beside it.
  static func read(_ path: String) throws -> Exhibition {
    let file = URL(filePath: path)
    guard let text = contents(of: file, byteCountMax: fileByteCountMax) else {
      throw UsageError(reason: "\(path) can't be read, or is larger than 1 MB.")
    }
    let exhibits = try Exhibit.list(String(decoding: text, as: UTF8.self))
    let folder = file.deletingLastPathComponent()
    var pictures: [String: [UInt8]] = [:]
    for exhibit in exhibits {
      let picture = folder.appending(path: exhibit.picturePath)
      guard let bytes = contents(of: picture, byteCountMax: pictureByteCountMax) else {
        throw UsageError(reason: "\(picture.path) can't be read, or is larger than 4 MB.")
      }
      pictures[exhibit.picturePath] = bytes
    }
    return Exhibition(exhibits: exhibits, pictures: pictures)
  }

  private static func contents(of file: URL, byteCountMax: Int) -> [UInt8]? {
    guard let handle = try? FileHandle(forReadingFrom: file) else { return nil }
    // Read one byte more, to notice a larger file.
    guard let data = try? handle.read(upToCount: byteCountMax + 1), data.count <= byteCountMax
    else { return nil }
    return [UInt8](data)
  }
}
