import AppHubMachines
import AppMachines
import Essentials
import EventLoop
import Foundation

// Apps that fail are launched after longer and longer pauses, also by the next manager.

extension AppManagerCore {
  private static let reasonLengthMax = 300

  /// Notes why an app failed. Its end precedes the report of the pause.
  func noteFailure(_ new: AppReport) {
    switch new {
    case .ended(let app, _, let end):
      switch end {
      case .crashed, .overstayed: break
      case .memoryPressure, .forceQuit, .exitedOnSuspend, .rebooted, .removed: return
      }
      let reason = startFailures.removeValue(forKey: app)
      let text = end.text + (reason.map { ": \($0)" } ?? "")
      apps[app]?.failure = String(text.prefix(Self.reasonLengthMax))
    case .crashPause: failureChangeCount += 1
    case .throttled(let app, _):
      apps[app]?.failure = "it used more time than it has"
      failureChangeCount += 1
    default: break
    }
  }

  /// The person opens an app: its pause has ended.
  func followFailures(_ event: AppHubMachine.Event) {
    switch event {
    case .life(.person(let app, .opened)), .life(.person(let app, .openedAlert)):
      if apps[app]?.failure != nil { failureChangeCount += 1 }
    default: break
    }
  }

  // MARK: The store

  /// The records of apps whose failures still count.
  var failures: [AppDetailRecord] {
    let (now, date) = (Instant.now, CalendarTime.sinceUNIXEpoch)
    func seconds(_ instant: Instant) -> Double { date + (instant - now).seconds }
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    return apps.keys.sorted().compactMap { id in
      guard let failures = machine.life.failures(of: id, now: now) else { return nil }
      let record = AppFailureRecord(
        crashCount: failures.crashCount, lastCrash: failures.lastCrash.map(seconds),
        overstayCount: failures.overstayCount, pausedUntil: failures.pausedUntil.map(seconds),
        reason: apps[id]?.failure)
      guard let data = try? encoder.encode(record) else { return nil }
      return AppDetailRecord(app: id.rawValue, kind: .failures, contents: Array(data))
    }
  }

  /// Takes over the failures that the last manager has kept, before anything may launch an app.
  func restoreFailures(_ details: [AppDetailRecord]) {
    let (now, date) = (Instant.now, CalendarTime.sinceUNIXEpoch)
    // A calendar may have been set by years.
    func instant(_ seconds: Double) -> Instant { now + TimeSpan.bounded(seconds: seconds - date) }
    for detail in details where detail.kind == AppDetailKind.failures.rawValue {
      guard let record = try? JSONDecoder().decode(AppFailureRecord.self, from: detail.contents)
      else {
        report("the failures of \(detail.app) can't be read, and are forgotten")
        continue
      }
      let id = AppID(detail.app)
      apps[id]?.failure = record.reason.map { String($0.prefix(Self.reasonLengthMax)) }
      let failures = AppFailures(
        crashCount: record.crashCount, lastCrash: record.lastCrash.map(instant),
        overstayCount: record.overstayCount, pausedUntil: record.pausedUntil.map(instant))
      machine.restore(failures, of: id, now: now)
    }
  }
}
