package import AppMachines
package import Foundation
package import StateFiles
import Synchronization

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

/// A manager of an app that is preserved over a restart.
package struct PreservedManagerRecord: Hashable, Codable, Sendable {
  package var app: String
  package var manager: String
  /// As ``PreservedManager`` writes them.
  package var holdings: [UInt8]

  package init(app: String, manager: String, holdings: [UInt8]) {
    self.app = app
    self.manager = manager
    self.holdings = holdings
  }

  private enum CodingKeys: String, CodingKey {
    case app, manager, holdings
  }

  package init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    app = try container.decode(String.self, forKey: .app)
    manager = try container.decode(String.self, forKey: .manager)
    // Earlier managers wrote an array of numbers, four times as long as text in Base64.
    if let data = try? container.decode(Data.self, forKey: .holdings) {
      holdings = Array(data)
    } else {
      holdings = try container.decode([UInt8].self, forKey: .holdings)
    }
  }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(app, forKey: .app)
    try container.encode(manager, forKey: .manager)
    try container.encode(Data(holdings), forKey: .holdings)
  }
}

/// Something else that the manager keeps for an app. An app has one of each kind at most.
package struct AppDetailRecord: Hashable, Codable, Sendable {
  package var app: String
  /// Of ``AppDetailKind``, or of a later manager.
  package var kind: String
  package var contents: Data

  package init(app: String, kind: AppDetailKind, contents: [UInt8]) {
    self.app = app
    self.kind = kind.rawValue
    self.contents = Data(contents)
  }
}

package enum AppDetailKind: String, Hashable, Sendable {
  /// As ``PreservedRegions`` writes them.
  case regions
  /// An ``AppServiceRecord`` in JSON.
  case services
  /// It had a held socket, for which the next manager starts it if the socket is gone. The contents are the
  /// number of managers for which it has run since and wanted none, as a byte; empty for 0.
  case heldSocket
  /// The person has ended the app, and has not opened it since. Without contents.
  case forceQuit
  /// An ``AppFailureRecord`` in JSON.
  case failures
}

/// The failures of an app for which it is not launched for a time, or for longer after the next one.
package struct AppFailureRecord: Hashable, Codable, Sendable {
  package var crashCount: Int
  /// In seconds since 1970, as the other times.
  package var lastCrash: Double?
  package var overstayCount: Int
  package var pausedUntil: Double?
  /// The last reason, for people.
  package var reason: String?
}

/// What a manager of apps keeps over its end.
package struct AppStoreContents: Hashable, Codable, Sendable {
  package var apps: [InstalledAppRecord] = []
  package var managers: [PreservedManagerRecord] = []
  package var details: [AppDetailRecord] = []

  package init(
    apps: [InstalledAppRecord] = [], managers: [PreservedManagerRecord] = [],
    details: [AppDetailRecord] = []
  ) {
    self.apps = apps
    self.managers = managers
    self.details = details
  }

  package init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    apps = try container.decode([InstalledAppRecord].self, forKey: .apps)
    managers = try container.decode([PreservedManagerRecord].self, forKey: .managers)
    // Earlier managers wrote none.
    details = try container.decodeIfPresent([AppDetailRecord].self, forKey: .details) ?? []
  }
}

extension AppStoreContents {
  /// The maximum size of what apps keep, before it is encoded. It leaves a store room for the list of apps.
  package static let keptByteCountMax = 1 << 23

  /// Contents of this size at most are a note, for which there is always room.
  private static let noteByteCountMax = 1

  /// Leaves out what the apps keep that keep most, until the others' fits into the store. A force-quit stays noted,
  /// and so does a held socket.
  ///
  /// - Returns: The contents, and the identifiers of these apps.
  package func fitting(
    byteCountMax: Int = keptByteCountMax
  ) -> (contents: AppStoreContents, leftOut: [String]) {
    var sizes: [String: Int] = [:]
    for manager in managers { sizes[manager.app, default: 0] += manager.holdings.count }
    for detail in details { sizes[detail.app, default: 0] += detail.contents.count }
    var total = sizes.values.reduce(0, +)
    var leftOut: [String] = []
    for (app, size) in sizes.sorted(by: { ($1.value, $0.key) < ($0.value, $1.key) })
    where total > byteCountMax {
      total -= size
      leftOut.append(app)
    }
    var contents = self
    contents.managers.removeAll { leftOut.contains($0.app) }
    contents.details.removeAll {
      leftOut.contains($0.app) && $0.contents.count > Self.noteByteCountMax
    }
    return (contents, leftOut)
  }
}

/// Keeps the apps. Called on the manager's loop: a call may take as long as a write to the disk.
package protocol AppStore: Sendable {
  /// Reads the contents of the last write. The first call.
  func read() throws(StateFileError) -> AppStoreContents
  /// Writes all of the contents, or nothing.
  func write(_ contents: AppStoreContents) throws(StateFileError)
  /// Returns sentences for the log about damage that was found and mended, each once.
  func takeReports() -> [String]
  /// Lets another manager have the store. Later calls fail.
  func close()
}

extension AppStore {
  package func takeReports() -> [String] { [] }
  package func close() {}
}

/// A store in memory, for tests: the next manager has what the last one has written.
package final class AppStoreMemory: AppStore {
  private let contents: Mutex<AppStoreContents>

  package init(_ contents: AppStoreContents = AppStoreContents()) {
    self.contents = Mutex(contents)
  }

  package func read() -> AppStoreContents { contents.withLock { $0 } }
  package func write(_ new: AppStoreContents) { contents.withLock { $0 = new } }
}

/// A file of the user's state, in JSON: the store of programs without the trait `AppDatabase`.
package struct AppStoreFile: AppStore {
  private let file: StateFile
  private static let byteCountMax = 1 << 24

  package init(path: String) { file = StateFile(path: path, byteCountMax: Self.byteCountMax) }

  package func read() throws(StateFileError) -> AppStoreContents {
    try file.read(Self.decode) ?? AppStoreContents()
  }

  package func write(_ contents: AppStoreContents) throws(StateFileError) {
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    guard let data = try? encoder.encode(contents) else {
      preconditionFailure("a list of apps can't be encoded")
    }
    try file.change(replacingDamaged: true, Self.decode) { _ in Array(data) }
  }

  private static func decode(
    _ bytes: [UInt8]
  ) throws(StateFileDecodingError) -> AppStoreContents {
    guard let contents = try? JSONDecoder().decode(AppStoreContents.self, from: Data(bytes)) else {
      throw .damaged("it is no list of apps")
    }
    return contents
  }
}
