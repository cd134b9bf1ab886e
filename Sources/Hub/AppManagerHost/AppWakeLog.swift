import AppHubMachines
import AppMachines
import AppSessions
import Essentials
import EventLoop
import Glibc

/// The wakes of an app, with what each one has cost.
struct AppWakeLog {
  /// As many as are shown.
  private static let countMax = 20

  private(set) var wakes: [AppManagerStatus.Wake] = []
  /// The reasons of all wakes up to now. Those of the next one are the difference.
  private var known: [AppWakeReason: Int] = [:]
  private var current: (wake: AppManagerStatus.Wake, since: Instant, processorTime: Double)?

  /// The app runs in the background, launched or woken.
  ///
  /// - Parameters:
  ///   - counts: Those of the app, which have the new reasons.
  ///   - processorTime: Of its process up to now.
  mutating func begin(
    _ counts: AppCounts, isLaunch: Bool, date: Double, now: Instant, processorTime: Double
  ) {
    let reasons = counts.reasonCounts.filter { $0.value > known[$0.key] ?? 0 }.keys.sorted()
    known = counts.reasonCounts
    // The person has opened it.
    guard !reasons.isEmpty else { return }
    let wake = AppManagerStatus.Wake(date: date, reasons: reasons, isLaunch: isLaunch)
    current = (wake, now, processorTime)
  }

  /// The app is suspended, or its process has ended.
  mutating func end(now: Instant, processorTime: Double) {
    guard let (begun, since, before) = current else { return }
    current = nil
    var wake = begun
    wake.seconds = (now - since).seconds
    wake.processorTime = max(0, processorTime - before)
    wakes.append(wake)
    if wakes.count > Self.countMax { wakes.removeFirst() }
  }
}

extension AppManagerCore {
  /// A process of an app runs in the background from now on, launched or woken.
  func beginWake(_ id: AppProcessID, isLaunch: Bool) {
    guard let program = programs[id] else { return }
    let app = AppID(program.bundle.identifier)
    guard let counts = machine.life.counts(of: app) else { return }
    apps[app]?.wakes.begin(
      counts, isLaunch: isLaunch, date: CalendarTime.sinceUNIXEpoch, now: .now,
      processorTime: isLaunch ? 0 : program.group.first.processorTime)
  }

  /// - Parameter processorTime: Of a process that has ended.
  func endWake(_ program: AppProgram, processorTime: Double? = nil) {
    apps[AppID(program.bundle.identifier)]?.wakes.end(
      now: .now, processorTime: processorTime ?? program.group.first.processorTime)
  }
}

extension ProcessDescriptor {
  /// Seconds of processor time of the process, by its clock (clock_getcpuclockid(3)); 0 for one that has ended.
  var processorTime: Double {
    var clock = clockid_t()
    var time = timespec()
    guard clock_getcpuclockid(processID, &clock) == 0, clock_gettime(clock, &time) == 0 else {
      return 0
    }
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
  }
}
