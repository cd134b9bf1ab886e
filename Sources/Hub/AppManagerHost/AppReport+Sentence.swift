import AppMachines
import Essentials

extension AppReport {
  /// A sentence for the log.
  var sentence: String {
    switch self {
    case .unacknowledged(let app, _, let count):
      "\(app.rawValue) ended without having handled events that it had got, which are not repeated: \(count)"
    case .discarded(let app, let reason):
      "an event for \(app.rawValue) was given up: \(reason.text)"
    case .beyondLimit(let app, _, _):
      "too many values waited for \(app.rawValue): the link with their device was ended"
    case .throttled(let app, let span):
      "\(app.rawValue) used more time than it has, and is not woken for \(span.seconds) s"
    case .ended(let app, _, let end): "\(app.rawValue) ended: \(end.text)"
    case .crashPause(let app, let span, let count):
      "\(app.rawValue) has failed (\(count) in a row), and is not launched for \(span.seconds) s"
    case .unclaimed(let app, _):
      "\(app.rawValue) was launched for a manager with a restore identifier, and didn't make it in time"
    case .misuse(let app, _, let misuse):
      "\(app.rawValue) broke a rule of its manager: \(misuse.rawValue)"
    case .notPublished(let app, _):
      "services or advertising of \(app.rawValue) ended at the radio's host, and are published again by the app only"
    case .publishingDelayed(let app, _):
      "a service of \(app.rawValue) can't be published again yet after the restart, and is tried again"
    case .notAdvertised(let app, _, let triesAgain):
      "the radio's host has refused to advertise for \(app.rawValue) in its present state: "
        + (triesAgain ? "it is tried again" : "it is given up until the app advertises again")
    case .noSuspendedApp: "memory is needed, and no app is suspended"
    }
  }
}

extension AppDiscard {
  fileprivate var text: String {
    switch self {
    case .notRunning: "it doesn't run, and the event may not launch it"
    case .forceQuit: "the person has ended it"
    case .noReceiver: "its manager has ended"
    case .limit: "too many events waited"
    case .rebooted: "the device was started again"
    case .afterLimit: "the link was ended because too many values waited"
    }
  }
}

extension AppEnd {
  var text: String {
    switch self {
    case .memoryPressure: "its memory was needed"
    case .overstayed(let budget): "its time was over (\(budget.rawValue))"
    case .crashed(.status(let status)): "exit status \(status)"
    case .crashed(.signal(let signal)): "signal \(signal)"
    case .crashed(.notStarted): "it could not be started"
    case .forceQuit: "the person has ended it"
    case .exitedOnSuspend: "it is terminated where others are suspended"
    case .rebooted: "the device was started again"
    case .removed: "it was removed"
    }
  }
}
