internal import Connections
internal import Essentials
internal import Synchronization

/// The base class of protocol options; one of the classes named `Options`.
public class NWProtocolOptions: @unchecked Sendable {
  // Unchecked, since others inherit from it: what changes in those is guarded.

  init() {}

  func copy() -> NWProtocolOptions { self }
}

/// The Transmission Control Protocol (TCP).
public enum NWProtocolTCP {
  /// Options of TCP. Changes after a connection or a listener was started have no effect on it.
  ///
  /// Times are in seconds. The value 0 means the system's default. If the system refuses a value, a
  /// connection stays waiting, and a listener doesn't listen.
  public final class Options: NWProtocolOptions, @unchecked Sendable {
    // Unchecked, as its superclass; there is nothing that is not guarded.
    private let settings = Mutex(TCPSettings())

    /// Creates options with the system's defaults.
    public override init() { super.init() }

    override func copy() -> NWProtocolOptions {
      let copy = Options()
      copy.settings.withLock { $0 = all }
      return copy
    }

    var all: TCPSettings { settings.withLock { $0 } }

    /// Whether Nagle's algorithm is disabled, so that small packets are sent at once.
    public var noDelay: Bool {
      get { all.sendsAtOnce }
      set { settings.withLock { $0.sendsAtOnce = newValue } }
    }

    /// Whether to send only full packets. The remaining bytes are sent after 0.2 seconds
    /// nevertheless.
    public var noPush: Bool {
      get { all.sendsFullPackets }
      set { settings.withLock { $0.sendsFullPackets = newValue } }
    }

    /// Whether keepalive probes are sent to a silent peer (SO_KEEPALIVE).
    public var enableKeepalive: Bool {
      get { all.keepsAlive }
      set { settings.withLock { $0.keepsAlive = newValue } }
    }

    /// The number of idle seconds before the first keepalive probe.
    public var keepaliveIdle: Int {
      get { all.keepaliveIdleSeconds }
      set { settings.withLock { $0.keepaliveIdleSeconds = newValue } }
    }

    /// The number of seconds between keepalive probes.
    public var keepaliveInterval: Int {
      get { all.keepaliveIntervalSeconds }
      set { settings.withLock { $0.keepaliveIntervalSeconds = newValue } }
    }

    /// The number of unanswered keepalive probes after which the connection fails.
    public var keepaliveCount: Int {
      get { all.keepaliveCount }
      set { settings.withLock { $0.keepaliveCount = newValue } }
    }

    /// The maximum segment size in bytes.
    public var maximumSegmentSize: Int {
      get { all.segmentByteCountMax }
      set { settings.withLock { $0.segmentByteCountMax = newValue } }
    }

    /// The number of seconds for which each address is tried; 0 means 5.
    public var connectionTimeout: Int {
      get { all.connectingSecondsMax }
      set { settings.withLock { $0.connectingSecondsMax = newValue } }
    }

    /// The number of seconds after which the connection fails if the peer hasn't acknowledged sent
    /// data.
    public var connectionDropTime: Int {
      get { all.unacknowledgedSecondsMax }
      set { settings.withLock { $0.unacknowledgedSecondsMax = newValue } }
    }
  }
}

/// The User Datagram Protocol, which is not supported.
public enum NWProtocolUDP {
  /// Stand-in for UDP in parameters: connections and listeners with it fail.
  public final class Options: NWProtocolOptions, @unchecked Sendable {
    /// Creates options.
    public override init() { super.init() }
  }
}

/// The Internet Protocol (IP).
public enum NWProtocolIP {
  /// Options of IP. Changes after a connection or a listener was started have no effect on it.
  public final class Options: NWProtocolOptions, @unchecked Sendable {
    /// The version of IP.
    public enum Version: Hashable, Sendable {
      /// Both versions.
      case any
      /// IPv4 only.
      case v4
      /// IPv6 only.
      case v6
    }

    private struct Settings: Sendable {
      var version = Version.any
      var hopLimit: UInt8 = 0
    }

    // Unchecked, as its superclass; there is nothing that is not guarded.
    private let settings = Mutex(Settings())

    override func copy() -> NWProtocolOptions {
      let copy = Options()
      copy.settings.withLock { $0 = settings.withLock { $0 } }
      return copy
    }

    /// The version to use.
    public var version: Version {
      get { settings.withLock { $0.version } }
      set { settings.withLock { $0.version = newValue } }
    }

    /// The hop limit of packets; 0 for the system's default.
    public var hopLimit: UInt8 {
      get { settings.withLock { $0.hopLimit } }
      set { settings.withLock { $0.hopLimit = newValue } }
    }

    func apply(to tcp: inout TCPSettings) {
      tcp.hopCountMax = Int(hopLimit)
      switch version {
      case .any: tcp.version = nil
      case .v4: tcp.version = .v4
      case .v6: tcp.version = .v6
      }
    }
  }
}

/// Transport Layer Security, which is not supported.
public enum NWProtocolTLS {
  /// Can't be created: the only value of `NWProtocolTLS.Options?` is nil.
  public final class Options: NWProtocolOptions, @unchecked Sendable {
    /// Not available.
    @available(
      *, unavailable, message: "TLS is not supported; pass nil for a connection without it"
    )
    public override init() { super.init() }
  }
}
