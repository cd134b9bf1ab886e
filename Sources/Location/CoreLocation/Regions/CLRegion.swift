internal import EventLoop

/// The base class of regions that can be monitored.
///
/// Regions are equal if their identifiers are: monitoring one replaces another with the same
/// identifier.
open class CLRegion: NSObject, NSCopying, NSSecureCoding, @unchecked Sendable {
  // Unchecked: the flags are guarded by `lock`, the rest is constant.

  /// The identifier that the program chose.
  public let identifier: String

  private struct Flags {
    var notifyOnEntry = true
    var notifyOnExit = true
    /// Of beacon regions only.
    var notifyEntryStateOnDisplay = false
  }

  private let lock = SharedLock()
  private var flags = Flags()

  init(identifier: String) {
    self.identifier = identifier
    super.init()
  }

  /// Whether entering is reported; true by default. Set it before monitoring starts.
  open var notifyOnEntry: Bool {
    get { lock.withLock { flags.notifyOnEntry } }
    set { lock.withLock { flags.notifyOnEntry = newValue } }
  }

  /// Whether leaving is reported; true by default. Set it before monitoring starts.
  open var notifyOnExit: Bool {
    get { lock.withLock { flags.notifyOnExit } }
    set { lock.withLock { flags.notifyOnExit = newValue } }
  }

  var entryStateOnDisplay: Bool {
    get { lock.withLock { flags.notifyEntryStateOnDisplay } }
    set { lock.withLock { flags.notifyEntryStateOnDisplay = newValue } }
  }

  // MARK: Archives

  /// Decodes a region; nil if the archive has no identifier.
  public required init?(coder: NSCoder) {
    guard let identifier = coder.text(forKey: "identifier") else { return nil }
    self.identifier = identifier
    super.init()
    notifyOnEntry = coder.decodeBool(forKey: "notifyOnEntry")
    notifyOnExit = coder.decodeBool(forKey: "notifyOnExit")
    entryStateOnDisplay = coder.decodeBool(forKey: "notifyEntryStateOnDisplay")
  }

  /// Encodes the region.
  open func encode(with coder: NSCoder) {
    coder.encode(identifier as NSString, forKey: "identifier")
    coder.encode(notifyOnEntry, forKey: "notifyOnEntry")
    coder.encode(notifyOnExit, forKey: "notifyOnExit")
    coder.encode(entryStateOnDisplay, forKey: "notifyEntryStateOnDisplay")
  }

  /// Always true: archives may come from untrusted sources.
  open class var supportsSecureCoding: Bool { true }

  // MARK: Copies and equality

  /// Returns a new region with the same values.
  open func copy(with zone: NSZone? = nil) -> Any {
    let copy = makeCopy()
    copy.notifyOnEntry = notifyOnEntry
    copy.notifyOnExit = notifyOnExit
    copy.entryStateOnDisplay = entryStateOnDisplay
    return copy
  }

  /// A region of its own, with the flags as they are by default.
  func makeCopy() -> CLRegion { CLRegion(identifier: identifier) }

  /// Two regions are equal if their identifiers are.
  open override func isEqual(_ object: Any?) -> Bool {
    (object as? CLRegion)?.identifier == identifier
  }

  /// Hashes the identifier.
  open override var hash: Int { identifier.hashValue }

  /// The class and the identifier.
  open override var description: String { "\(type(of: self)) (identifier:'\(identifier)')" }
}

extension CLRegion {
  /// A copy that no other code can change.
  var ownCopy: CLRegion { copy() as? CLRegion ?? self }
}

extension NSCoder {
  /// A text of an archive, of at most a sensible length.
  func text(forKey key: String) -> String? {
    guard containsValue(forKey: key),
      let text = decodeObject(of: NSString.self, forKey: key) as String?,
      text.utf8.count <= Limits.textByteCountMax
    else { return nil }
    return text
  }

  /// A UUID of an archive, written as text.
  func uuid(forKey key: String) -> UUID? { text(forKey: key).flatMap { UUID(uuidString: $0) } }

  /// A 16-bit integer: `.some(nil)` if the key is missing, nil if the value is out of range.
  func optionalUInt16(forKey key: String) -> UInt16?? {
    guard containsValue(forKey: key) else { return .some(nil) }
    return UInt16(exactly: decodeInteger(forKey: key)).map { .some($0) }
  }
}
