import AppHubMachines
import AppMachines
import AppSessions

/// A process of an app, as its phone sees it.
protocol PhoneProcess: AnyObject, Sendable {
  var id: AppProcessID { get }
  var app: SimulatedApp { get }
  /// What it was given and has not handled. Under the radio's lock.
  var given: GivenDeliveries { get set }

  // MARK: Under the radio's lock

  /// Bytes of the phone's hub for it.
  func received(_ bytes: [UInt8])
  /// A background task gets no time. It may be begun just now.
  func refuse(_ task: AppTaskID)
  /// It is gone for the phone: nothing that it sends from now on has an effect.
  func close()

  // MARK: Steps, without the lock. Each returns when the process has handled it.

  func begin()
  func perform(_ instruction: AppInstruction)
  /// Gives it bytes of the hub.
  func deliver(_ bytes: [UInt8])
  /// A timer of it is due.
  func wake()
  /// Its code stops, or goes on.
  func setStopped(_ isStopped: Bool)
  /// Ends it at once.
  func end()
}

extension PhoneProcess {
  func deliver(_ bytes: [UInt8]) {}
  func wake() {}
  func setStopped(_ isStopped: Bool) {}
}

/// The numbers of the deliveries that a process got and has not handled, in order.
struct GivenDeliveries {
  private var numbers: [AppDeliveryNumber] = []

  mutating func append(_ number: AppDeliveryNumber) { numbers.append(number) }

  mutating func take(_ count: Int) -> ArraySlice<AppDeliveryNumber> {
    let count = min(max(count, 0), numbers.count)
    defer { numbers.removeFirst(count) }
    return numbers.prefix(count)
  }
}
