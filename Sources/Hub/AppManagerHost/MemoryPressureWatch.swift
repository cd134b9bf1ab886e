import AppMachines
package import Essentials
import EventLoop
import Glibc

/// Where the kernel reports that memory is short.
package struct MemoryFiles: Hashable, Sendable {
  /// Pressure stall information, https://docs.kernel.org/accounting/psi.html.
  package var pressure = "/proc/pressure/memory"
  /// Its line `oom_kill` counts the processes that the kernel has ended for their memory.
  package var statistics = "/proc/vmstat"
  /// How often the pressure is read where the kernel doesn't report it.
  package var interval = TimeSpan.seconds(5)

  package init() {}

  /// Nothing is reported, and no app is ended.
  package static var none: MemoryFiles {
    var files = MemoryFiles()
    (files.pressure, files.statistics) = ("", "")
    return files
  }

  /// How many processes the kernel has ended for their memory; nil if that isn't known.
  var endedCount: UInt64? {
    let lines = TextFile.read(statistics)?.split(separator: "\n") ?? []
    let line = lines.first { $0.hasPrefix("oom_kill ") }
    return line.flatMap { UInt64($0.dropFirst("oom_kill ".count)) }
  }

  /// Microseconds in which some, and all, processes waited for memory; nil if that isn't known.
  var stallTimes: (some: UInt64, full: UInt64)? {
    guard let text = TextFile.read(pressure) else { return nil }
    func total(_ name: String) -> UInt64? {
      let line = text.split(separator: "\n").first { $0.hasPrefix(name + " ") }
      let field = line?.split(separator: " ").first { $0.hasPrefix("total=") }
      return field.flatMap { UInt64($0.dropFirst("total=".count)) }
    }
    guard let some = total("some"), let full = total("full") else { return nil }
    return (some, full)
  }
}

/// Watches the pressure on the machine's memory. Used on its loop only.
final class MemoryPressureWatch {
  /// Stalls in a time of two seconds, which a program without privileges may choose since Linux 6.5: of some processes for
  /// a warning, and of all of them for an app that has to go.
  private static let warningStall: UInt64 = 200_000
  private static let criticalStall: UInt64 = 100_000
  private static let window: UInt64 = 2_000_000

  private let files: MemoryFiles
  private let onPressure: (AppMachine.MemoryPressure) -> Void
  private var timer: (any LoopTimer)?
  private var last: (some: UInt64, full: UInt64)?
  private var triggers: Triggers?

  /// - Parameter onPressure: Called on the loop.
  init(
    _ files: MemoryFiles, on loop: EpollLoop,
    onPressure: @escaping (AppMachine.MemoryPressure) -> Void
  ) {
    self.files = files
    self.onPressure = onPressure
    let watch = LoopConfined(WeakWatch(self), to: loop)
    triggers = Triggers(files.pressure) { pressure in
      loop.execute { watch.value.watch?.onPressure(pressure) }
    }
    guard triggers == nil, let times = files.stallTimes else { return }
    last = times
    timer = loop.makeTimer { [weak self] in self?.look() }
    timer?.set(.now + files.interval)
  }

  /// How it learns of pressure: `events`, `polling` or `none`.
  var way: String { triggers != nil ? "events" : timer != nil ? "polling" : "none" }

  private func look() {
    timer?.set(.now + files.interval)
    guard let times = files.stallTimes, let last else { return }
    self.last = times
    // Of a counter that begins anew, nothing is known.
    guard times.some >= last.some, times.full >= last.full else { return }
    let windows = max(1, UInt64(max(0, files.interval.nanoseconds)) / 1_000 / Self.window)
    if times.full - last.full >= Self.criticalStall * windows {
      onPressure(.critical)
    } else if times.some - last.some >= Self.warningStall * windows {
      onPressure(.warning)
    }
  }

  func close() {
    timer?.cancel()
    timer = nil
    triggers?.close()
    triggers = nil
  }

  private final class WeakWatch {
    weak let watch: MemoryPressureWatch?
    init(_ watch: MemoryPressureWatch) { self.watch = watch }
  }

  /// The kernel's reports: epoll's loop has none of POLLPRI, so that a thread waits for them.
  private final class Triggers: Sendable {
    private let ending: Int32

    /// Nil where the kernel takes no trigger, as for programs without privileges before Linux 6.5.
    init?(_ path: String, _ onPressure: @escaping @Sendable (AppMachine.MemoryPressure) -> Void) {
      guard let warning = Self.open(path, "some \(warningStall) \(window)") else { return nil }
      guard let critical = Self.open(path, "full \(criticalStall) \(window)") else {
        Glibc.close(warning)
        return nil
      }
      var ends: [Int32] = [0, 0]
      guard socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0 else {
        for descriptor in [warning, critical] { Glibc.close(descriptor) }
        return nil
      }
      ending = ends[0]
      let other = ends[1]
      for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
      let isStarted = DetachedThread.start {
        Self.wait(warning, critical, ending: other, onPressure)
        for descriptor in [warning, critical, other] { Glibc.close(descriptor) }
      }
      guard isStarted else {
        for descriptor in [warning, critical, other, ends[0]] { Glibc.close(descriptor) }
        return nil
      }
    }

    private static func open(_ path: String, _ trigger: String) -> Int32? {
      let descriptor = Glibc.open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC)
      guard descriptor >= 0 else { return nil }
      var information = stat()
      let bytes = Array(trigger.utf8) + [0]
      // Of an ordinary file, poll reports nothing.
      guard fstat(descriptor, &information) == 0, information.st_size == 0,
        Glibc.write(descriptor, bytes, bytes.count) == bytes.count
      else {
        Glibc.close(descriptor)
        return nil
      }
      return descriptor
    }

    private static func wait(
      _ warning: Int32, _ critical: Int32, ending: Int32,
      _ onPressure: (AppMachine.MemoryPressure) -> Void
    ) {
      let priority = Int16(POLLPRI)
      var found = [
        pollfd(fd: warning, events: priority, revents: 0),
        pollfd(fd: critical, events: priority, revents: 0),
        pollfd(fd: ending, events: Int16(POLLIN), revents: 0),
      ]
      while true {
        let count = poll(&found, nfds_t(found.count), -1)
        if count < 0, errno == EINTR { continue }
        // The kernel's triggers end with POLLERR, and the watch with the other end of the pair.
        guard count > 0, found[2].revents == 0,
          found[0].revents & Int16(POLLERR) == 0, found[1].revents & Int16(POLLERR) == 0
        else { return }
        if found[1].revents & priority != 0 {
          onPressure(.critical)
        } else if found[0].revents & priority != 0 {
          onPressure(.warning)
        }
      }
    }

    func close() { Glibc.close(ending) }
  }
}
