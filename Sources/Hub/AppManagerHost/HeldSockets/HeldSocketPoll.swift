import AppMachines
import CLinux
import EventLoop
import Glibc

/// The descriptors of held sockets, which are watched and never read: their bytes are the apps'.
///
/// They have an epoll of their own, edge-triggered, inside that of the loop. So bytes that an app leaves unread are
/// reported once, and not in every turn. Used on its loop only.
final class HeldSocketPoll {
  private let epoll: Int32
  private var watched: WatchedDescriptor?
  private var descriptors: [HeldSocketID: Int32] = [:]
  private let onReadable: (HeldSocketID, HeldSocketReading) -> Void

  /// How many sockets are looked at before other descriptors of the loop.
  private static let eventCountMax = 64
  private static let watchedEvents =
    EPOLLIN.rawValue | EPOLLRDHUP.rawValue | EPOLLET.rawValue

  /// - Parameter onReadable: Called on the loop when bytes or the end of a watched socket have come.
  init(
    on loop: EpollLoop, onReadable: @escaping (HeldSocketID, HeldSocketReading) -> Void
  ) throws(SystemError) {
    self.onReadable = onReadable
    epoll = epoll_create1(Int32(EPOLL_CLOEXEC))
    guard epoll >= 0 else { throw .current }
    watched = try WatchedDescriptor(owning: epoll, on: loop) { [weak self] _ in self?.read() }
  }

  var count: Int { descriptors.count }

  func descriptor(of id: HeldSocketID) -> Int32? { descriptors[id] }

  /// Takes ownership of a descriptor, which isn't watched yet.
  func add(_ id: HeldSocketID, owning descriptor: Int32) throws(SystemError) {
    var event = Self.event(id, EPOLLET.rawValue)
    guard epoll_ctl(epoll, EPOLL_CTL_ADD, descriptor, &event) == 0 else {
      let error = SystemError.current
      Glibc.close(descriptor)
      throw error
    }
    descriptors[id] = descriptor
  }

  func watch(_ id: HeldSocketID) { change(id, Self.watchedEvents) }

  func unwatch(_ id: HeldSocketID) { change(id, EPOLLET.rawValue) }

  private func change(_ id: HeldSocketID, _ events: UInt32) {
    guard let descriptor = descriptors[id] else { return }
    var event = Self.event(id, events)
    _ = epoll_ctl(epoll, EPOLL_CTL_MOD, descriptor, &event)
  }

  private static func event(_ id: HeldSocketID, _ events: UInt32) -> epoll_event {
    epoll_event(events: events, data: epoll_data_t(u64: id.rawValue))
  }

  /// Closes the duplicate.
  func close(_ id: HeldSocketID) {
    guard let descriptor = descriptors.removeValue(forKey: id) else { return }
    // Before: epoll goes on with a socket that another process has open (epoll(7)).
    var event = epoll_event()
    _ = epoll_ctl(epoll, EPOLL_CTL_DEL, descriptor, &event)
    Glibc.close(descriptor)
  }

  /// Ends both directions of the connection, and closes the duplicate.
  func shutDown(_ id: HeldSocketID) {
    if let descriptor = descriptors[id] { shutdown(descriptor, Int32(SHUT_RDWR)) }
    close(id)
  }

  /// Closes all of them.
  func close() {
    for id in descriptors.keys { close(id) }
    watched?.close()
    watched = nil
  }

  private func read() {
    var events = [epoll_event](repeating: epoll_event(), count: Self.eventCountMax)
    let count = epoll_wait(epoll, &events, Int32(events.count), 0)
    for event in events.prefix(max(0, Int(count))) {
      let id = HeldSocketID(rawValue: event.data.u64)
      guard let descriptor = descriptors[id] else { continue }
      onReadable(id, TCPSocketOptions.reading(of: descriptor))
    }
  }
}
