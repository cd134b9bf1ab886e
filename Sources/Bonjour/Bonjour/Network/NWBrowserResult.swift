extension NWBrowser {
  /// The services that a browser browses for.
  public enum Descriptor: Hashable, Sendable {
    /// Services of a type, in a domain, by default `local.`
    case bonjour(type: String, domain: String?)
    /// Services of a type, and their TXT records.
    case bonjourWithTXTRecord(type: String, domain: String?)
    /// Apple devices that run an app. Not supported: such a browser fails.
    case applicationService(name: String)
  }

  /// The state of a browser.
  public enum State: Hashable, Sendable {
    /// Not started yet.
    case setup
    /// Browsing.
    case ready
    /// Failed; it cannot be started again.
    case failed(NWError)
    /// Cancelled.
    case cancelled
    /// Browsing is not possible at the moment.
    case waiting(NWError)
  }

  /// A result of browsing.
  public struct Result: Hashable, Sendable {
    /// Metadata of a result.
    public enum Metadata: Hashable, Sendable {
      /// No metadata.
      case none
      /// The TXT record of the service.
      case bonjour(NWTXTRecord)
    }

    /// The endpoint to connect to.
    public let endpoint: NWEndpoint
    /// The interfaces on which it was found.
    public let interfaces: [NWInterface]
    /// Its metadata.
    public let metadata: Metadata

    /// A change of a result.
    public enum Change: Hashable, Sendable {
      /// No change.
      case identical
      /// The result was added.
      case added(Result)
      /// The result was removed.
      case removed(Result)
      /// The result changed.
      case changed(old: Result, new: Result, flags: Flags)

      /// The differences between two versions of a result.
      public struct Flags: OptionSet, Hashable, Sendable {
        /// The bits.
        public let rawValue: Int
        /// Creates flags from their bits.
        public init(rawValue: Int) { self.rawValue = rawValue }

        /// No difference.
        public static let identical = Flags(rawValue: 1)
        /// An interface was added.
        public static let interfaceAdded = Flags(rawValue: 2)
        /// An interface was removed.
        public static let interfaceRemoved = Flags(rawValue: 4)
        /// The TXT record changed.
        public static let metadataChanged = Flags(rawValue: 8)
      }

      /// The change from `old` to `new`: added without `old`, removed without `new`, identical
      /// without both.
      public init(between old: Result?, _ new: Result?) {
        switch (old, new) {
        case (nil, nil): self = .identical
        case (nil, let new?): self = .added(new)
        case (let old?, nil): self = .removed(old)
        case (let old?, let new?):
          self = old == new ? .identical : .changed(old: old, new: new, flags: Flags(old, new))
        }
      }
    }
  }
}

extension NWBrowser.Result.Change.Flags {
  fileprivate init(_ old: NWBrowser.Result, _ new: NWBrowser.Result) {
    self = []
    if !Set(new.interfaces).isSubset(of: old.interfaces) { insert(.interfaceAdded) }
    if !Set(old.interfaces).isSubset(of: new.interfaces) { insert(.interfaceRemoved) }
    if old.metadata != new.metadata { insert(.metadataChanged) }
  }
}
