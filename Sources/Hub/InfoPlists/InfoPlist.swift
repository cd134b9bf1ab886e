internal import Foundation

/// The parts of an app's `Info.plist` that its life depends on.
package struct InfoPlist: Hashable, Codable, Sendable {
  /// The maximum size of the file; Apple's are a few kilobytes.
  package static let byteCountMax = 1 << 20
  /// The maximum number of elements of an array.
  package static let elementCountMax = 256

  /// `CFBundleIdentifier`.
  package var bundleIdentifier: String?
  /// `CFBundleExecutable`.
  package var executable: String?
  /// `CFBundleVersion`.
  package var version: String?
  /// `UIBackgroundModes`, as they are written. Unknown ones have no effect.
  package var backgroundModes: [String] = []
  /// `BGTaskSchedulerPermittedIdentifiers`.
  package var permittedTaskIdentifiers: [String] = []
  /// `UIApplicationSceneManifest`; nil for an app without scenes.
  package var sceneManifest: SceneManifest?
  /// `UIApplicationExitsOnSuspend`.
  package var exitsOnSuspend = false
  /// `NSBluetoothAlwaysUsageDescription` and those for locations, by their keys.
  package var usageDescriptions: [String: String] = [:]

  /// The first configuration of `UIWindowSceneSessionRoleApplication`, as far as it has one.
  package struct SceneManifest: Hashable, Codable, Sendable {
    /// `UISceneConfigurationName`.
    package var name: String?
    /// `UISceneDelegateClassName`.
    package var delegateClassName: String?

    package init(name: String? = nil, delegateClassName: String? = nil) {
      self.name = name
      self.delegateClassName = delegateClassName
    }
  }

  package init() {}

  /// Reads the file's bytes, a property list in XML or binary.
  package init(bytes: [UInt8]) throws(InfoPlistError) {
    guard bytes.count <= Self.byteCountMax else { throw .tooLarge(byteCount: bytes.count) }
    let isBinary = bytes.starts(with: "bplist".utf8)
    let start = bytes.drop { $0 == 0xEF || $0 == 0xBB || $0 == 0xBF || $0 <= 0x20 }
    guard isBinary ? BinaryPropertyList.isBounded(bytes) : start.first == UInt8(ascii: "<") else {
      throw .malformed
    }
    let list = try? PropertyListSerialization.propertyList(from: Data(bytes), format: nil)
    guard let list else { throw .malformed }
    guard let dictionary = list as? [String: Any] else { throw .notADictionary }
    try self.init(dictionary)
  }

  /// Reads the keys; others are ignored.
  package init(_ dictionary: [String: Any]) throws(InfoPlistError) {
    let reader = Reader(dictionary: dictionary)
    bundleIdentifier = try reader.value("CFBundleIdentifier")
    executable = try reader.value("CFBundleExecutable")
    version = try reader.value("CFBundleVersion")
    backgroundModes = try reader.strings("UIBackgroundModes")
    permittedTaskIdentifiers = try reader.strings("BGTaskSchedulerPermittedIdentifiers")
    exitsOnSuspend = try reader.value("UIApplicationExitsOnSuspend") ?? false
    for key in Self.usageKeys {
      usageDescriptions[key] = try reader.value(key)
    }
    if let manifest: [String: Any] = try reader.value("UIApplicationSceneManifest") {
      sceneManifest = try SceneManifest(manifest)
    }
  }

  private static let usageKeys = [
    "NSBluetoothAlwaysUsageDescription", "NSLocationAlwaysAndWhenInUseUsageDescription",
    "NSLocationWhenInUseUsageDescription",
  ]
}

/// Why an `Info.plist` can't be used.
package enum InfoPlistError: Error, Hashable, Sendable {
  /// There is such a file, but it can't be read, or the environment names one that doesn't exist.
  case unreadable(path: String)
  case tooLarge(byteCount: Int)
  /// It is no property list in XML or binary.
  case malformed
  case notADictionary
  /// The value of a key has another type than the one that is expected.
  case wrongType(key: String, expected: String)
  case tooManyElements(key: String)
}

extension InfoPlist.SceneManifest {
  fileprivate init(_ manifest: [String: Any]) throws(InfoPlistError) {
    self.init()
    let reader = InfoPlist.Reader(dictionary: manifest)
    guard let all: [String: Any] = try reader.value("UISceneConfigurations") else { return }
    let role = "UIWindowSceneSessionRoleApplication"
    let roles = InfoPlist.Reader(dictionary: all)
    guard let configurations: [Any] = try roles.value(role) else { return }
    guard let first = configurations.first else { return }
    guard let first = first as? [String: Any] else {
      throw .wrongType(key: role, expected: "array of dictionaries")
    }
    let configuration = InfoPlist.Reader(dictionary: first)
    name = try configuration.value("UISceneConfigurationName")
    delegateClassName = try configuration.value("UISceneDelegateClassName")
  }
}

extension InfoPlist {
  fileprivate struct Reader {
    var dictionary: [String: Any]

    func value<Value>(_ key: String) throws(InfoPlistError) -> Value? {
      guard let any = dictionary[key] else { return nil }
      // A number is no boolean, though Foundation converts it.
      let isConverted = Value.self == Bool.self && !(any is Bool)
      guard !isConverted, let value = any as? Value else {
        throw .wrongType(key: key, expected: Self.name(of: Value.self))
      }
      return value
    }

    func strings(_ key: String) throws(InfoPlistError) -> [String] {
      guard let values: [Any] = try value(key) else { return [] }
      guard values.count <= InfoPlist.elementCountMax else { throw .tooManyElements(key: key) }
      var strings: [String] = []
      for value in values {
        guard let string = value as? String else {
          throw .wrongType(key: key, expected: "array of strings")
        }
        strings.append(string)
      }
      return strings
    }

    private static func name(of type: Any.Type) -> String {
      if type == String.self { return "string" }
      if type == Bool.self { return "boolean" }
      return type == [Any].self ? "array" : "dictionary"
    }
  }
}
