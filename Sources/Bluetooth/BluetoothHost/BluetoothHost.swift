public import BluetoothMachines
import Essentials
import EventLoop
import Synchronization

/// A running Bluetooth LE host: one radio, any number of clients.
///
/// It drives a `HostMachine` on an event loop over a transport. All methods may be called from any
/// thread; events are delivered on the event loop, in order.
public final class BluetoothHost: Sendable {
  /// The radio that the host was asked to use.
  public let radio: RadioChoice
  let driver: HostDriver

  /// Starts a host on a radio.
  ///
  /// A radio that is missing or breaks is tried again and again; meanwhile the state is not
  /// `.poweredOn` and `problem` says why.
  /// - Parameters:
  ///   - radio: Which radio to use.
  ///   - configuration: What the host calls itself.
  ///   - capturePath: A file to write all traffic with the controller to, in btsnoop format; an
  ///     existing file is replaced.
  ///   - log: Told, in one sentence each, what goes wrong with the radio or the capture.
  /// - Throws: `CaptureError` where the capture file cannot be created.
  public convenience init(
    radio: RadioChoice, configuration: HostConfiguration = HostConfiguration(),
    captureTo capturePath: String? = nil, log: (@Sendable (String) -> Void)? = nil
  ) throws(CaptureError) {
    let loop = EventLoopClock.shared()
    var capture: Capture?
    if let capturePath { capture = try Capture(path: capturePath) }
    self.init(
      radio: radio, configuration: configuration,
      chance: .random(), loop: loop, capture: capture,
      log: log, makeTransport: radio.transportMaker(on: loop))
  }

  init(
    radio: RadioChoice, configuration: HostConfiguration, chance: SeededGenerator,
    loop: some HostLoop, capture: Capture? = nil, log: (@Sendable (String) -> Void)? = nil,
    makeTransport: @escaping @Sendable () -> any HCITransport
  ) {
    self.radio = radio
    driver = HostDriver(
      machine: HostMachine(configuration: configuration, chance: chance), loop: loop,
      capture: capture, log: log, makeTransport: makeTransport)
    driver.start()
  }

  deinit { driver.stop {} }

  /// The host on the radio that the environment variable `AMBIT_RADIO` names, made when first asked
  /// for; the populated simulated radio if it names none. `AMBIT_ADDRESS` is the host's own address,
  /// for `HostConfiguration.address`, and `AMBIT_CAPTURE` names a capture file.
  ///
  /// Where a variable makes no sense, the host's state is `.unsupported`, `problem` says why, and
  /// so does a line on standard error.
  public static let shared = BluetoothHost.fromEnvironment()

  /// The host that managers made in this task use; `shared` unless a test says otherwise.
  @TaskLocal public static var current: BluetoothHost?

  /// Why the radio does not work, in one sentence; nil while nothing is known to be wrong.
  public var problem: String? { driver.problem }

  /// The problem now, or nil, and whenever it changes. Who is slow misses all but the last.
  public func problems() -> AsyncStream<String?> { driver.problems() }

  /// Why the capture is no longer written; nil while it is, and where none was asked for.
  public var captureFailure: CaptureError? { driver.captureFailure }

  /// Opens a client. `onEvent` is called on the host's event loop; first with the state.
  ///
  /// - Parameters:
  ///   - settle: Only for hosts of a `VirtualRadio`: called after events were delivered and before
  ///     virtual time goes on; returns when the client has dealt with them. A client that passes
  ///     events to a queue waits for the queue here.
  ///   - onEvent: Takes the client's events, one after the other.
  public func makeClient(
    settle: (@Sendable () -> Void)? = nil, onEvent: @escaping @Sendable (HostEvent) -> Void
  ) -> HostClient {
    HostClient(host: self, slot: driver.open(settle: settle, onEvent: onEvent))
  }

  /// Stops the host for good: its clients hear nothing more, the way to the controller is closed
  /// and the capture is complete when this returns.
  public func close() async {
    await withCheckedContinuation { continuation in driver.stop { continuation.resume() } }
  }
}

/// One user of a host. Closing it, or letting go of it, ends everything it asked for.
public final class HostClient: Sendable {
  /// The host that this is a client of; it lives at least as long as its clients.
  public let host: BluetoothHost
  private let slot: ClientSlot

  init(host: BluetoothHost, slot: ClientSlot) {
    self.host = host
    self.slot = slot
  }

  deinit { close() }

  /// The client's number within its host.
  public var id: ClientID { slot.id }

  /// Asks for something; returns at once. Answers arrive as events.
  public func send(_ request: HostRequest) {
    host.driver.post(.request(slot.id, request))
  }

  /// Tells that the client has something to do that no event asked for. A `VirtualRadio` calls
  /// `settle`, and so waits for it, before time goes on.
  public func hasWork() { host.driver.hasWork(slot) }

  /// Ends the client. No event is delivered after this returns, except one that another thread is
  /// delivering just now.
  public func close() {
    if slot.close() { host.driver.post(.clientClosed(slot.id)) }
  }
}

/// What the driver knows of a client.
final class ClientSlot: Sendable {
  let id: ClientID
  let onEvent: @Sendable (HostEvent) -> Void
  let settle: (@Sendable () -> Void)?
  private let isOpen = Atomic(true)

  init(
    id: ClientID, settle: (@Sendable () -> Void)?, onEvent: @escaping @Sendable (HostEvent) -> Void
  ) {
    self.id = id
    self.settle = settle
    self.onEvent = onEvent
  }

  /// Delivers an event unless the client was closed.
  func deliver(_ event: HostEvent) {
    if isOpen.load(ordering: .acquiring) { onEvent(event) }
  }

  /// Closes the slot; true for the first who does.
  func close() -> Bool { isOpen.exchange(false, ordering: .acquiringAndReleasing) }
}
