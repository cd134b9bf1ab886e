package import AppMachines
import Foundation
package import StateFiles

/// An app that is installed.
package struct InstalledAppRecord: Hashable, Codable, Sendable {
  package var identifier: String
  package var folder: String
  /// As the Info.plist had it when it was last read.
  package var description: AppDescription

  package init(identifier: String, folder: String, description: AppDescription) {
    self.identifier = identifier
    self.folder = folder
    self.description = description
  }
}

/// Keeps the list of apps. Called on the manager's loop: a call may take as long as a write to the disk.
package protocol AppStore: Sendable {
  func read() throws(StateFileError) -> [InstalledAppRecord]
  func write(_ apps: [InstalledAppRecord]) throws(StateFileError)
}

/// A list of apps in a file of the user's state, in JSON.
package struct AppStoreFile: AppStore {
  private let file: StateFile
  private static let byteCountMax = 1 << 20

  package init(path: String) { file = StateFile(path: path, byteCountMax: Self.byteCountMax) }

  package func read() throws(StateFileError) -> [InstalledAppRecord] {
    try file.read(Self.decode) ?? []
  }

  package func write(_ apps: [InstalledAppRecord]) throws(StateFileError) {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
    guard let data = try? encoder.encode(apps) else {
      preconditionFailure("a list of apps can't be encoded")
    }
    try file.change(replacingDamaged: true, Self.decode) { _ in Array(data) }
  }

  private static func decode(
    _ bytes: [UInt8]
  ) throws(StateFileDecodingError) -> [InstalledAppRecord] {
    guard let apps = try? JSONDecoder().decode([InstalledAppRecord].self, from: Data(bytes)) else {
      throw .damaged("it is no list of apps")
    }
    return apps
  }
}
