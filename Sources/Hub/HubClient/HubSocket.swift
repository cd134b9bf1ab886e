import BluetoothInterface
import Essentials
import EventLoop
import Glibc
import HubClientMachines

/// A socket that is connected to a hub, or is being connected. Used on its loop only; its owner must call
/// ``close()``, or wait for `onEnd`.
final class HubSocket {
  private let path: String
  private let loop: EpollLoop
  private let onOpen: () -> Void
  private let onBytes: ([UInt8]) -> Void
  private let onEnd: (HubFailure) -> Void
  private var connector: StreamConnector?
  private var channel: ByteChannel?
  /// Reads in the channel's place where the process that sends is to be known.
  private var reading: WatchedDescriptor?
  /// The process that has sent the first bytes; the inner value is nil if the system doesn't know it.
  private var sender: SenderReader.Sender??

  /// Called with the user whose process has sent the first bytes, before `onBytes`, and with nil if the system doesn't
  /// know it. The connection ends at bytes of another process. To be set before ``open()``.
  var onSender: ((UInt32?) -> Void)?

  /// Bytes that wait for a hub that reads slowly before it is left: half a second of the fastest program.
  private static let pendingByteCountMax = 16 * 1024 * 1024

  /// How much is read at once where the sender is to be known: the state of a hub with many programs.
  private static let readByteCountMax = 16 * 1024

  /// Creates a socket that is not connected yet.
  ///
  /// No closure is called after ``close()``, or from within a method of this object.
  /// - Parameters:
  ///   - path: Where the hub listens.
  ///   - loop: The loop on which the socket is used and calls its closures.
  ///   - onOpen: Called once when it is connected and the hub is believed.
  ///   - onBytes: Called with received bytes.
  ///   - onEnd: Called once when it could not be connected or has ended.
  init(
    path: String, on loop: EpollLoop, onOpen: @escaping () -> Void,
    onBytes: @escaping ([UInt8]) -> Void, onEnd: @escaping (HubFailure) -> Void
  ) {
    self.path = path
    self.loop = loop
    self.onOpen = onOpen
    self.onBytes = onBytes
    self.onEnd = onEnd
  }

  /// Connects the socket.
  func open() {
    guard let address = SocketAddress(path: path) else {
      return endLater(.notReached(.unsupported("\"\(path)\" can't be the path of a socket.")))
    }
    let connector = StreamConnector(on: loop, timeout: HubClientLimits.greetingMax) {
      [weak self] in self?.connected($0)
    }
    self.connector = connector
    connector.connect(to: [address])
  }

  /// Sends bytes, at once or as soon as the hub reads them.
  func send(_ bytes: [UInt8]) {
    channel?.write(bytes)
    let pending = channel?.pendingByteCount ?? 0
    if pending > Self.pendingByteCountMax { endLater(.notRead) }
  }

  /// Closes the socket, or ends the attempt to connect it.
  func close() {
    connector?.cancel()
    connector = nil
    channel?.close()
    channel = nil
    reading?.close()
    reading = nil
    isClosed = true
  }

  private var isClosed = false

  private func connected(_ result: Result<Int32, ConnectError>) {
    connector = nil
    switch result {
    case .failure(let error): endLater(.notReached(Self.explain(error, at: path)))
    case .success(let descriptor):
      if let failure = Self.disbelief(of: descriptor) {
        Glibc.close(descriptor)
        return endLater(failure)
      }
      do throws(SystemError) {
        channel = try ByteChannel(
          owning: descriptor, on: loop, expectsPromptEvents: true,
          onRead: { [weak self] in self?.received($0) },
          onEnd: { [weak self] _ in self?.end(.ended) })
        if onSender != nil { try readWithSender(at: descriptor) }
      } catch {
        return endLater(.notReached(Self.explain(.system(error), at: path)))
      }
      loop.schedule(in: .zero) { [weak self] in
        if let self, !isClosed { onOpen() }
      }
    }
  }

  /// Reads by itself, as the channel does not learn which process has sent the bytes.
  private func readWithSender(at descriptor: Int32) throws(SystemError) {
    guard SenderReader.begin(at: descriptor) else { throw .current }
    let copy = fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
    guard copy >= 0 else { throw .current }
    channel?.isReading = false
    reading = try WatchedDescriptor(owning: copy, on: loop) { [weak self] _ in self?.read() }
  }

  private func read() {
    guard let reading else { return }
    switch SenderReader.read(at: reading.descriptor, byteCountMax: Self.readByteCountMax) {
    case .nothing: break
    case .bytes(let bytes, let sender):
      switch self.sender {
      case nil:
        self.sender = .some(sender)
        onSender?(sender?.userID)
      // A descriptor can be passed on: what another process writes is not the first one's.
      case let first? where first != sender: return end(.unexpected("bytes of another process"))
      case _?: break
      }
      received(bytes)
    case .end, .failed: end(.ended)
    }
  }

  private func received(_ bytes: [UInt8]) {
    if !isClosed { onBytes(bytes) }
  }

  /// Reports the end in a turn of its own: the owner is just calling.
  private func endLater(_ failure: HubFailure) {
    channel?.close()
    channel = nil
    loop.schedule(in: .zero) { [weak self] in self?.end(failure) }
  }

  private func end(_ failure: HubFailure) {
    guard !isClosed else { return }
    close()
    onEnd(failure)
  }

  // MARK: Belief

  /// struct ucred, which Glibc's module does not have: process, user and group of the other end when it began to
  /// listen.
  private typealias Credentials = (processID: Int32, userID: UInt32, groupID: UInt32)

  /// Why the process that listens is not believed to be the hub; nil if root or this user runs it. Others could
  /// have taken the path, and would learn what the app does.
  static func disbelief(
    of descriptor: Int32, believes: (UInt32) -> Bool = { HubSocket.believes($0) }
  ) -> HubFailure? {
    var credentials: Credentials = (0, 0, 0)
    var length = socklen_t(MemoryLayout<Credentials>.size)
    let status = unsafe getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &credentials, &length)
    guard status == 0 else {
      return .notReached(.transport("The system does not tell who the hub is."))
    }
    return believes(credentials.userID) ? nil : .notBelieved(userID: credentials.userID)
  }

  /// Of processes in other user namespaces, whose users this one doesn't know (user_namespaces(7)).
  private static let overflowUserID: UInt32 = 65_534

  /// Whether a user is believed to run the hub. The overflow user is not, even by a program that has it as its
  /// own: it may be anybody's process.
  static func believes(_ userID: UInt32, self own: UInt32 = geteuid()) -> Bool {
    userID != overflowUserID && (userID == 0 || userID == own)
  }

  static func explain(_ error: ConnectError, at path: String) -> HostError {
    switch error {
    case .unknownHost: return .unsupported("\"\(path)\" can't be the path of a socket.")
    case .timedOut: return .transport("The hub at \(path) did not answer in time.")
    case .system(let error):
      switch error.number {
      case ECONNREFUSED: return .transport("No hub listens at \(path).")
      case ENOENT, ENOTDIR: return .transport("There is no hub at \(path).")
      case EACCES, EPERM: return .unauthorized("This user may not connect to the hub at \(path).")
      case EPROTOTYPE: return .transport("The socket at \(path) is not a hub's.")
      default: return .transport("The connection to the hub at \(path) failed: \(error.text).")
      }
    }
  }
}
