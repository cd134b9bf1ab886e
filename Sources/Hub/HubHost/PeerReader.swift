import EventLoop
import Glibc
package import HubMachines

/// Finds out which program is at the other end of a connection.
package struct PeerReader: Sendable {
  /// The program at the other end of a socket, with the facts that the rules need; nil if the system doesn't
  /// know it. The name of the listening socket is left out.
  package var peer: @Sendable (_ descriptor: Int32, _ rules: HubRules) -> HubPeer?

  package init(_ peer: @escaping @Sendable (_ descriptor: Int32, _ rules: HubRules) -> HubPeer?) {
    self.peer = peer
  }

  /// How much the program at a connected socket may use, by the rules; nil if they deny it.
  ///
  /// - Parameters:
  ///   - descriptor: The connected socket.
  ///   - socket: The name of the listening socket that it connected to; nil if that has none.
  ///   - rules: The rules.
  package func quotas(
    _ descriptor: Int32, at socket: String? = nil, _ rules: HubRules
  ) -> HubQuotas? {
    guard var peer = peer(descriptor, rules) else { return nil }
    peer.socket = socket
    guard case .allowed(let quotas) = rules.verdict(on: peer, hubUserID: geteuid())
    else { return nil }
    return quotas
  }

  /// The system's own knowledge. In a shortage of descriptors, rules about units can't be applied, and the program is
  /// not known: a verdict without them would be wrong for as long as it is connected.
  package static let system = PeerReader { descriptor, rules in
    guard let credentials = PeerCredentials(of: descriptor) else { return nil }
    var units: [String]?
    do throws(SystemError) {
      // Also without rules about them, for the hub's state.
      units = try Self.units(credentials.processID, descriptor)
    } catch {
      DescriptorShortage.report(error.number)
      if rules.needUnits, DescriptorShortage(errorNumber: error.number) != nil { return nil }
    }
    return HubPeer(
      userID: credentials.userID, processID: credentials.processID,
      groupIDs: rules.needGroups ? credentials.groupIDs(of: descriptor) : nil, units: units)
  }

  /// The units of a process. The process must be alive after its groups were read: another one could have got its
  /// number before.
  private static func units(
    _ processID: Int32, _ descriptor: Int32
  ) throws(SystemError) -> [String]? {
    // Without a number, the process is in another namespace.
    guard processID > 0 else { return nil }
    let pin = try PinnedPeer(pinning: descriptor)
    let text = try file("/proc/\(processID)/cgroup")
    return pin.isAlive ? ControlGroups.units(of: text) : nil
  }

  private static func file(_ path: String) throws(SystemError) -> [UInt8] {
    let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw .current }
    defer { close(descriptor) }
    return try FileBytes.read(descriptor, byteCountMax: ControlGroups.byteCountMax)
  }
}

/// Reads files whole.
enum FileBytes {
  /// All bytes of an open file, but not more than this number.
  static func read(_ descriptor: Int32, byteCountMax: Int) throws(SystemError) -> [UInt8] {
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 4_096)
    while bytes.count < byteCountMax {
      let count = unsafe Glibc.read(
        descriptor, &buffer, min(buffer.count, byteCountMax - bytes.count))
      if count < 0, errno == EINTR { continue }
      guard count >= 0 else { throw .current }
      if count == 0 { break }
      bytes += buffer.prefix(count)
    }
    return bytes
  }
}
