import Essentials
import Glibc
import EventLoop
import NIOCore
import Synchronization

/// Looks for the next packet for a moment before its event loop goes to sleep: waking a sleeping
/// processor takes longer than answering a packet does.
///
/// It gives the processor away between two looks, and looks less and less often while nothing comes
/// of it (`PollingPatience`). Used on its event loop, but for ``execute(_:)``.
final class BusyPoller: @unchecked Sendable {
  // Sendable because everything that changes is touched on `eventLoop` only, or atomic.

  /// The loop that it keeps awake.
  let eventLoop: any EventLoop
  private var descriptors: [pollfd] = []
  private var patience = PollingPatience()
  private var isScheduled = false
  /// How much work is on its way to the loop, which it cannot do while it looks.
  private let pendingCount = Atomic<Int>(0)

  private let window: TimeSpan
  /// With more descriptors than these, looking takes longer than waking up.
  private static let descriptorCountMax = 16

  /// One that keeps nothing awake yet.
  ///
  /// - Parameter window: How long to look, at most; by default a few times as long as a peer on the
  ///   same machine takes to answer.
  init(eventLoop: any EventLoop, window: TimeSpan = .microseconds(200)) {
    self.eventLoop = eventLoop
    self.window = window
  }

  /// Runs the work on the loop, soon, after what was handed over before. From any thread.
  func execute(_ work: @escaping @Sendable () -> Void) {
    pendingCount.add(1, ordering: .relaxed)
    eventLoop.execute { [self] in
      pendingCount.subtract(1, ordering: .relaxed)
      work()
    }
  }

  /// Looks for what comes over the channel, too, until it is closed.
  func watch(_ channel: any Channel) {
    let descriptor = try? channel.pipeline.syncOperations.withUnsafeTransportIfAvailable(
      of: NIOBSDSocket.Handle.self
    ) { $0 }
    guard let descriptor else { return }
    descriptors.append(pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0))
    channel.closeFuture.assumeIsolated().whenComplete { [weak self] _ in
      // Only one: another channel may have the number by now.
      guard let place = self?.descriptors.firstIndex(where: { $0.fd == descriptor }) else { return }
      self?.descriptors.remove(at: place)
    }
  }

  /// Packets came over a channel and were dealt with: the next ones may follow.
  func packetsCame() {
    guard !isScheduled, !descriptors.isEmpty, descriptors.count <= Self.descriptorCountMax,
      patience.mayPoll()
    else { return }
    isScheduled = true
    eventLoop.execute { [self] in
      isScheduled = false
      patience.polled(foundPackets: poll(until: .now + window))
    }
  }

  /// Whether packets came; nil if there was something else to do before.
  private func poll(until end: Instant) -> Bool? {
    while pendingCount.load(ordering: .relaxed) == 0 {
      let count = unsafe Glibc.poll(&descriptors, nfds_t(descriptors.count), 0)
      let now = Instant.now
      // Whoever got the processor in between may have kept it: then packets were not found in time.
      if now >= end { return false }
      if count != 0 { return true }
      sched_yield()
    }
    return nil
  }
}

/// Decides whether looking for packets is worth the processor's time.
///
/// While packets follow one another closely it always is. Every look in vain doubles the number of
/// times that are let pass before the next.
struct PollingPatience: Sendable {
  private var pauseCount = 0
  private var nextPauseCount = 1

  /// The most times that are let pass.
  static let pauseCountMax = 1_024

  /// One that begins by looking.
  init() {}

  /// Whether to look this time.
  mutating func mayPoll() -> Bool {
    guard pauseCount > 0 else { return true }
    pauseCount -= 1
    return false
  }

  /// Takes what came of looking; nil if it was broken off.
  mutating func polled(foundPackets: Bool?) {
    switch foundPackets {
    case true?: nextPauseCount = 1
    case false?:
      pauseCount = nextPauseCount
      nextPauseCount = min(nextPauseCount * 2, Self.pauseCountMax)
    case nil: break
    }
  }
}
