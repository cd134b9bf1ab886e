internal import Connections
internal import Essentials
internal import Synchronization

/// How a protocol is spoken: one of the classes named `Options`.
public class NWProtocolOptions: @unchecked Sendable {
  // Unchecked, since others inherit from it: what changes in those is guarded.

  init() {}

  func copy() -> NWProtocolOptions { self }
}

/// The Transmission Control Protocol.
public enum NWProtocolTCP {
  /// Options of TCP. Changes after a connection or a listener was started have no effect on it.
  ///
  /// Times are in seconds. 0 leaves a number to the system. If the system refuses a value, a
  /// connection stays waiting, and a listener doesn't listen.
  public final class Options: NWProtocolOptions, @unchecked Sendable {
    // Unchecked, as its superclass; there is nothing that is not guarded.
    private let settings = Mutex(TCPSettings())

    /// Options by the system's choice.
    public override init() { super.init() }

    override func copy() -> NWProtocolOptions {
      let copy = Options()
      copy.settings.withLock { $0 = all }
      return copy
    }

    var all: TCPSettings { settings.withLock { $0 } }

    /// Whether small packets are sent at once, instead of waiting for others.
    public var noDelay: Bool {
      get { all.sendsAtOnce }
      set { settings.withLock { $0.sendsAtOnce = newValue } }
    }

    /// Whether to send only full packets; here the remaining bytes are sent after 0.2 seconds all
    /// the same.
    public var noPush: Bool {
      get { all.sendsFullPackets }
      set { settings.withLock { $0.sendsFullPackets = newValue } }
    }

    /// Whether a silent peer is probed now and then (SO_KEEPALIVE).
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

    /// After how many questions without an answer the connection has failed.
    public var keepaliveCount: Int {
      get { all.keepaliveCount }
      set { settings.withLock { $0.keepaliveCount = newValue } }
    }

    /// The longest segment, in bytes.
    public var maximumSegmentSize: Int {
      get { all.segmentByteCountMax }
      set { settings.withLock { $0.segmentByteCountMax = newValue } }
    }

    /// For how many seconds one address is tried; 5 where it is 0.
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

/// The User Datagram Protocol, which is not spoken here.
public enum NWProtocolUDP {
  /// Placeholder for UDP in parameters: connections and listeners with it fail.
  public final class Options: NWProtocolOptions, @unchecked Sendable {
    /// Options.
    public override init() { super.init() }
  }
}

/// The Internet Protocol.
public enum NWProtocolIP {
  /// Options of IP. Changes after a connection or a listener was started have no effect on it.
  public final class Options: NWProtocolOptions, @unchecked Sendable {
    /// Versions of IP.
    public enum Version: Hashable, Sendable {
      /// Both.
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

    /// Which version is used.
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

/// Transport Layer Security, which is not available here.
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
