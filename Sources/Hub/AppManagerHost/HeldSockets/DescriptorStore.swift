import AppMachines
import AppSessions
import EventLoop
import Foundation
import Glibc
import StateFiles

/// The descriptor store of the service manager (sd_notify(3), `FDSTORE=1`): held sockets outlive a restart of the
/// manager of apps. Without one they end with it.
package struct DescriptorStore: Sendable {
  /// The name of the service manager's socket; nil without one.
  let notifySocket: String?
  /// The descriptors that the service manager has kept, by their names. The manager of apps owns them.
  let inherited: [String: Int32]

  /// A service manager at a socket, and what it has kept for this process.
  package init(notifySocket: String?, inherited: [String: Int32] = [:]) {
    self.notifySocket = notifySocket
    self.inherited = inherited
  }

  /// No store.
  package static let none = DescriptorStore(notifySocket: nil)

  /// That of the service manager which started this process (sd_listen_fds_with_names(3)). Call it once.
  package static func ofEnvironment() -> DescriptorStore {
    DescriptorStore(
      notifySocket: ProcessEnvironment.value("NOTIFY_SOCKET"), inherited: inheritedDescriptors())
  }

  /// The first descriptor that is passed, and the maximum number of them.
  private static let firstDescriptor: Int32 = 3
  private static let descriptorCountMax: Int32 = 8_192

  private static func inheritedDescriptors() -> [String: Int32] {
    guard let process = ProcessEnvironment.value("LISTEN_PID"), Int32(process) == getpid(),
      let text = ProcessEnvironment.value("LISTEN_FDS"), let count = Int32(text),
      (1...descriptorCountMax).contains(count)
    else { return [:] }
    let names = (ProcessEnvironment.value("LISTEN_FDNAMES") ?? "")
      .split(separator: ":", omittingEmptySubsequences: false)
    var found: [String: Int32] = [:]
    for (descriptor, name) in zip(firstDescriptor..<firstDescriptor + count, names) {
      guard fcntl(descriptor, F_SETFD, FD_CLOEXEC) == 0 else { continue }
      if found.updateValue(descriptor, forKey: String(name)) != nil { Glibc.close(descriptor) }
    }
    return found
  }

  // MARK: Held sockets

  private static let prefix = "held-"

  static func name(_ id: HeldSocketID) -> String { prefix + String(id.rawValue) }

  /// Has the service manager keep a duplicate. It isn't polled: the end of the connection is the app's to learn.
  ///
  /// - Returns: False if the message could not be sent. True without a service manager.
  func add(_ id: HeldSocketID, _ descriptor: Int32) -> Bool {
    notify("FDSTORE=1\nFDNAME=\(Self.name(id))\nFDPOLL=0", with: descriptor)
  }

  func remove(_ id: HeldSocketID) { remove(Self.name(id)) }

  /// Has the service manager close a descriptor that it has kept.
  func remove(_ name: String) { _ = notify("FDSTOREREMOVE=1\nFDNAME=\(name)") }

  private func notify(_ state: String, with descriptor: Int32? = nil) -> Bool {
    guard let notifySocket else { return true }
    guard let address = Self.address(notifySocket) else { return false }
    let socket = Glibc.socket(
      AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue), 0)
    guard socket >= 0 else { return false }
    defer { Glibc.close(socket) }
    guard address.with({ Glibc.connect(socket, $0, $1) }) == 0 else { return false }
    return DescriptorMessage.send(Array(state.utf8), with: descriptor, on: socket)
  }

  /// An abstract name begins with "@".
  private static func address(_ name: String) -> SocketAddress? {
    name.hasPrefix("@")
      ? SocketAddress(abstractName: String(name.dropFirst())) : SocketAddress(path: name)
  }
}

/// The list of held sockets for the next manager: a file beside the manager's socket, which is gone after a restart of
/// the machine, as the sockets are.
struct HeldSocketFile {
  struct Record: Codable, Hashable {
    var id: HeldSocketID
    var app: AppID
    var description: HeldSocketDescription
  }

  struct Contents: Codable, Hashable {
    var sockets: [Record] = []
    /// The times of `setKeepAliveTimeout`, in seconds.
    var keepAlives: [String: Int64] = [:]
  }

  private let file: StateFile
  private static let byteCountMax = 1 << 22

  init(beside path: String) {
    file = StateFile(
      path: AppManagerPlace.sockets(beside: path) + ".json", byteCountMax: Self.byteCountMax)
  }

  /// - Throws: If the file can't be read. A damaged file is an error of its own kind.
  func read() throws(StateFileError) -> Contents { try file.read(Self.decode) ?? Contents() }

  func write(_ contents: Contents) throws(StateFileError) {
    guard let data = try? JSONEncoder().encode(contents) else {
      preconditionFailure("a list of held sockets can't be encoded")
    }
    try file.change(replacingDamaged: true, Self.decode) { _ in Array(data) }
  }

  private static func decode(_ bytes: [UInt8]) throws(StateFileDecodingError) -> Contents {
    let data = Data(bytes)
    if let contents = try? JSONDecoder().decode(Contents.self, from: data) { return contents }
    // Earlier managers wrote the sockets alone.
    guard let records = try? JSONDecoder().decode([Record].self, from: data) else {
      throw .damaged("it is no list of held sockets")
    }
    return Contents(sockets: records)
  }
}
